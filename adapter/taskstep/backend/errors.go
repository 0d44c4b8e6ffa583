package backend

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

const (
	codeStopped = "stopped"
	errorText   = 200 // characters of the agent's text that are shown
)

// fail returns an error about the agent. The format continues the sentence "Agent NAME at HOST …".
func (b *backend) fail(code, format string, args ...any) *mapping.Error {
	return mapping.Errorf(mapping.Upstream, code, "The agent %q at %s %s", b.up.Name, b.base.host, fmt.Sprintf(format, args...))
}

// away returns the error of a call that did not reach the agent.
func (b *backend) away(err error) *mapping.Error {
	why := upstream.CauseOf(err)
	if why == "" {
		why = "check that it is running and that its url is correct"
	}
	e := b.fail(mapping.CodeUpstreamUnreachable, "cannot be reached: %s.", why)
	e.Err = err
	if f := upstream.Of(err); f != nil {
		e.Err = f.Err // the kind of failure no longer matters
	}
	return e
}

func (b *backend) slow() *mapping.Error {
	e := b.fail(mapping.CodeStepTimeout, "took longer than step_timeout (%s) for one call.", b.stepTimeout())
	e.Class = mapping.Timeout
	return e
}

// unreachable classifies the last error of a GET that was retried.
func (b *backend) unreachable(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return stopReason(ctx)
	case errors.Is(err, errTooLarge):
		return b.tooLarge()
	}
	b.forget()
	if f := upstream.Of(err); f != nil && f.Slow {
		e := b.fail(mapping.CodeUpstreamUnreachable, "did not answer a GET within %s. Check whether it is busy and whether the port is right.", b.readTimeout())
		e.Err = err
		return e
	}
	return b.away(err)
}

func (b *backend) tooLarge() *mapping.Error {
	return b.fail(mapping.CodeBadUpstream, "answered with more than limits.event (%d bytes).", b.up.Limits.Event)
}

// lost returns the error of an agent that no longer knows its own task.
func (b *backend) lost(task string) *mapping.Error {
	return b.fail(mapping.CodeUpstreamLost, "no longer knows the task %q; it was probably restarted. "+
		"Start a new run. The thread is kept, and its conversation is passed to the agent.", b.excerpt(task, 80))
}

// unknown returns the error of a call whose effect cannot be determined. broke is the error of the call, or nil if a
// process that died may have sent it. asked describes the result of querying the agent.
func (b *backend) unknown(what, asked string, broke, err error) *mapping.Error {
	told := "was told to " + what + ", but the connection broke before it answered"
	switch status := upstream.Status(broke); {
	case broke == nil:
		told = "may have been told to " + what + " by a bridge process that has since stopped"
	case status != 0:
		told = fmt.Sprintf("was told to %s, but a gateway answered %d in its place", what, status)
	}
	e := b.fail(mapping.CodeOutcomeUnknown, "%s, and %s. It was not told again, so that nothing happens twice. "+
		"Check what the agent has done, then start a new run.", told, asked)
	e.Err = errors.Join(broke, err)
	return e
}

// unreadable returns the error of an answer with status 2xx that cannot be read.
func (b *backend) unreadable(call string, ans *upstream.Answer, err error) *mapping.Error {
	var field *fieldError
	if errors.As(err, &field) && rawjson.Valid(ans.Body) {
		return b.fail(mapping.CodeBadUpstream, "gave an answer to %s that cannot be used: %s.", call, b.excerpt(field.Error(), errorText))
	}
	what := "is not JSON"
	if len(ans.Body) == 0 {
		what = "is empty"
	} else if typ := ans.Header.Get("Content-Type"); typ != "" && !strings.Contains(typ, "json") {
		what += " but " + b.excerpt(typ, 60)
	}
	return b.fail(mapping.CodeBadUpstream, "gave an answer to %s that cannot be used: the answer %s.", call, what)
}

// refused turns an unsuccessful answer into an error.
func (b *backend) refused(ans *upstream.Answer) *mapping.Error {
	return b.fail(mapping.CodeUpstreamError, "answered %d%s", ans.Status, b.to.Refusal(ans.Status, ans.Header, ans.Body))
}

var notFound = regexp.MustCompile(`(?i)not[ _]?found|unknown task|no such task`)

// excerpt returns the beginning of the agent's text without the bridge's credentials.
func (b *backend) excerpt(text string, most int) string { return b.to.Excerpt(text, most) }
