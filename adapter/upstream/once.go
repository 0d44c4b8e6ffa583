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

// errTwice ends a call that net/http was about to write again.
var errTwice = errors.New("the connection broke; the call is not repeated because the agent may have acted on it")

// once ensures that a changing call is written only once. net/http repeats calls on another connection. That is right
// if nothing was written to the first connection, which the agent may have closed long ago. But net/http also repeats a
// POST with an Idempotency-Key and, over HTTP/2, any call that a server aborted with certain errors. once also checks
// the call's permit again when the call gets its connection, because it may have waited for it. It is used for a single
// call.
type once struct {
	refuse  context.CancelCauseFunc // ends the call's context
	changes bool                    // the call may change something
	permit  adapter.Permit          // nil: none needed

	mu     sync.Mutex
	had    bool  // the call has been given a connection
	shared bool  // the newest connection uses HTTP/2 and also carries other calls
	used   *conn // the newest connection
	before int64 // bytes written to that connection before this call
	header bool  // net/http reported that the call's header was written
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

// keepFrom closes the connection of a call that must not be written. Over HTTP/1.1 net/http would otherwise write the
// call even if its context has ended.
func (o *once) keepFrom(got httptrace.GotConnInfo) {
	if !isHTTP2(got) {
		_ = got.Conn.Close()
	}
}

// use records the connection to which the call is written.
func (o *once) use(got httptrace.GotConnInfo) {
	o.shared, o.header, o.used = isHTTP2(got), false, connOf(got.Conn)
	if o.used != nil {
		o.before = o.used.written.Load()
	}
}

// mustNot reports whether the call must not be written to its new connection. If so, it cancels the call's context,
// which HTTP/2 checks before it writes a request.
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

// sent reports whether a part of the call may have reached the agent. HTTP/1.1 reports a header as written when it is
// only buffered, so sent compares the bytes written to the connection.
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
