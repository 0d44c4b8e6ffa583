package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// errStopped ends a driver whose consumer stopped.
var errStopped = errors.New("the consumer stopped")

// errIdle is the cause of a context that ended because the agent was silent for longer than step_timeout.
var errIdle error = mapping.Errorf(mapping.Timeout, mapping.CodeStepTimeout, "the agent sent nothing within step_timeout")

// errBadAnswer marks a response that cannot be used.
var errBadAnswer = errors.New("unusable response")

// answered reports whether err is due to a response of the server.
func answered(err error) bool { return upstream.Status(err) != 0 || errors.Is(err, errBadAnswer) }

// failed returns the error of a call. err is an upstream.Failure.
func (c *client) failed(call *upstream.Call, err error) error {
	f := upstream.Of(err)
	switch {
	case f == nil:
		return mapping.Classify(err)
	case f.Kind == upstream.Stopped:
		return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamError,
			Message: fmt.Sprintf("The call to agent %q was stopped.", c.agent), Err: f.Err}
	case f.Kind == upstream.Refused:
		return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamError, Err: f,
			Message: fmt.Sprintf("Agent %q at %s answered %d to %s %s%s", c.agent, c.host, f.Status, call.Method, route(call.Path), c.to.Refusal(f.Status, f.Header, f.Body))}
	case f.Kind == upstream.BadAnswer:
		return c.bad(call.Method, call.Path, fmt.Sprintf("it is longer than %d MiB", maxAnswer>>20))
	}
	why := f.Cause()
	if why == "" {
		why = c.to.Redact(f.Reason()) + ". Check that it is running and that its url is correct"
	}
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamUnreachable, Err: f,
		Message: fmt.Sprintf("Agent %q at %s did not answer %s %s: %s.", c.agent, c.host, call.Method, route(call.Path), why)}
}

// bad returns the error for a response that cannot be used. problem continues "cannot be used: ".
func (c *client) bad(method, path, problem string) error {
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeBadUpstream,
		Message: fmt.Sprintf("The answer of agent %q at %s to %s %s cannot be used: %s.", c.agent, c.host, method, route(path), problem),
		Err:     errBadAnswer}
}

// route returns a path without its query, for messages.
func route(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}

// jsonProblem describes the position of an error in JSON.
func jsonProblem(err error) string {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return fmt.Sprintf("field %s is a %s", typ.Field, typ.Value)
	}
	if errors.As(err, &typ) {
		return fmt.Sprintf("it has the wrong JSON type: %s", typ.Value)
	}
	return "it is not valid JSON"
}
