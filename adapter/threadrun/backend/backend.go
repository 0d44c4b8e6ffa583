package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// backend calls a server of the thread/run dialect. It implements every optional interface of package adapter. Between
// runs it only caches the graph to call and its description, both of which can be read again. Safe for concurrent use.
type backend struct {
	*graphs // they also describe the graph
	up      adapter.Upstream
	log     *zap.Logger
	http    *client
	runs    remoteRuns
	pause   pauses
	tells   mapping.Capabilities
	// separate is set once the server has failed to create a thread with its first run. Threads are then created
	// separately.
	separate atomic.Bool
	created  adapter.MaxLatency // time from a request for a run to the start of the response
}

// pauses holds the backend's waiting times. Tests shorten them.
type pauses struct {
	rejoin []time.Duration // before each attempt to reopen a broken stream
	busy   []time.Duration // before each attempt to start on a busy thread
	settle time.Duration   // minimum time to search for a run whose request got no response
}

var (
	_ adapter.Backend     = (*backend)(nil)
	_ adapter.Canceler    = (*backend)(nil)
	_ adapter.Prober      = (*backend)(nil)
	_ adapter.Describer   = (*backend)(nil)
	_ adapter.StateWriter = (*backend)(nil)
	_ adapter.StateMaker  = (*backend)(nil)
	_ adapter.Forgetter   = (*backend)(nil)
	_ adapter.Traited     = (*backend)(nil)
	_ adapter.Versioned   = (*backend)(nil)
	_ adapter.CopyReader  = (*backend)(nil)
	_ adapter.ItemKeeper  = (*backend)(nil)
)

// Dial returns a backend for the server at up.Config.URL. It does no I/O. An error is a *mapping.Error that describes
// the problem with the URL.
func Dial(up adapter.Upstream) (adapter.Backend, error) { return newBackend(up) }

func newBackend(up adapter.Upstream) (*backend, error) {
	c, err := newClient(up)
	if err != nil {
		return nil, err
	}
	b := &backend{up: up, log: up.Log, http: c, graphs: newGraphs(up, c), runs: remoteRuns{c}, pause: defaultPauses(), tells: Capabilities()}
	if b.log == nil {
		b.log = zap.NewNop()
	}
	return b, nil
}

func defaultPauses() pauses {
	ms := time.Millisecond
	return pauses{
		rejoin: []time.Duration{50 * ms, 200 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms},
		busy:   []time.Duration{50 * ms, 100 * ms, 250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms},
		settle: 3 * time.Second,
	}
}

// Detect reports whether the server at up speaks this dialect: it responds to GET /ok like LangGraph Server, or
// publishes an OpenAPI document with the Agent Protocol's run routes. It returns an error if there was no response or
// an inconclusive one, such as 401.
func Detect(ctx context.Context, up adapter.Upstream) (bool, error) {
	b, err := newBackend(up)
	if err != nil {
		return false, err
	}
	defer b.http.close()
	ok, err := b.healthy(ctx)
	if ok || unreachableOnly(err) != nil {
		return ok, err
	}
	unwilling := inconclusive(err)
	var doc struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if err := b.http.getJSON(ctx, "/openapi.json", &doc); err != nil {
		return false, cmp.Or(unwilling, inconclusive(err))
	}
	_, runs := doc.Paths["/runs/wait"]
	_, threads := doc.Paths["/threads"]
	if runs && threads {
		return true, nil
	}
	return false, unwilling
}

// healthy reports whether the server responds to GET /ok like LangGraph Server.
func (b *backend) healthy(ctx context.Context) (bool, error) {
	var status struct {
		OK bool `json:"ok"`
	}
	err := b.http.getJSON(ctx, "/ok", &status)
	return status.OK && err == nil, err
}

// inconclusive returns nil if err is a conclusive response, and otherwise err.
func inconclusive(err error) error {
	if upstream.Unwilling(upstream.Status(err)) {
		return err
	}
	return unreachableOnly(err)
}

// unreachableOnly returns nil if err is a response of the server, and otherwise err.
func unreachableOnly(err error) error {
	if answered(err) {
		return nil
	}
	return err
}

// Traits returns the traits of a thread/run agent: it has its own state and runs without further requests.
func (b *backend) Traits() adapter.Traits {
	return adapter.Traits{Stepping: mapping.SteppingFree, Kind: "a thread/run agent", Capabilities: b.tells}
}

// Probe checks that the server responds and that the graph to call is unambiguous.
func (b *backend) Probe(ctx context.Context) error {
	switch ok, err := b.healthy(ctx); {
	case unreachableOnly(err) != nil:
		return err
	case !ok:
		b.graphs.forget() // not a LangGraph server: request its agents instead
	}
	_, err := b.graphs.target(ctx)
	return err
}

// Version requests the version of the server (Agent Server API, System, "Server Information"). The Agent Protocol has
// no such route.
func (b *backend) Version(ctx context.Context) (string, error) {
	var info struct {
		Version string `json:"version"`
	}
	err := b.http.getJSON(ctx, "/info", &info)
	return info.Version, err
}

// Profile returns the name of the graph, or of the agent of an Agent Protocol server.
func (b *backend) Profile() string {
	t := b.graphs.known.get()
	switch {
	case t == nil:
		return ""
	case t.plain:
		return "Agent Protocol, agent " + t.id
	}
	return "LangGraph Server, graph " + t.graph
}

// Run implements adapter.Backend.
func (b *backend) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		s := newRunDriver(ctx, b, t, yield)
		defer s.close()
		if err := s.run(); err != nil && !s.stopped {
			s.breakOff(err)
		}
	}
}
