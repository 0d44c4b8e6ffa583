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
var errTwice = errors.New("the connection broke, and the call is not sent again: the agent may have acted on it")

// once ensures that a changing call is written only once. net/http repeats calls on another connection: rightly if
// nothing was written to the first, which the agent may have closed long ago, but also a POST with an Idempotency-Key
// and, over HTTP/2, any call that a server aborted with certain errors. once also checks the call's permit when it gets
// its connection, for which it may have waited. It is used for one call.
type once struct {
	refuse  context.CancelCauseFunc // ends the call's context
	changes bool                    // the call may change something
	permit  adapter.Permit          // nil: none needed

	mu     sync.Mutex
	had    bool  // it has been given a connection
	shared bool  // the newest connection uses HTTP/2, where other calls are written, too
	used   *conn // the newest connection
	before int64 // the bytes that had been written to it before
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

// keepFrom closes the connection of a call that must not be written, because HTTP/1.1 would write the call next even if
// its context has ended.
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

// mustNot reports whether the call must not be written to its new connection, and ends it in that case. HTTP/2 checks
// the context before it writes a request.
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

// sent reports whether a part of the call may have reached the agent. HTTP/1.1 reports that a header was written when
// it is only buffered, so the written bytes are compared there.
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
