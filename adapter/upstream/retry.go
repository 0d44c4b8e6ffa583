package upstream

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
)

// Tries is how often one call is made at most.
const Tries = 3

const (
	firstPause  = 50 * time.Millisecond
	longestWait = 5 * time.Second // for a Retry-After, before it is spread
)

// again reports whether a failed call may be made once more with some hope.
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

// MayPass reports whether a question that failed may be answered another time.
func MayPass(err error) bool {
	switch status := Status(err); status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	default:
		return unanswered(status) || Is(err, Broken) || Is(err, NotReached)
	}
}

// Wait returns how long to wait before a call that failed for the try-th time is made again: what the agent said, up to
// 5 s, else a little more each time. It is spread by chance.
func Wait(err error, try int) time.Duration {
	if f := Of(err); f != nil && f.RetryAfter() > 0 {
		return adapter.Jitter(min(f.RetryAfter(), longestWait))
	}
	return adapter.Jitter(time.Duration(try*try) * firstPause)
}

// unconnected is the error of a call that was given no connection.
type unconnected struct{ error }

func (e unconnected) Unwrap() error { return e.error }

// unreached reports whether nothing of a call was sent. Where an older connection was had first, a call is given
// another only if nothing was written to that (see once).
func unreached(err error) bool {
	var none unconnected
	var op *net.OpError
	return errors.As(err, &none) || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}
