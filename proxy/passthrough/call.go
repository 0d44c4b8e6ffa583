package passthrough

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/apbridge/apbridge/adapter/body"
)

// call is one request on its way to the agent.
type call struct {
	ctx    context.Context
	end    context.CancelCauseFunc // says why the bridge wants no more of it
	stream bool                    // it is counted as one
	done   func()                  // ends that
}

type callKey struct{}

// begin makes a request the call that it is led through as. over must follow.
func begin(r *http.Request) (*http.Request, *call) {
	ctx, end := context.WithCancelCause(r.Context())
	c := &call{end: end, done: func() {}}
	c.ctx = context.WithValue(ctx, callKey{}, c)
	r = r.WithContext(c.ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &source{ReadCloser: r.Body, call: c}
	}
	return r, c
}

func (c *call) over() {
	c.done()
	c.end(nil)
}

// callOf is the call that a request of the reverse proxy's is of.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// source is the body of a caller's request. Where it cannot be read, the call ends for that reason: the agent would be
// blamed for the connection that breaks then.
type source struct {
	io.ReadCloser
	call   *call
	closed atomic.Bool
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !s.closed.Load() { //nolint:errorlint // a wrapped EOF is a body that broke off
		s.call.end(body.Unread(err))
	}
	return n, err
}

// Close has errors of a Read that is under way count for nothing: the transport wants no more of the body.
func (s *source) Close() error {
	s.closed.Store(true)
	return s.ReadCloser.Close()
}
