package threadrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// errStopped ends a session whose reader wants no more.
var errStopped = errors.New("the reader has gone")

// errIdle is the cause of a context that ended since the agent was silent for
// longer than step_timeout.
var errIdle error = mapping.Errorf(mapping.Timeout, mapping.CodeStepTimeout, "nothing came from the agent within step_timeout")

// answerError is an answer that is not a success: the server was there.
type answerError struct {
	status     int
	body       string // truncated, without secrets; for decisions, not for people
	retryAfter time.Duration
}

func (e *answerError) Error() string { return fmt.Sprintf("status %d", e.status) }

// transportError is an exchange that broke. unsent: no connection was made,
// so the server has seen nothing of it.
type transportError struct {
	err    error
	unsent bool
}

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// errBadAnswer marks an answer that cannot be read.
var errBadAnswer = errors.New("unreadable answer")

// status is the HTTP status of a refusal, 0 for anything else.
func status(err error) int {
	var a *answerError
	if errors.As(err, &a) {
		return a.status
	}
	return 0
}

// answered tells whether err is something the server said.
func answered(err error) bool { return status(err) != 0 || errors.Is(err, errBadAnswer) }

// untouched tells whether the server has certainly not acted on the call: it
// was not reached, or it said to come again later.
func untouched(err error) bool {
	var tr *transportError
	var a *answerError
	switch {
	case errors.As(err, &tr):
		return tr.unsent
	case errors.As(err, &a):
		return a.status == http.StatusTooManyRequests || (a.status == http.StatusServiceUnavailable && a.retryAfter > 0)
	}
	return false
}

// lostAnswer reports whether the server may have acted on a call that came to no answer
// of its own: the exchange broke, or a gateway says that it got none.
func lostAnswer(err error) bool {
	return notAnswered(err) && !untouched(err) || status(err) == http.StatusBadGateway || status(err) == http.StatusGatewayTimeout
}

// notAnswered tells an exchange that broke from an answer.
func notAnswered(err error) bool {
	var tr *transportError
	return errors.As(err, &tr)
}

// repeatable tells whether a read may be asked again with some hope.
func repeatable(err error) bool {
	switch status(err) {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return notAnswered(err)
}

// broken classifies an exchange that came to no answer, or to half of one.
func (c *client) broken(ctx context.Context, method, path string, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamError,
			Message: fmt.Sprintf("The call to agent %q was stopped.", c.agent), Err: cause}
	}
	var op *net.OpError
	unsent := errors.As(err, &op) && op.Op == "dial"
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamUnreachable,
		Message: fmt.Sprintf("Agent %q at %s did not answer %s %s: %s. See that it runs, and that its url is right.",
			c.agent, c.host, method, route(path), c.clean(reason(err))),
		Err: &transportError{err: errors.New(c.clean(err.Error())), unsent: unsent}}
}

// reason is the innermost text of a network error: the outer ones repeat the
// address.
func reason(err error) string {
	var op *net.OpError
	var u *url.Error
	switch {
	case errors.As(err, &op) && op.Err != nil:
		return op.Err.Error()
	case errors.As(err, &u):
		return u.Err.Error()
	}
	return err.Error()
}

// refused classifies an answer outside of 2xx. What a 401 or 403 says is kept
// back: some servers repeat the credential, or a hash of it.
func (c *client) refused(method, path string, resp *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	a := &answerError{status: resp.StatusCode, retryAfter: retryAfter(resp.Header)}
	if a.status != http.StatusUnauthorized && a.status != http.StatusForbidden {
		a.body = c.clean(excerpt(raw))
	}
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamError,
		Message: fmt.Sprintf("Agent %q at %s answered %d to %s %s%s", c.agent, c.host, a.status, method, route(path), a.advice()),
		Err:     a}
}

func (e *answerError) advice() string {
	switch {
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden:
		return ": it does not accept the credentials. See the headers of the agent in the configuration."
	case e.status/100 == 3:
		return ": redirects are not followed. Configure the address itself."
	case e.body == "":
		return "."
	}
	return ": " + e.body
}

// bad is an answer of a shape that cannot be used.
func (c *client) bad(method, path, complaint string) error {
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeBadUpstream,
		Message: fmt.Sprintf("The answer of agent %q at %s to %s %s cannot be used: %s.", c.agent, c.host, method, route(path), complaint),
		Err:     errBadAnswer}
}

// route is a path without its query, for messages.
func route(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}

// jsonComplaint says where JSON is not what it should be.
func jsonComplaint(err error) string {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return fmt.Sprintf("field %s is a %s", typ.Field, typ.Value)
	}
	if errors.As(err, &typ) {
		return fmt.Sprintf("it is a JSON %s of another kind than expected", typ.Value)
	}
	return "it is not valid JSON"
}

// excerpt is the beginning of an error body on one line; a page for browsers
// is only named.
func excerpt(raw []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(raw), "")), " ")
	if strings.HasPrefix(text, "<") {
		return "an HTML page, so something else than the agent may listen there."
	}
	const longest = 300
	if len(text) <= longest {
		return text
	}
	cut := longest
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// secretsOf lists what must never be shown: configured header values, with and
// without their scheme, and a password in the URL.
func secretsOf(up adapter.Upstream, u *url.URL) []string {
	var list []string
	add := func(s string) {
		if len(s) >= 4 {
			list = append(list, s)
		}
	}
	for _, value := range up.Config.Headers {
		v := value.Reveal()
		add(v)
		if _, token, ok := strings.Cut(v, " "); ok {
			add(token)
		}
	}
	if password, ok := u.User.Password(); ok {
		add(password)
	}
	return list
}

// clean hides the secrets in text.
func (c *client) clean(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "[hidden]")
	}
	return text
}
