package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// CodeAgentFailed is the code of a run that the agent itself ended as failed.
const CodeAgentFailed = "agent_failed"

const errorText = 300 // characters of the agent's text that are shown

// fail returns an error about the agent. The format continues the sentence "The agent NAME at HOST …".
func (b *backend) fail(code, format string, args ...any) *mapping.Error {
	return mapping.Errorf(mapping.Upstream, code, "The agent %q at %s %s", b.up.Name, b.authority, fmt.Sprintf(format, args...))
}

// failed returns the error of a task that failed or was rejected, with the agent's own words.
func (b *backend) failed(state wire.TaskState, m *wire.Message) *mapping.Error {
	code, what := CodeAgentFailed, "reports that its task failed"
	if state == wire.StateRejected {
		code, what = mapping.CodeAgentRejected, "rejected the task"
	}
	text := ""
	if m != nil {
		text, _ = textOf(m.Parts, "\n")
	}
	if text = b.to.Excerpt(text, errorText); text == "" {
		return b.fail(code, "%s, and gives no reason.", what)
	}
	return b.fail(code, "%s: %s", what, text)
}

// failure returns the error of a run for a failed call.
func (b *backend) failure(err error) *mapping.Error {
	var own *mapping.Error
	if errors.As(err, &own) {
		return own
	}
	if e := protocolError(err); e != nil {
		return b.refused(e)
	}
	f := upstream.Of(err)
	if f == nil {
		return mapping.Classify(err)
	}
	var e *mapping.Error
	switch {
	case f.Kind == upstream.Stopped:
		return mapping.Classify(err)
	case f.Kind == upstream.NotReached, f.Kind == upstream.Broken && !f.Slow:
		why := f.Cause()
		if why == "" {
			why = "check that it runs and that its url is right"
		}
		e = b.fail(mapping.CodeUpstreamUnreachable, "cannot be reached: %s.", why)
	case f.Slow:
		e = b.fail(mapping.CodeUpstreamUnreachable, "did not answer in time. Check whether it is busy.")
	case f.Kind == upstream.Refused:
		e = b.fail(mapping.CodeUpstreamError, "answered %d%s", f.Status, b.to.Refusal(f.Status, f.Header, f.Body))
	case errors.Is(err, upstream.ErrTooLong):
		e = b.fail(mapping.CodeBadUpstream, "answered with more than limits.event (%d bytes).", b.up.Limits.Event)
	default:
		e = b.fail(mapping.CodeBadUpstream, "sent a response that cannot be read.")
	}
	e.Err = f.Err
	return e
}

// refused returns the error for an error of the protocol.
func (b *backend) refused(e *wire.Error) *mapping.Error {
	code := mapping.CodeUpstreamError
	switch e.Code {
	case wire.CodeInvalidAgentResponse:
		code = mapping.CodeBadUpstream
	case wire.CodeTaskNotFound:
		code = mapping.CodeUpstreamLost
	}
	text := b.to.Excerpt(e.Message, errorText)
	if text == "" {
		text = "no reason is given"
	}
	failed := b.fail(code, "answered with error %d: %s", e.Code, text)
	failed.Err = e.Err
	return failed
}

// unknown returns the error of a message whose effect cannot be known. broke is the error of its call, or nil if an
// earlier process may have sent it; asked is that of asking the agent.
func (b *backend) unknown(broke, asked error) *mapping.Error {
	f := upstream.Of(broke)
	slow := f != nil && f.Slow
	what := "received a message, but its response was lost"
	switch own := protocolError(broke); {
	case broke == nil:
		what = "may have received a message from a process of the bridge that was stopped"
	case slow:
		what = fmt.Sprintf("received a message, but sent no response within step_timeout (%s)", b.stepTimeout())
	case errors.Is(broke, upstream.ErrTooLong):
		what = fmt.Sprintf("received a message, but answered with more than limits.event (%d bytes)", b.up.Limits.Event)
	case own != nil && own.Message != "":
		what = "received a message, but its response cannot be read (" + b.to.Excerpt(strings.TrimSuffix(own.Message, "."), errorText) + ")"
	case isUnreadable(broke):
		what = "received a message, but its response cannot be read"
	}
	seen := "its tasks do not show the message"
	if asked != nil {
		seen = "it could not be asked for its tasks"
	}
	e := b.fail(mapping.CodeOutcomeUnknown, "%s, and %s. The message was not sent again, so that nothing happens twice. "+
		"Check what the agent has done, then start a new run.", what, seen)
	if slow {
		e.Class, e.Code = mapping.Timeout, mapping.CodeStepTimeout
	}
	e.Err = errors.Join(broke, asked)
	return e
}

// unreadable returns the error of a task that could not be read for a long time.
func (r *run) unreadable(err error) *mapping.Error {
	e := r.fail(mapping.CodeOutcomeUnknown, "could not be asked about task %q for %s. Check what it has done, then start a new run.",
		r.to.Excerpt(r.task, 80), r.stepTimeout())
	e.Err = err
	return e
}

// unclear returns the error of a task that the agent does not show, although it has received the message.
func (r *run) unclear(err error) *mapping.Error {
	e := *r.failure(err)
	if e.Class == mapping.Upstream && e.Code != mapping.CodeUpstreamLost && e.Code != mapping.CodeOutcomeUnknown {
		e.Code = mapping.CodeOutcomeUnknown
		e.Message += fmt.Sprintf(" What became of task %q is unknown. Check what it has done, then start a new run.", r.to.Excerpt(r.task, 80))
	}
	return &e
}

// stopped returns the reason why the run's context ended.
func (r *run) stopped() error {
	cause := context.Cause(r.ctx)
	var e *mapping.Error
	switch {
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return &mapping.Error{Class: mapping.Timeout, Code: mapping.CodeRunTimeout, Message: "The run took longer than it may.", Err: cause}
	}
	return &mapping.Error{Class: mapping.Unavailable, Code: "stopped", Message: "The run was stopped.", Err: cause}
}
