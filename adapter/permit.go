package adapter

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
)

// Permit reports whether a call that must not be made twice may begin now. A refusal is
// final: it has ended the context that the permit was given with, for the reason that
// it returns. Safe for concurrent use.
type Permit func() error

type permitKey struct{}

// WithPermit puts the calls of agents that are made under ctx under a permit. The engine
// gives one to each execution: a process whose lease is over must not send what the
// next holder of the run may be sending.
func WithPermit(ctx context.Context, may Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, may)
}

// Permitted is a transport that asks the permit of a request's context, where there is
// one, right before the request is written: once before a connection is looked for,
// which may take a while, and once more when it is there. What is refused is not sent,
// and the error is the permit's. GET and HEAD need no permit.
//
// Every backend makes its calls through it.
func Permitted(rt http.RoundTripper) http.RoundTripper { return &permitted{rt} }

type permitted struct{ next http.RoundTripper }

func (p *permitted) RoundTrip(req *http.Request) (*http.Response, error) {
	may, asked := req.Context().Value(permitKey{}).(Permit)
	if !asked || req.Method == http.MethodGet || req.Method == http.MethodHead {
		return p.next.RoundTrip(req)
	}
	if err := may(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if may() != nil && !shared(got) {
			_ = got.Conn.Close() // the request is written next, whatever became of its context
		}
	}})
	return p.next.RoundTrip(req.WithContext(ctx))
}

// shared reports whether other calls are under way on the connection. HTTP/2 looks at the
// context before it writes a request.
func shared(got httptrace.GotConnInfo) bool {
	c, ok := got.Conn.(*tls.Conn)
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}

// CloseIdleConnections is as of http.Client.
func (p *permitted) CloseIdleConnections() {
	if c, ok := p.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
