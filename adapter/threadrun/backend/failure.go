package backend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// runError is the error that the agent reported for a failed run.
type runError struct{ said errorWire }

func (e *runError) Error() string { return "the agent ended the run with an error" }

// fail returns the error for a failed upstream run. It first records the state of the agent's thread, so that the next
// run can continue there.
func (o *outcome) fail(said errorWire) error {
	if err := o.noteState(); err != nil {
		return err
	}
	if err := o.frames.releaseHeld(nil); err != nil {
		return err
	}
	return o.agentError(said)
}

// failedTask returns the error of the first failed task, for servers that do not report it with the run. LangGraph's
// JavaScript server encodes {name, message} as a string; other servers send a plain string.
func failedTask(st stateWire) (said errorWire) {
	var tasks []taskWire
	_ = json.Unmarshal(st.Tasks, &tasks)
	for _, t := range tasks {
		text := rawjson.TextOf(t.Error)
		if text == "" {
			continue
		}
		var named struct{ Name, Message string }
		if json.Unmarshal([]byte(text), &named) == nil && named.Message != "" {
			return errorWire{Error: named.Name, Message: named.Message}
		}
		return errorWire{Message: text}
	}
	return said
}

// noteState records the state of the agent's thread if possible. If the state cannot be read, the next run seeds it
// again.
func (o *outcome) noteState() error {
	st, err := o.state()
	if err != nil {
		return nil
	}
	if err := o.settleState(st); err != nil {
		return err
	}
	o.link.RemoteCheckpoint = st.head()
	return o.emitLink()
}

func (j *job) agentError(e errorWire) error {
	code, message := mapping.CodeUpstreamError, j.problem(e)
	if strings.Contains(e.Error, "GraphRecursionError") || strings.Contains(e.Message, "GraphRecursionError") {
		code, message = mapping.CodeStepLimit, strings.TrimSpace(message)+" "+j.limitOrigin()
	}
	return &mapping.Error{Class: mapping.Upstream, Code: code, Name: j.nameOf(e), Message: message}
}

// limitOrigin describes the source of the limit that the agent enforced.
func (j *job) limitOrigin() string {
	o := &j.t.Run.Options
	if o.MaxSteps > 0 {
		return fmt.Sprintf("%d steps are %s.", o.MaxSteps, o.LimitedBy.Allows(j.b.up.Name))
	}
	return fmt.Sprintf("The limit is the agent's own. Set another one with config.recursion_limit in the request or agents.%s.max_steps in the bridge's configuration.", j.b.up.Name)
}

func (j *job) tookTooLong() error {
	return mapping.Errorf(mapping.Timeout, mapping.CodeRunTimeout, "Agent %q ended the run because it took too long.", j.b.up.Name)
}

func (j *job) problem(e errorWire) string {
	text := j.b.http.to.Redact(cmp.Or(e.Message, e.Error))
	if text == "" {
		return fmt.Sprintf("Agent %q ended the run with an error and gave no reason.", j.b.up.Name)
	}
	return shortened(text, 4000)
}

// nameOf returns the agent's name of an error, which clients of its graph know.
func (j *job) nameOf(e errorWire) string { return shortened(j.b.http.to.Redact(e.Error), 200) }

func shortened(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// hideErrors removes credentials from the errors of nodes: the member "error" of the tasks in a state, a checkpoint, or
// a frame of the modes tasks and debug.
func (c *client) hideErrors(b json.RawMessage) json.RawMessage {
	if !bytes.Contains(b, []byte(`"error"`)) {
		return b
	}
	switch rawjson.Kind(b) {
	case '[':
		list, changed := rawjson.ElementsOf(b), false
		for i, one := range list {
			list[i] = c.hideErrors(one)
			changed = changed || !bytes.Equal(list[i], one)
		}
		if changed {
			return rawjson.Array(list...)
		}
	case '{':
		for _, name := range []string{"payload", "tasks"} {
			if below := rawjson.Get(b, name); below != nil {
				b = withMember(b, name, c.hideErrors(below))
			}
		}
		if said := rawjson.Get(b, "error"); said != nil {
			b = withMember(b, "error", json.RawMessage(c.to.Redact(string(said))))
		}
	}
	return b
}

// withMember returns the object b with a new value for an existing member.
func withMember(b json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	if bytes.Equal(rawjson.Get(b, name), value) {
		return b
	}
	out, err := rawjson.WithMember(b, name, value)
	if err != nil {
		return b
	}
	return out
}
