package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/apbridge/apbridge/adapter"
)

// errTwice ends a call that net/http was about to write a second time.
var errTwice = errors.New("the connection broke, and the call is not sent again: the agent may have acted on it")

// once sees to it that a call which may change something is written once. net/http repeats calls on another connection:
// rightly where nothing was written to the first, which the agent may have closed long ago, but also a POST with an
// Idempotency-Key, and over HTTP/2 whatever a server broke off with certain errors. It asks for the permit of the call,
// too, when the connection is there, for which it may have waited a while. For one call.
type once struct {
	refuse  context.CancelCauseFunc // ends the call's context
	changes bool                    // the call may change something
	permit  adapter.Permit          // nil: it needs none

	mu     sync.Mutex
	had    bool  // a connection
	shared bool  // the newest is one of HTTP/2, where other calls are written, too
	used   *conn // it
	before int64 // what had been written to it by then
	header bool  // the call's header was written, by what net/http says
}

func (o *once) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: o.gotConn, WroteHeaders: o.wroteHeaders}
}

func (o *once) gotConn(got httptrace.GotConnInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mustNot() {
		o.keepFrom(got)
	} else {
		o.use(got)
	}
	o.had = true
}

// keepFrom takes the connection from a call that must not be written: over HTTP/1.1 it would be written next, whatever
// became of its context.
func (o *once) keepFrom(got httptrace.GotConnInfo) {
	if !isHTTP2(got) {
		_ = got.Conn.Close()
	}
}

// use notes the connection that the call is written to.
func (o *once) use(got httptrace.GotConnInfo) {
	o.shared, o.header, o.used = isHTTP2(got), false, connOf(got.Conn)
	if o.used != nil {
		o.before = o.used.written.Load()
	}
}

// mustNot reports whether the call must not be written to a connection that it was given, and ends it then. HTTP/2
// looks at the context before it writes a request.
func (o *once) mustNot() bool {
	if o.had && o.changes && o.sent() {
		o.refuse(errTwice)
		return true
	}
	return o.permit != nil && o.permit() != nil
}

func (o *once) wroteHeaders() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.header = true
}

// sent reports whether some of the call may have reached the agent. HTTP/1.1 says that a header was written when it is
// in a buffer, so there the bytes are asked.
func (o *once) sent() bool {
	if o.shared || o.used == nil {
		return o.header
	}
	return o.used.written.Load() > o.before
}

// connected reports whether the call was given a connection.
func (o *once) connected() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.had
}

func isHTTP2(got httptrace.GotConnInfo) bool {
	c, ok := got.Conn.(*tls.Conn)
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}

// changes reports whether a call may change something.
func changes(req *http.Request) bool {
	return req.Method != http.MethodGet && req.Method != http.MethodHead
}
