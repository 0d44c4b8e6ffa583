package taskstep

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// resends bounds how often a POST is sent again after the agent proved that it
// never received it.
const resends = 2

func (d *drive) taskPath(rest string) string {
	return d.site.prefix + "/tasks/" + url.PathEscape(d.remote) + rest
}

// create makes the agent's task (Agent Protocol v1, POST /ap/v1/agent/tasks).
// What is empty is left out: forge refuses nulls.
func (d *drive) create() error {
	body, moved, broke := d.createBody(), false, d.task.Open
	for try := 0; ; try++ {
		if broke {
			if found, err := d.findCreated(); found || err != nil {
				return err
			}
		}
		ans, err := d.post(d.ctx, d.site.prefix+"/tasks", body)
		var broken *brokenError
		switch {
		case errors.As(err, &broken) && try < resends:
			broke = true
			continue
		case errors.As(err, &broken):
			return d.unknown("create a task", broken)
		case errors.Is(err, errTooLarge):
			return d.tooLarge()
		case err != nil:
			return err
		case ans.status == http.StatusNotFound && !moved:
			if moved, err = d.relocate(); moved {
				continue
			} else if err != nil {
				return err
			}
		}
		return d.created(ans)
	}
}

// relocate asks anew where the routes are; a server may have been replaced by
// another since the first run.
func (d *drive) relocate() (moved bool, err error) {
	before := d.site.prefix
	d.forget()
	if d.site, err = d.locate(d.ctx, ""); err != nil {
		return false, err
	}
	return d.site.prefix != before, nil
}

func (d *drive) created(ans *answer) error {
	if ans.status/100 != 2 {
		e := d.refused(ans)
		if d.task.Prompt == "" {
			e.Message += " The run gave it no input; some agents need one."
		}
		return e
	}
	t, err := parseTask(ans.body, "")
	if err != nil {
		return d.unreadable("POST tasks", ans, err)
	}
	d.adopt(t)
	return nil
}

// adopt takes a task as this run's own and learns from its shape.
func (d *drive) adopt(t remoteTask) {
	d.remote = t.ID
	if t.Kind != "" && t.Kind != d.site.kind {
		d.site.kind = t.Kind
		learned := d.site
		d.backend.site.Store(&learned)
	}
}

func (d *drive) createBody() []byte {
	body := make([]byte, 0, len(d.task.Prompt)+len(d.task.Additional)+48)
	body = append(body, '{')
	if d.task.Prompt != "" {
		body = append(append(body, `"input":`...), quote(d.task.Prompt)...)
	}
	if len(value(d.task.Additional)) > 0 {
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(append(body, `"additional_input":`...), d.task.Additional...)
	}
	return append(body, '}')
}

func quote(s string) []byte {
	b, _ := json.Marshal(s) // a string cannot fail
	return b
}

// next is the next step: one the agent did already, or one it does now.
func (d *drive) next() (remoteStep, error) {
	for try := 0; len(d.queue) == 0; try++ {
		words := d.words()
		step, err := d.step(words)
		var broken *brokenError
		switch {
		case err == nil:
			return step, nil
		case !errors.As(err, &broken):
			return remoteStep{}, err
		case try >= resends:
			return remoteStep{}, d.unknown("do a step", broken)
		}
		if d.queue, err = d.resolve(broken); err != nil {
			return remoteStep{}, err
		}
	}
	step := d.queue[0]
	d.queue = d.queue[1:]
	step.input = d.words()
	d.said = true
	return step, nil
}

// words is what the next step is driven with; nil is a POST without a body,
// which every server reads as "go on".
func (d *drive) words() *string {
	switch {
	case d.said:
		return nil
	case d.task.Say != nil:
		return d.task.Say
	case d.task.Resume && !d.task.Answer.Continue:
		return &d.task.Answer.Text
	}
	return nil
}

// step has one step executed (Agent Protocol v1, POST …/tasks/{id}/steps).
func (d *drive) step(words *string) (remoteStep, error) {
	var body []byte
	if words != nil {
		body = append(append([]byte(`{"input":`), quote(*words)...), '}')
	}
	ans, err := d.post(d.ctx, d.taskPath("/steps"), body)
	if errors.Is(err, errTooLarge) {
		return remoteStep{}, d.tooLarge()
	} else if err != nil {
		return remoteStep{}, err
	}
	if ans.status/100 != 2 {
		return remoteStep{}, d.stepRefused(ans)
	}
	step, err := parseStep(ans.body, "")
	if err != nil {
		return remoteStep{}, d.unreadable("POST steps", ans, err)
	}
	if step.TaskID != "" && step.TaskID != d.remote {
		return remoteStep{}, d.fail(mapping.CodeBadUpstream, "answered with a step of another task: task_id is %q, not %q.",
			clip(step.TaskID, 80), clip(d.remote, 80))
	}
	step.input, d.said = words, true
	return step, nil
}

// stepRefused tells a task that is gone from a step that failed: many servers
// answer both with a 500.
func (d *drive) stepRefused(ans *answer) error {
	if ans.status == http.StatusNotFound {
		return d.lost(d.remote)
	}
	if ans.status >= 500 || ans.status == http.StatusBadRequest {
		if known, err := d.known(); err == nil && !known {
			return d.lost(d.remote)
		} else if d.ctx.Err() != nil {
			return ended(d.ctx)
		}
	}
	return d.refused(ans)
}

// known asks whether the agent still has the task. An error means that it
// could not be found out.
func (d *drive) known() (bool, error) {
	ans, err := d.get(d.ctx, d.taskPath(""), "")
	switch {
	case err != nil:
		return false, err
	case ans.status/100 == 2:
		return true, nil
	case ans.status == http.StatusNotFound,
		(ans.status == http.StatusBadRequest || ans.status >= 500) && notFound.Match(ans.body),
		ans.status == http.StatusInternalServerError && d.site.kind == kindForge:
		return false, nil
	}
	return false, d.refused(ans)
}

// echoLimit is how many times in a row an agent may report the very same
// error as the output of a step that is not the last.
const echoLimit = 3

// echo notices an agent that fails in every step without ever ending: its
// steps succeed, and their output is always the same text that begins like an
// error. Output that differs, or does not read as an error, is left to
// max_steps.
type echo struct {
	text  string
	times int
}

func (e *echo) add(output json.RawMessage, last bool) {
	text, err := text(output, "")
	switch {
	case err != nil || last || !readsAsError(text):
		*e = echo{}
	case text == e.text:
		e.times++
	default:
		*e = echo{text, 1}
	}
}

// stuck is the error that was reported too often, or "".
func (e *echo) stuck() string {
	if e.times < echoLimit {
		return ""
	}
	return e.text
}

func readsAsError(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, start := range []string{"error", "an error", "exception", "traceback", "failed"} {
		if strings.HasPrefix(s, start) {
			return true
		}
	}
	return false
}
