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
	http1  bool                    // the caller speaks HTTP/1
	body   *source                 // nil: there is none
	stream bool                    // it is counted as one
	done   func()                  // ends that
}

type callKey struct{}

// begin makes a request the call that it is led through as. over must follow.
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

// closing has the connection of the caller closed after an answer that comes before the end of the request's body. The
// rest may be read when the request is over, and in full duplex net/http takes that for a reader beside the one of the
// next request, and panics.
func (c *call) closing(answer http.Header) {
	if c.http1 && c.body != nil && !c.body.whole.Load() {
		answer.Set("Connection", "close")
	}
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
	whole  atomic.Bool // it was read to its end
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

// Close has errors of a Read that is under way count for nothing: the transport wants no more of the body.
func (s *source) Close() error {
	s.closed.Store(true)
	return s.ReadCloser.Close()
}
