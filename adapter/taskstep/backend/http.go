package backend

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
)

const (
	readTimeout  = 30 * time.Second // for a GET, for which the agent does no work
	defaultEvent = 16 << 20
	jsonType     = "application/json"
)

var errTooLarge = upstream.ErrTooLong

// get sends a GET. It retries if there was no response or if a gateway responded in the agent's place.
func (b *backend) get(ctx context.Context, path, query string) (*upstream.Answer, error) {
	ans, err := b.answered(b.to.Do(ctx, b.read(path, query)))
	return ans, b.unreachable(ctx, err)
}

func (b *backend) getOnce(ctx context.Context, path, query string) (*upstream.Answer, error) {
	return b.answered(b.to.Once(ctx, b.read(path, query)))
}

func (b *backend) read(path, query string) *upstream.Call {
	if query != "" {
		path += "?" + query
	}
	return &upstream.Call{Method: http.MethodGet, Path: path, Time: b.readTimeout()}
}

func (b *backend) readTimeout() time.Duration { return min(readTimeout, b.stepTimeout()) }

// open starts a download, with the retries of get. The caller closes the body. A non-nil Answer is a refusal.
func (b *backend) open(ctx context.Context, path string) (*upstream.Answer, io.ReadCloser, error) {
	res, err := b.to.Open(ctx, &upstream.Call{
		Method: http.MethodGet, Path: path, Operation: upstream.OpDownload, Accept: "application/octet-stream, */*",
	})
	if err == nil {
		return nil, res.Body, nil
	}
	ans, err := b.answered(nil, err)
	return ans, nil, b.unreachable(ctx, err)
}

// act sends a call that must not be repeated: the creation of a task, or a step. If upstream.MayHaveActed holds for the
// error, the agent may have done it.
func (b *backend) act(ctx context.Context, operation, path string, body *rawjson.Pieces) (*upstream.Answer, error) {
	ans, err := b.post(ctx, &upstream.Call{Operation: operation, Path: path, Type: jsonType, Body: body})
	if upstream.MayHaveActed(err) {
		return nil, err
	}
	return b.answered(ans, err)
}

// change sends a call that can be repeated without harm. A gateway's refusal therefore counts like the agent's. A call
// that was sent but not answered is an upstream.Failure of kind Broken.
func (b *backend) change(ctx context.Context, call *upstream.Call) (*upstream.Answer, error) {
	return b.answered(b.post(ctx, call))
}

// post sends a POST. It retries only if no connection was made.
func (b *backend) post(ctx context.Context, call *upstream.Call) (*upstream.Answer, error) {
	call.Method, call.Time = http.MethodPost, b.stepTimeout()
	ans, err := b.to.Do(ctx, call)
	f := upstream.Of(err)
	switch {
	case f == nil || f.Kind == upstream.Refused || f.Kind == upstream.BadAnswer:
		return ans, err
	case ctx.Err() != nil:
		return nil, stopReason(ctx)
	case f.Slow:
		return nil, b.slow()
	case f.Kind == upstream.NotReached:
		b.forget()
		return nil, b.away(err)
	}
	return nil, err
}

// answered returns the agent's response, even a refusal. A response that is too long has a status but no body.
func (b *backend) answered(ans *upstream.Answer, err error) (*upstream.Answer, error) {
	if err == nil {
		ans.Body = b.withoutNaN(clean(ans.Body))
		return ans, nil
	}
	f := upstream.Of(err)
	switch {
	case f != nil && f.Kind == upstream.Refused:
		return &upstream.Answer{Status: f.Status, Header: f.Header, Body: clean(f.Body)}, nil
	case f != nil && f.Kind == upstream.BadAnswer:
		return &upstream.Answer{Status: f.Status, Header: f.Header}, err
	}
	return nil, err
}

// withoutNaN replaces NaN and Infinity, which agents in Python write, with null.
func (b *backend) withoutNaN(raw []byte) []byte {
	read, ok := rawjson.WithoutNaN(raw)
	if !ok {
		return raw
	}
	b.nan.Do(func() { b.log.Warn("agent sent NaN or Infinity; read as null", zap.String("agent", b.up.Name)) })
	return read
}

// clean makes a body valid UTF-8, because some servers send invalid bytes.
func clean(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// await waits for d. If the context ends first, it returns the reason.
func await(ctx context.Context, d time.Duration) error {
	if pause.For(ctx, d) != nil {
		return stopReason(ctx)
	}
	return nil
}

// stopReason returns the reason why the context ended, as an error for the run.
func stopReason(ctx context.Context) error {
	cause := context.Cause(ctx)
	var e *mapping.Error
	switch {
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return &mapping.Error{Class: mapping.Timeout, Code: mapping.CodeRunTimeout, Message: "The run exceeded its time limit.", Err: cause}
	}
	return &mapping.Error{Class: mapping.Unavailable, Code: codeStopped, Message: "The run was stopped.", Err: cause}
}
