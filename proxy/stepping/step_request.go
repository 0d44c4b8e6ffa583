package stepping

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/idempotency"
)

// stepRoute is where keys of step POSTs belong, with the task.
const stepRoute = "step"

// stepRequest is one POST for a step, or words that are no such POST but make the task go on as those of one would.
// Used by one goroutine.
type stepRequest struct {
	ses  *session
	req  adapter.StepRequest
	n    int  // the step that is due
	made int  // runs it made
	used bool // the client's words went somewhere

	runKey  idempotency.Key // of the run it makes, where that is not the step's
	flavour mapping.Flavour // of the runs it makes
}

func (p *stepRequest) key(route string) idempotency.Key {
	r := p.req
	r.IdempotencyKey = ""
	return idempotency.NewKey(p.req.IdempotencyKey, route+" "+p.ses.task.ID, r)
}

// asked is what the step is fetched with.
func (p *stepRequest) asked() store.StepRequest {
	return store.StepRequest{Input: p.req.Input, AdditionalInput: p.req.AdditionalInput, Key: p.key(stepRoute)}
}

// text is what the client said, if it is more than "go on".
func (p *stepRequest) text() (string, bool) {
	if p.req.Input == nil || p.used {
		return "", false
	}
	switch t := *p.req.Input; strings.TrimSpace(t) {
	case "", "y", p.ses.task.Input: // the task's input never changes
		return "", false
	default:
		return t, true
	}
}

// explicitAnswer is an answer in the question's own form, nil for none.
func (p *stepRequest) explicitAnswer() json.RawMessage {
	return rule.ReadTaskExtra(p.req.AdditionalInput).Resume
}

// released returns the step that is due when it may be handed out: a question only when it can be answered.
func (p *stepRequest) released() (mapping.Step, bool) {
	step, ok := p.ses.step(p.n)
	return step, ok && !p.ses.endingQuestion(p.n)
}
