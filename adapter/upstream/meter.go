package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Operations, as the metrics name what an agent was asked for.
const (
	OpRead     = "read"     // a question that changes nothing
	OpWrite    = "write"    // any other change
	OpCreate   = "create"   // a task
	OpStep     = "step"     // the next step of a task
	OpUpload   = "upload"   // a file to the agent
	OpDownload = "download" // a file from the agent
	OpRun      = "run"      // a run, its stream included
	OpFollow   = "follow"   // the stream or the end of a run that was made before
)

// Outcomes, as the metrics name them.
const (
	outcomeOK          = "ok"
	outcomeUnreachable = "unreachable" // no connection: nothing was sent
	outcomeBroken      = "broken"      // the connection broke, the agent may have acted
	outcomeTimeout     = "timeout"     // the bridge waited as long as it may
	outcomeStopped     = "stopped"     // the bridge wanted no more: a cancellation, a shutdown
	outcomeRefused     = "refused"     // a status below 500 that is no success
	outcomeError       = "error"       // a status of 500 or more
)

type operationKey struct{}

// As names the operation of the calls made under ctx. Without it GET and HEAD count as
// OpRead, all others as OpWrite.
func As(ctx context.Context, operation string) context.Context {
	return context.WithValue(ctx, operationKey{}, operation)
}

func operationOf(req *http.Request) string {
	if op, ok := req.Context().Value(operationKey{}).(string); ok {
		return op
	}
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return OpRead
	}
	return OpWrite
}

// Metered is a transport that counts every exchange with an agent when its answer ends:
// it was read to its end, broke, or was closed.
func Metered(up adapter.Upstream, rt http.RoundTripper) http.RoundTripper {
	if up.Meter == nil {
		return rt
	}
	return &metered{up.Meter, up.Name, rt}
}

type metered struct {
	meter adapter.Meter
	agent string
	next  http.RoundTripper
}

func (m *metered) RoundTrip(req *http.Request) (*http.Response, error) {
	e := &exchange{m: m, ctx: req.Context(), operation: operationOf(req), begun: time.Now()}
	res, err := m.next.RoundTrip(req)
	if err != nil {
		e.end(failed(e.ctx, err))
		return nil, err
	}
	e.answer, e.outcome = res.Body, outcomeOf(res.StatusCode)
	res.Body = e
	return res, nil
}

// CloseIdleConnections is as of http.Client.
func (m *metered) CloseIdleConnections() {
	if c, ok := m.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// exchange is one call, and the body of its answer. Close may be called beside Read.
type exchange struct {
	m         *metered
	ctx       context.Context
	operation string
	begun     time.Time
	answer    io.ReadCloser
	outcome   string // if the answer is whole
	counted   sync.Once
}

func (e *exchange) Read(p []byte) (int, error) {
	n, err := e.answer.Read(p)
	if err == io.EOF {
		e.end(e.outcome)
	} else if err != nil {
		e.end(failed(e.ctx, err))
	}
	return n, err
}

func (e *exchange) Close() error {
	if e.ctx.Err() != nil {
		e.end(failed(e.ctx, e.ctx.Err()))
	}
	e.end(e.outcome)
	return e.answer.Close()
}

func (e *exchange) end(outcome string) {
	e.counted.Do(func() { e.m.meter.UpstreamCall(e.m.agent, e.operation, outcome, time.Since(e.begun)) })
}

func outcomeOf(status int) string {
	switch {
	case status/100 == 2:
		return outcomeOK
	case status >= http.StatusInternalServerError:
		return outcomeError
	}
	return outcomeRefused
}

// failed is the outcome of an exchange that broke.
func failed(ctx context.Context, err error) string {
	var op *net.OpError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded), cause != nil && mapping.Classify(cause).Class == mapping.Timeout:
		return outcomeTimeout
	case cause != nil:
		return outcomeStopped
	case errors.As(err, &op) && op.Op == "dial":
		return outcomeUnreachable
	}
	return outcomeBroken
}
