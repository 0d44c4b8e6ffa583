package passthrough

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/apbridge/apbridge/adapter/body"
)

// call is one forwarded request.
type call struct {
	ctx    context.Context
	end    context.CancelCauseFunc // ends the call, with the bridge's reason
	http1  bool                    // the caller uses HTTP/1
	body   *source                 // nil for none
	stream bool                    // it was counted as a stream
	done   func()                  // ends the stream's count
}

type callKey struct{}

// begin returns the request with its call. The caller must call over.
func begin(r *http.Request) (*http.Request, *call) {
	ctx, end := context.WithCancelCause(r.Context())
	c := &call{end: end, http1: r.ProtoMajor == 1, done: func() {}}
	c.ctx = context.WithValue(ctx, callKey{}, c)
	r = r.WithContext(c.ctx)
	if r.Body != nil && r.Body != http.NoBody {
		c.body = &source{ReadCloser: r.Body, call: c}
		r.Body = c.body
	}
	return r, c
}

func (c *call) over() {
	c.done()
	c.end(nil)
}

// closing makes the server close the caller's connection after a response that comes before the end of the request's
// body. The rest of the body may be read after the request. In full duplex, net/http would mistake that for a
// concurrent reader of the next request and panic.
func (c *call) closing(answer http.Header) {
	if c.http1 && c.body != nil && !c.body.whole.Load() {
		answer.Set("Connection", "close")
	}
}

// callOf returns the call of a request from the reverse proxy.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// source is the body of a caller's request. If it cannot be read, the call ends for that reason. Otherwise the agent
// would be blamed for the broken connection.
type source struct {
	io.ReadCloser
	call   *call
	closed atomic.Bool
	whole  atomic.Bool // it was read to the end
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err == io.EOF { //nolint:errorlint // as below
		s.whole.Store(true)
	}
	if err != nil && err != io.EOF && !s.closed.Load() { //nolint:errorlint // a wrapped EOF is a body that broke off
		s.call.end(body.Unread(err))
	}
	return n, err
}

// Close ignores errors of a concurrent Read, because the transport no longer wants the body.
func (s *source) Close() error {
	s.closed.Store(true)
	return s.ReadCloser.Close()
}
