package backend

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// protocolError returns the agent's A2A error in the chain of err, or nil.
func protocolError(err error) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// call makes one call whose answer is one document, and returns its result. An error is an *upstream.Failure or the
// agent's *wire.Error. A call that changes something is sent once.
func (b *backend) call(ctx context.Context, m wire.Method, params any) (json.RawMessage, error) {
	return withVersion(ctx, b, func(e *endpoint) (json.RawMessage, error) {
		c, err := b.request(e, m, params)
		if err != nil {
			return nil, err
		}
		do := b.to.Once
		if c.Time = b.stepTimeout(); c.ReadOnly || c.Method == http.MethodGet {
			do, c.Time = b.to.Do, b.readTimeout()
		}
		ans, err := do(ctx, c)
		if err != nil {
			return nil, b.refusal(e, err)
		}
		return b.result(e, ans.Body)
	})
}

// withVersion makes a call, and makes it again in the other version if the agent does not know this one: then it has
// done nothing.
func withVersion[T any](ctx context.Context, b *backend, call func(*endpoint) (T, error)) (none T, err error) {
	e, err := b.endpoint(ctx)
	if err != nil {
		return none, err
	}
	got, err := call(e)
	if !unknownVersion(err) || e.other == nil {
		return got, err
	}
	other, otherErr := call(e.other)
	if unknownVersion(otherErr) {
		return got, err // the method is unknown in both
	}
	b.remember(e.other)
	return other, otherErr
}

// unknownVersion reports whether the agent refused a call because it does not know the method or the version.
func unknownVersion(err error) bool {
	e := protocolError(err)
	return e != nil && (e.Code == wire.CodeMethodNotFound || e.Code == wire.CodeVersionNotSupported)
}

// result returns the result in the body of a successful response.
func (b *backend) result(e *endpoint, body []byte) (json.RawMessage, error) {
	if e.http {
		return body, nil
	}
	return b.reader.Response(body)
}

// refusal returns the agent's own error if the failed response has one.
func (b *backend) refusal(e *endpoint, err error) error {
	f := upstream.Of(err)
	if f == nil || f.Kind != upstream.Refused || upstream.MayHaveActed(err) {
		return err
	}
	if e.http {
		if own := b.reader.HTTPError(f.Status, f.Body); own.Details != nil || own.Code != wire.CodeInternal && own.Message != "" {
			return own
		}
		return err
	}
	_, own := b.reader.Response(f.Body)
	hasCode := rawjson.Get(rawjson.Get(f.Body, "error"), "code") != nil // otherwise the status says more, as with {"error": "text"}
	if e := protocolError(own); e != nil && e.Code != wire.CodeInvalidAgentResponse && hasCode {
		return e
	}
	return err
}

// request returns the call of a method.
func (b *backend) request(e *endpoint, m wire.Method, params any) (*upstream.Call, error) {
	c := &upstream.Call{Method: http.MethodPost, Path: e.path, ReadOnly: readOnly(m), Operation: operationOf(m), Header: map[string]string{}}
	if e.version == wire.V1 {
		c.Header[wire.VersionHeader] = e.version.String()
	}
	if m.Streams() {
		c.Accept = "text/event-stream, application/json"
	}
	if e.http {
		return c, b.overHTTP(e, m, params, c)
	}
	if c.Path == "" {
		c.Path = "/"
	}
	body, err := wire.AppendCall(nil, e.version, wire.ID(`"1"`), m, params)
	c.Type, c.Body = "application/json", new(rawjson.Pieces).Raw(body)
	return c, err
}

// overHTTP completes a call over HTTP+JSON (S 11.3).
func (b *backend) overHTTP(e *endpoint, m wire.Method, params any, c *upstream.Call) error {
	id := ""
	switch p := params.(type) {
	case *wire.GetTaskRequest:
		id = p.ID
	case *wire.CancelTaskRequest:
		id = p.ID
	case *wire.SubscribeToTaskRequest:
		id = p.ID
	}
	method, path := wire.Path(e.version, m, id, "")
	c.Method, c.Path = method, c.Path+path
	if method == http.MethodGet {
		if q := wire.Query(params).Encode(); q != "" {
			c.Path += "?" + q
		}
		return nil
	}
	body, err := wire.Append(nil, e.version, params)
	c.Type, c.Body = "application/json", new(rawjson.Pieces).Raw(body) // understood by servers of every draft
	return err
}

// readOnly reports whether a method changes nothing.
func readOnly(m wire.Method) bool {
	switch m {
	case wire.MethodGetTask, wire.MethodListTasks, wire.MethodSubscribeToTask:
		return true
	}
	return false
}

func operationOf(m wire.Method) string {
	switch m {
	case wire.MethodSendMessage, wire.MethodSendStreamingMessage:
		return upstream.OpRun
	case wire.MethodSubscribeToTask:
		return upstream.OpFollow
	case wire.MethodCancelTask:
		return upstream.OpWrite
	}
	return upstream.OpRead
}

// opened is the response to a streaming method. Agents may answer with one document instead of a stream.
type opened struct {
	endpoint *endpoint
	stream   io.ReadCloser   // nil: no stream
	result   json.RawMessage // instead of a stream
}

// open calls a streaming method. The caller closes the stream.
func (b *backend) open(ctx context.Context, m wire.Method, params any) (opened, error) {
	return withVersion(ctx, b, func(e *endpoint) (opened, error) {
		c, err := b.request(e, m, params)
		if err != nil {
			return opened{}, err
		}
		res, err := b.to.OpenOnce(ctx, c)
		if err != nil {
			return opened{}, b.refusal(e, err)
		}
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
			return opened{endpoint: e, stream: res.Body}, nil
		}
		defer res.Body.Close()
		body, err := b.to.Read(ctx, res)
		if err != nil {
			return opened{}, err
		}
		result, err := b.result(e, body)
		return opened{endpoint: e, result: result}, err
	})
}
