package upstream

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
)

// exchanger is a transport that writes a changing call only once, and only with the permit in the request's context
// (adapter.WithPermit). It counts every exchange when its response has been read completely, broken off or been closed.
// A call without a permit is not sent and returns the permit's error.
type exchanger struct {
	meter adapter.Meter // may be nil
	agent string
	next  http.RoundTripper
}

func (x *exchanger) RoundTrip(req *http.Request) (*http.Response, error) {
	may, err := permitFor(req)
	if err != nil {
		return nil, err
	}
	ctx, done := context.WithCancelCause(req.Context())
	e := &exchange{x: x, ctx: req.Context(), done: done, begun: time.Now()}
	e.operation, _ = ctx.Value(operationKey{}).(string)
	o := &once{refuse: done, changes: changes(req), permit: may}
	res, err := x.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, o.hooks())))
	if err != nil {
		if !o.connected() {
			err = unconnected{err}
		}
		e.finish(failed(e.ctx, err))
		return nil, err
	}
	e.answer, e.outcome, e.status = res.Body, outcomeOf(res.StatusCode), res.StatusCode
	res.Body = e
	return res, nil
}

// permitFor checks the permit of a request before it needs a connection. It returns the permit to be checked again, or
// nil if none is needed.
func permitFor(req *http.Request) (adapter.Permit, error) {
	may := adapter.PermitOf(req.Context())
	if may == nil || !changes(req) {
		return nil, nil
	}
	err := may()
	if err != nil && req.Body != nil {
		_ = req.Body.Close()
	}
	return may, err
}

// CloseIdleConnections is called by http.Client.
func (x *exchanger) CloseIdleConnections() {
	if c, ok := x.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// exchange is one call and the body of its response. Close may be called concurrently with Read.
type exchange struct {
	x         *exchanger
	ctx       context.Context // the caller's
	done      context.CancelCauseFunc
	operation string
	begun     time.Time
	answer    io.ReadCloser
	outcome   string // reported if the response is complete
	status    int    // 0 if there was no response
	ended     sync.Once
}

func (e *exchange) Read(p []byte) (int, error) {
	n, err := e.answer.Read(p)
	if err == io.EOF {
		e.finish(e.outcome)
	} else if err != nil {
		e.finish(failed(e.ctx, err))
	}
	return n, err
}

func (e *exchange) Close() error {
	err := e.answer.Close()
	if e.ctx.Err() != nil {
		e.finish(failed(e.ctx, e.ctx.Err()))
	}
	e.finish(e.outcome)
	return err
}

func (e *exchange) finish(outcome string) {
	e.ended.Do(func() {
		e.done(nil)
		endSpan(e.ctx, e.status, outcome)
		if e.x.meter != nil {
			e.x.meter.UpstreamCall(e.x.agent, e.operation, outcome, time.Since(e.begun))
		}
	})
}
