package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/sync/singleflight"
)

// descriptionAge is how long the description of a graph is cached. It is short so that a new deployment is noticed
// soon.
const descriptionAge = time.Minute

// descriptions caches a server's descriptions of its graphs, including failures. Clients request them whenever they
// show a graph, and a server may take 15 seconds to respond with 500 (schemas in version 1.5.1 of the JavaScript
// server). At most one request per path is in progress. It continues after its callers have given up, for up to
// describeTimeout, so that a later caller gets the result. Safe for concurrent use.
type descriptions struct {
	age    time.Duration
	asking singleflight.Group
	mu     sync.Mutex
	kept   map[string]description // by path, which differs for each kind of description
}

type description struct {
	raw   json.RawMessage
	err   error
	until time.Time
}

// describeTimeout bounds a request for a description. A server that compiles the types of its graphs first takes half a
// minute on a busy machine.
const describeTimeout = 2 * time.Minute

// maxDescriptions bounds the cache, because a path may contain text from a client.
const maxDescriptions = 64

// read is getJSON with the cache. It fails if there is no response before ctx ends. An error is cached only if the
// server responded, because an unreachable server may be back at any moment. Code not_supported means that the server
// has no such description.
func (d *descriptions) read(ctx context.Context, c *client, path string, v any) error {
	got, ok := d.find(path)
	if !ok {
		got = d.wait(ctx, c, path)
	}
	if got.err != nil {
		return got.err
	}
	if err := json.Unmarshal(got.raw, v); err != nil {
		return c.bad(http.MethodGet, path, jsonProblem(err))
	}
	return nil
}

// wait returns the server's response, or an error if there is none yet.
func (d *descriptions) wait(ctx context.Context, c *client, path string) description {
	asked := d.asking.DoChan(path, func() (any, error) { return d.fetch(ctx, c, path), nil })
	select {
	case answer := <-asked:
		return answer.Val.(description)
	case <-ctx.Done():
		return description{err: &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamUnreachable, Err: ctx.Err(),
			Message: fmt.Sprintf("Agent %q has not yet answered GET %s. The bridge is still waiting for the answer; try again later.", c.agent, route(path))}}
	}
}

// fetch continues after ctx has ended.
func (d *descriptions) fetch(ctx context.Context, c *client, path string) (got description) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), describeTimeout)
	defer cancel()
	got.err = c.exchange(ctx, &upstream.Call{Method: http.MethodGet, Path: path, Time: describeTimeout}, nil, &got.raw)
	switch upstream.Status(got.err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError, http.StatusNotImplemented:
		got.err = &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeNotSupported, Err: got.err,
			Message: fmt.Sprintf("Agent %q cannot describe its graph: it answered %d.", c.agent, upstream.Status(got.err))}
	}
	if got.err == nil || answered(got.err) {
		d.keep(path, got)
	}
	return got
}

func (d *descriptions) find(path string) (description, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	got, ok := d.kept[path]
	if !ok || !time.Now().Before(got.until) {
		return description{}, false
	}
	return got, true
}

func (d *descriptions) keep(path string, got description) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil || len(d.kept) >= maxDescriptions {
		d.kept = map[string]description{}
	}
	got.until = time.Now().Add(d.age)
	d.kept[path] = got
}
