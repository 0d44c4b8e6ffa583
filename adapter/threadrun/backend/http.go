package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
)

const (
	cancelTimeout = 5 * time.Second  // for the request to stop a run that took too long
	callTimeout   = 30 * time.Second // for a call to which the server responds at once
	maxAnswer     = 64 << 20         // bytes of one JSON response, such as a whole state
	jsonType      = "application/json"
)

// client is the HTTP side of the backend. It transports JSON and describes failures.
type client struct {
	agent string // config name, for messages
	host  string // of the URL, for messages
	to    *upstream.Client
	log   *zap.Logger
	nan   sync.Once // logs once that the agent writes NaN
}

func newClient(up adapter.Upstream) (*client, error) {
	u, err := url.Parse(up.Config.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
			"The URL of agent %q is not an http or https URL with a host.", up.Name)
	}
	log := up.Log
	if log == nil {
		log = zap.NewNop()
	}
	return &client{agent: up.Name, host: u.Host, log: log, to: upstream.New(up, upstream.Options{Root: up.Config.URL, Limit: maxAnswer, Later: true})}, nil
}

func (c *client) close() { c.to.CloseIdle() }

// getJSON reads path into v. It retries if there is no response or the server is overloaded.
func (c *client) getJSON(ctx context.Context, path string, v any) error {
	return c.exchange(ctx, &upstream.Call{Method: http.MethodGet, Path: path}, nil, v)
}

// askJSON is like getJSON for queries that the API sends with POST.
func (c *client) askJSON(ctx context.Context, path string, body, v any) error {
	return c.exchange(ctx, &upstream.Call{Method: http.MethodPost, Path: path, ReadOnly: true}, body, v)
}

// writeJSON sends a call that changes something. v may be nil. It retries only if the server cannot have accepted the
// call, because no connection was made or the server requested a retry.
func (c *client) writeJSON(ctx context.Context, method, path string, body, v any) error {
	return c.exchange(ctx, &upstream.Call{Method: method, Path: path}, body, v)
}

func (c *client) exchange(ctx context.Context, call *upstream.Call, body, v any) error {
	if err := put(call, body); err != nil {
		return err
	}
	call.Time = cmp.Or(call.Time, callTimeout)
	ans, err := c.to.Do(ctx, call)
	if err != nil {
		return c.failed(call, err)
	}
	if v == nil {
		return nil
	}
	return c.decode(call, ans.Body, v)
}

// put sets the body of a call, or none for nil.
func put(call *upstream.Call, body any) (err error) {
	if body == nil {
		return nil
	}
	call.Type = jsonType
	if call.Body, err = piecesOf(body); err != nil {
		return mapping.Classify(err)
	}
	return nil
}

func (c *client) decode(call *upstream.Call, raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if err == nil {
		return nil
	}
	if read, ok := c.withoutNaN(raw); ok && json.Unmarshal(read, v) == nil {
		return nil
	}
	return c.bad(call.Method, call.Path, jsonProblem(err))
}

// withoutNaN replaces NaN and Infinity with null in text that is otherwise JSON. Agents in Python write them.
func (c *client) withoutNaN(raw []byte) ([]byte, bool) {
	read, ok := rawjson.WithoutNaN(raw)
	if ok {
		c.nan.Do(func() { c.log.Warn("agent sent NaN or Infinity; read as null", zap.String("agent", c.agent)) })
	}
	return read, ok
}

// openOnce makes a call without retries. The response can be read until ctx ends. body may be nil.
func (c *client) openOnce(ctx context.Context, call *upstream.Call, body any) (*http.Response, error) {
	if err := put(call, body); err != nil {
		return nil, err
	}
	resp, err := c.to.OpenOnce(ctx, call)
	if err != nil {
		return nil, c.failed(call, err)
	}
	return resp, nil
}

// waitJSON makes a call without retries and without a timeout, and reads the response into v.
func (c *client) waitJSON(ctx context.Context, call *upstream.Call, body, v any) error {
	resp, err := c.openOnce(ctx, call, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := c.to.Read(ctx, resp)
	if err != nil {
		return c.failed(call, err)
	}
	return c.decode(call, raw, v)
}
