package upstream

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
)

// Tries is the maximum number of attempts for one call.
const Tries = 3

const (
	firstPause  = 50 * time.Millisecond
	longestWait = 5 * time.Second // for a Retry-After, before jitter
)

// again reports whether a failed call may be repeated and might then succeed.
func (c *Client) again(call *Call, err error) bool {
	f := Of(err)
	switch {
	case f == nil || call.Stream != nil:
		return false
	case f.Kind == NotReached || c.opt.Later && f.later():
		return true
	}
	return call.asks() && MayPass(err) && !f.Slow
}

// MayPass reports whether the failure is temporary, so that a call that changes nothing may succeed later.
func MayPass(err error) bool {
	switch status := Status(err); status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	default:
		return unanswered(status) || Is(err, Broken) || Is(err, NotReached)
	}
}

// Wait returns the pause after failed attempt number try of a call. It is the agent's Retry-After, up to 5 s, or else
// grows with each attempt. It includes random jitter.
func Wait(err error, try int) time.Duration {
	if f := Of(err); f != nil && f.RetryAfter() > 0 {
		return adapter.Jitter(min(f.RetryAfter(), longestWait))
	}
	return adapter.Jitter(time.Duration(try*try) * firstPause)
}

// unconnected is the error of a call that got no connection.
type unconnected struct{ error }

func (e unconnected) Unwrap() error { return e.error }

// unreached reports whether no part of a call was sent. A call that first got an idle connection only gets another one
// if nothing was written to the first (see once).
func unreached(err error) bool {
	var none unconnected
	var op *net.OpError
	return errors.As(err, &none) || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}
