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

// Kind is the kind of a failure. It determines what the failed call may have done.
type Kind int

const (
	// NotReached means that no connection was made, so the agent has received no part of the call.
	NotReached Kind = iota + 1
	// Broken means that the call was or may have been sent, but no complete response was received. The agent may have
	// acted.
	Broken
	// Refused is a response with a status outside 2xx.
	Refused
	// BadAnswer is a success response that cannot be used.
	BadAnswer
	// Stopped means that the caller's context ended for a reason other than its deadline. The agent may have acted.
	Stopped
)

// Failure is the error of a call. Its text contains neither the URL nor secrets. Body is the agent's unredacted text
// and may only be shown through Client.Refusal or Client.Redact.
type Failure struct {
	Kind   Kind
	Slow   bool        // Broken: Call.Time or the context's deadline has passed
	Status int         // Refused, BadAnswer
	Header http.Header // Refused, BadAnswer
	Body   []byte      // Refused: its first 64 KiB
	Err    error       // of the network or the context; nil for Refused
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

// RetryAfter returns the delay in the Retry-After header, in either of its forms (RFC 9110, section 10.2.3), or 0 if
// there is none.
func (f *Failure) RetryAfter() time.Duration {
	return pause.RetryAfter(f.Header.Get("Retry-After"))
}

// later reports whether the agent requested a retry, which means that it has done nothing.
func (f *Failure) later() bool {
	return f.Kind == Refused && (f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable && f.RetryAfter() > 0)
}

// Of returns the Failure in err's chain, or nil.
func Of(err error) *Failure {
	var f *Failure
	errors.As(err, &f)
	return f
}

// Is reports whether err is a Failure of the given kind.
func Is(err error, kind Kind) bool {
	f := Of(err)
	return f != nil && f.Kind == kind
}

// Unwilling reports whether a status leaves open whether the path exists: the server requires other credentials,
// redirects, or cannot respond now.
func Unwilling(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests:
		return true
	}
	return status/100 == 3 || status/100 == 5
}

// Status returns the status of an error response, or 0 for any other error.
func Status(err error) int {
	if f := Of(err); f != nil && f.Kind == Refused {
		return f.Status
	}
	return 0
}

// Untouched reports whether the agent has certainly not acted on a call, because it was not reached or requested a
// retry.
func Untouched(err error) bool {
	f := Of(err)
	return f != nil && (f.Kind == NotReached || f.later())
}

// MayHaveActed reports whether the agent may have acted on a call although its response was not received. That is so if
// the exchange broke or was stopped, or if a gateway that may have forwarded the call responded in the agent's place
// (unanswered). The caller must find out the effect of such a call, and may only repeat it if that is harmless.
//
// Every other status counts as the agent's own, as in HTTP: the call failed (500), is not accepted now (503; RFC 9110,
// section 15.6.4), or was not received completely (408; section 15.5.9). A 503 from a gateway that had reached the
// agent cannot be distinguished from one from an overloaded agent.
func MayHaveActed(err error) bool {
	return Is(err, Broken) || Is(err, Stopped) || unanswered(Status(err))
}

// unanswered reports whether a status comes from a gateway that may have forwarded the call but received no response
// from the agent, or none that it understood. These are 502 and 504 (RFC 9110, sections 15.6.3 and 15.6.5), and
// Cloudflare's 520 (a response that it does not understand), 522 (the agent did not acknowledge the call) and 524 (no
// response in time). 521, 523, 525 and 526 mean that Cloudflare had no connection to the agent. 499 only appears in a
// gateway's log, for a client that has disconnected.
func unanswered(status int) bool {
	switch status {
	case http.StatusBadGateway, http.StatusGatewayTimeout, 520, 522, 524:
		return true
	}
	return false
}

// broken classifies an exchange without a complete response. ctx is the context of the caller, limited that of the
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

// hidden is an error whose text contains neither secrets nor the URL, because a URL may contain secrets.
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

// Reason returns the innermost text of a network error, because the outer ones repeat the address.
func (f *Failure) Reason() string {
	var op *net.OpError
	if errors.As(f.Err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return f.Err.Error()
}
