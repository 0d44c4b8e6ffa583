package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

// Kind says what a failed call may have done.
type Kind int

const (
	// NotReached: no connection was made, so the agent has seen nothing of the call.
	NotReached Kind = iota + 1
	// Broken: the call was sent, or may have been, and no whole answer came. The agent may have acted.
	Broken
	// Refused: a status outside 2xx.
	Refused
	// BadAnswer: a success that cannot be used.
	BadAnswer
	// Stopped: the caller's context ended, for another reason than its deadline. The agent may have acted.
	Stopped
)

// Failure is why a call did not succeed. Its text has neither the URL nor secrets in it; Body has what the agent sent,
// to be shown through Client.Refusal or Client.Redact.
type Failure struct {
	Kind   Kind
	Slow   bool        // Broken: Call.Time, or the context's, was over
	Status int         // Refused, BadAnswer
	Header http.Header // Refused, BadAnswer
	Body   []byte      // Refused: its first 64 KiB
	Err    error       // what the network or the context said; nil where the agent answered
}

func (f *Failure) Error() string {
	switch {
	case f.Kind == Refused:
		return fmt.Sprintf("status %d", f.Status)
	case f.Kind == Broken:
		return "connection broke: " + f.Err.Error()
	}
	return f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// RetryAfter returns what the header of that name says, in both of its forms (RFC 9110, section 10.2.3); 0 when there
// is none.
func (f *Failure) RetryAfter() time.Duration {
	return pause.RetryAfter(f.Header.Get("Retry-After"))
}

// later reports whether the agent says to come again: it has done nothing.
func (f *Failure) later() bool {
	return f.Kind == Refused && (f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable && f.RetryAfter() > 0)
}

// Of finds the failure in an error; nil if there is none.
func Of(err error) *Failure {
	var f *Failure
	errors.As(err, &f)
	return f
}

// Is reports whether an error is a failure of a kind.
func Is(err error, kind Kind) bool {
	f := Of(err)
	return f != nil && f.Kind == kind
}

// Unwilling reports whether an answer of that status tells nothing of what there is at its path: the server wants other
// credentials, leads elsewhere, or cannot answer now.
func Unwilling(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests:
		return true
	}
	return status/100 == 3 || status/100 == 5
}

// Status returns the status of a refusal, 0 for anything else.
func Status(err error) int {
	if f := Of(err); f != nil && f.Kind == Refused {
		return f.Status
	}
	return 0
}

// Untouched reports whether the agent has certainly not acted on a call: it was not reached, or said to come again
// later.
func Untouched(err error) bool {
	f := Of(err)
	return f != nil && (f.Kind == NotReached || f.later())
}

// MayHaveActed reports whether the agent may have acted on a call that came to no answer of its own. What became of
// such a call is asked, and it is not made again unless doing it twice is the same: its exchange broke or was stopped,
// or a gateway that has passed it on, or may have, answered in the agent's place (unanswered). Every other status is
// the agent's word, as HTTP has it: the call failed (500), is not taken now (503; RFC 9110, section 15.6.4), or did not
// come whole (408; section 15.5.9). A gateway that says 503 of an agent which it had reached is believed: its answer
// cannot be told from that of an agent that is overloaded.
func MayHaveActed(err error) bool {
	return Is(err, Broken) || Is(err, Stopped) || unanswered(Status(err))
}

// unanswered reports whether a status is that of a gateway which may have passed the call on and had no answer from the
// agent, or none that it understood: 502 and 504 (RFC 9110, sections 15.6.3 and 15.6.5), and Cloudflare's 520 (an
// answer that it does not understand), 522 (the agent did not confirm the call) and 524 (no answer in time). With 521,
// 523, 525 and 526 Cloudflare says that it had no connection to the agent. 499 stands in a gateway's log, for a client
// that has left.
func unanswered(status int) bool {
	switch status {
	case http.StatusBadGateway, http.StatusGatewayTimeout, 520, 522, 524:
		return true
	}
	return false
}

// broken classifies an exchange that came to no answer, or to half of one. ctx is the caller's, limited the one of the
// attempt.
func (c *Client) broken(ctx, limited context.Context, err error) error {
	f := &Failure{Kind: Broken, Err: c.hide(err)}
	switch cause := context.Cause(ctx); {
	case cause != nil && !errors.Is(cause, context.DeadlineExceeded):
		f.Kind, f.Err = Stopped, cause
	case limited.Err() != nil:
		f.Slow = true
	case unreached(err):
		f.Kind = NotReached
	}
	return f
}

// hidden is an error whose text has no secrets, and not the URL, which may hold some.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.err }

func (c *Client) hide(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &hidden{c.Redact(err.Error()), err}
}

// Reason returns the innermost text of what the network said: the outer ones repeat the address.
func (f *Failure) Reason() string {
	var op *net.OpError
	if errors.As(f.Err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return f.Err.Error()
}
