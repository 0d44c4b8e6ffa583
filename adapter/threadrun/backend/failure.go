package backend

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// runError is a run that ended in error upstream, as the agent words it.
type runError struct{ said errorWire }

func (e *runError) Error() string { return "the agent ended the run in error" }

// fail is the error of a run that ended in error upstream. What the agent's thread holds by then is noted first, so
// that the next run can go on there.
func (o *outcome) fail(said errorWire) error {
	if err := o.noteState(); err != nil {
		return err
	}
	if err := o.frames.releaseHeld(nil); err != nil {
		return err
	}
	return o.agentError(said)
}

// noteState is best effort: what cannot be read is seeded again by the next run.
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
	code, message := mapping.CodeUpstreamError, j.complaint(e)
	if strings.Contains(e.Error, "GraphRecursionError") || strings.Contains(e.Message, "GraphRecursionError") {
		code, message = mapping.CodeStepLimit, strings.TrimSpace(message)+" "+j.limitOrigin()
	}
	return &mapping.Error{Class: mapping.Upstream, Code: code, Message: message, Detail: j.detail(e)}
}

// limitOrigin says where a limit comes from that the agent itself kept to.
func (j *job) limitOrigin() string {
	o := &j.t.Run.Options
	if o.MaxSteps > 0 {
		return fmt.Sprintf("%d steps are %s.", o.MaxSteps, o.LimitedBy.Allows(j.b.up.Name))
	}
	return fmt.Sprintf("The limit is the agent's own; config.recursion_limit in the request, or agents.%s.max_steps in the bridge's configuration, sets another.", j.b.up.Name)
}

func (j *job) tookTooLong() error {
	return mapping.Errorf(mapping.Timeout, mapping.CodeRunTimeout, "Agent %q ended the run for taking too long.", j.b.up.Name)
}

func (j *job) complaint(e errorWire) string {
	text := j.b.http.to.Redact(cmp.Or(e.Message, e.Error))
	if text == "" {
		return fmt.Sprintf("Agent %q ended the run in error and did not say why.", j.b.up.Name)
	}
	const longest = 4000
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

func (j *job) detail(e errorWire) any {
	if e.Error == "" {
		return nil
	}
	return map[string]string{"error": j.b.http.to.Redact(e.Error)}
}
