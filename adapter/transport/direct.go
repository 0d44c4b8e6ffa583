package transport

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

const (
	// mostBody is the largest request body that is written before anything is
	// read: a peer that answers before it has taken it all would block us.
	mostBody = 16 << 10
	// mostHeader bounds the header of an answer where http.Transport says nothing,
	// as that does.
	mostHeader = 10 << 20
)

// Direct is an http.Transport that makes plain calls on the goroutine that asks for
// them: it writes the request, waits and reads the answer there, where an
// http.Transport has two goroutines to each connection, which are woken five times
// a call. What a call says, and what is read of it, is net/http's all the same.
//
// Plain are calls by http, straight to the host, with a body that is small and of
// known length. All others it leaves to the http.Transport.
//
// Safe for concurrent use. An error leaves it open whether the peer has acted, as
// with http.Transport, unless no connection was made (net.OpError, "dial").
type Direct struct {
	rest *http.Transport

	mu    sync.Mutex
	idle  map[string][]*conn // by address, those used last at the end
	timer *time.Timer        // closes those that were not used for long; nil: there are none
}

// NewDirect makes plain calls the way rest is configured to: its Proxy, DialContext,
// IdleConnTimeout, MaxIdleConnsPerHost, MaxResponseHeaderBytes and buffer sizes. One
// without a DialContext makes them all itself.
func NewDirect(rest *http.Transport) *Direct {
	return &Direct{rest: rest, idle: map[string][]*conn{}}
}

// RoundTrip is as of http.RoundTripper.
func (d *Direct) RoundTrip(req *http.Request) (*http.Response, error) {
	if !d.suits(req) {
		return d.rest.RoundTrip(req)
	}
	ctx := req.Context()
	for {
		if ctx.Err() != nil { // a request that is written at once would be quicker than its end
			closeBody(req)
			return nil, context.Cause(ctx)
		}
		c, err := d.connect(ctx, addressOf(req))
		if err != nil {
			closeBody(req)
			return nil, err
		}
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c.Conn, Reused: c.reused})
		}
		res, err := d.exchange(c, req)
		if err == nil || !c.mayRepeat(req) || ctx.Err() != nil {
			return res, err
		}
		again, rewound := rewind(req)
		if !rewound {
			return nil, err
		}
		req = again
	}
}

// suits tells whether a call is plain.
func (d *Direct) suits(req *http.Request) bool {
	if !canTellStale || d.rest.DialContext == nil || req.URL.Scheme != "http" || req.URL.Host == "" || req.Header == nil ||
		req.Close || len(req.TransferEncoding) > 0 || req.Trailer != nil {
		return false
	}
	if !isASCII(req.URL.Host) || !isValid(req.Header) {
		return false // the name has another form on the wire; the header is refused
	}
	if hasBody(req) && (req.ContentLength <= 0 || req.ContentLength > mostBody) {
		return false
	}
	for _, name := range []string{"Upgrade", "Expect", "Connection"} {
		if _, there := req.Header[name]; there {
			return false
		}
	}
	if d.rest.Proxy == nil {
		return true
	}
	proxy, err := d.rest.Proxy(req)
	return proxy == nil && err == nil
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// rewind is the request with its body unread.
func rewind(req *http.Request) (_ *http.Request, ok bool) {
	if !hasBody(req) {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again := *req
	again.Body = body
	return &again, true
}

func addressOf(req *http.Request) string {
	return net.JoinHostPort(req.URL.Hostname(), cmp.Or(req.URL.Port(), "80"))
}

// exchange makes one call on a connection, which is the answer's from then on.
func (d *Direct) exchange(c *conn, req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	stop := context.AfterFunc(ctx, func() { _ = c.Conn.Close() })
	res, err := c.call(req, cmp.Or(d.rest.MaxResponseHeaderBytes, mostHeader))
	if err != nil {
		stop()
		_ = c.Conn.Close()
		return nil, causeOf(ctx, err)
	}
	b := &body{ReadCloser: res.Body, d: d, c: c, ctx: ctx, stop: stop, last: res.Close}
	if res.Body == http.NoBody {
		b.end(true)
	} else {
		res.Body = b
	}
	return res, nil
}

// causeOf is why a call failed: that its connection was closed under it is none.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// CloseIdleConnections closes what no call is using.
func (d *Direct) CloseIdleConnections() {
	d.sweep(0)
	d.rest.CloseIdleConnections()
}
