package stepping

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
)

// stepRoute, together with the task, is the route of the idempotency keys of POSTs for steps.
const stepRoute = "step"

// stepRequest is one POST for a step, or an answer from elsewhere (StepLock.Answer), under the task's lock. Not safe
// for concurrent use.
type stepRequest struct {
	*StepLock
	req    adapter.StepRequest
	runKey store.IdempotencyKey // of the created run, if it is not the step's

	n    int  // number of the next step
	made int  // number of runs it created
	used bool // the client's input was used
}

func (p *stepRequest) key(route string) store.IdempotencyKey {
	r := p.req
	r.IdempotencyKey = ""
	return store.NewIdempotencyKey(p.req.IdempotencyKey, route+" "+p.ses.task.ID, r)
}

// stored returns the request as stored with the step.
func (p *stepRequest) stored() store.StepRequest {
	return store.StepRequest{Input: p.req.Input, AdditionalInput: p.req.AdditionalInput, Key: p.key(stepRoute)}
}

// text returns the client's input if it is more than "go on" and was not used yet.
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

// followUp returns the client's input if it may become a follow-up run.
func (p *stepRequest) followUp() (string, bool) {
	text, ok := p.text()
	return text, ok && p.ses.config().FollowUpRuns
}

// explicitAnswer returns the answer that additional_input contains in the form of the question, or nil.
func (p *stepRequest) explicitAnswer() json.RawMessage {
	return rule.ReadTaskExtra(p.req.AdditionalInput).Resume
}

// resume returns the resume value: the explicit answer, or text in the form of the question.
func (p *stepRequest) resume(question []mapping.Interrupt, text string) json.RawMessage {
	if explicit := p.explicitAnswer(); explicit != nil {
		return explicit
	}
	if len(question) == 1 || question[0].Nameless { // the agent asks the next question again
		return rule.ResumeFor(question[0], text)
	}
	answers := make(map[string]json.RawMessage, len(question))
	for _, q := range question { // one answer for all simultaneous questions
		answers[q.ID] = rule.ResumeFor(q, text)
	}
	raw, _ := json.Marshal(answers)
	return raw
}

// released returns the next step if it may be handed out. A question may be handed out once it can be answered.
func (p *stepRequest) released() (mapping.Step, bool) {
	step, ok := p.ses.step(p.n)
	return step, ok && !p.ses.endingQuestion(p.n)
}
