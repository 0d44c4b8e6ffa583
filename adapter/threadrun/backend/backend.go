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
// runs it keeps only what it can ask again: which graph it calls, and what that is. Safe for concurrent use.
type backend struct {
	*graphs // it describes them, too
	up      adapter.Upstream
	log     *zap.Logger
	http    *client
	runs    remoteRuns
	pause   pauses
	tells   mapping.Capabilities
	// separate: the server was found not to make a thread with its first run.
	separate atomic.Bool
	created  adapter.MaxLatency // from a request for a run to the beginning of its answer
}

// pauses are the waiting times of the backend; tests shorten them.
type pauses struct {
	rejoin []time.Duration // before each try to get back to a broken stream
	busy   []time.Duration // before each try to start on a busy thread
	settle time.Duration   // the shortest time for which a run is looked for whose request was not answered
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

// Dial makes a backend for the server at up.Config.URL. It does no I/O; the error, an *mapping.Error, says that the URL
// cannot be used.
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

// Detect reports whether the server at up speaks this dialect: it answers GET /ok as LangGraph Server does, or
// publishes an OpenAPI document with the Agent Protocol's run routes. An error says that there was no answer, or one
// that tells nothing, such as 401.
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
	unwilling := telling(err)
	var doc struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if err := b.http.getJSON(ctx, "/openapi.json", &doc); err != nil {
		return false, cmp.Or(unwilling, telling(err))
	}
	_, runs := doc.Paths["/runs/wait"]
	_, threads := doc.Paths["/threads"]
	if runs && threads {
		return true, nil
	}
	return false, unwilling
}

// healthy asks GET /ok.
func (b *backend) healthy(ctx context.Context) (bool, error) {
	var status struct {
		OK bool `json:"ok"`
	}
	err := b.http.getJSON(ctx, "/ok", &status)
	return status.OK && err == nil, err
}

// telling drops an error that is an answer, unless it tells nothing of what the server speaks.
func telling(err error) error {
	if upstream.Unwilling(upstream.Status(err)) {
		return err
	}
	return unreachableOnly(err)
}

// unreachableOnly keeps an error that says that there was no answer, and drops one that is an answer.
func unreachableOnly(err error) error {
	if answered(err) {
		return nil
	}
	return err
}

// Traits: the agent keeps a state of its own, and goes on by itself.
func (b *backend) Traits() adapter.Traits {
	return adapter.Traits{Stepping: mapping.SteppingFree, Kind: "a thread/run agent", Capabilities: b.tells}
}

// Probe asks whether the server is there, and whether it is clear which of its graphs is called.
func (b *backend) Probe(ctx context.Context) error {
	switch ok, err := b.healthy(ctx); {
	case unreachableOnly(err) != nil:
		return err
	case !ok:
		b.graphs.forget() // no LangGraph server: its agents are the sign of life
	}
	_, err := b.graphs.target(ctx)
	return err
}

// Version asks for the version of the server (Agent Server API, System, "Server Information"); a plain server of the
// Agent Protocol has no word for it.
func (b *backend) Version(ctx context.Context) (string, error) {
	var info struct {
		Version string `json:"version"`
	}
	err := b.http.getJSON(ctx, "/info", &info)
	return info.Version, err
}

// Profile names the graph that is called, or the agent of a plain server.
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
		s := newDrive(ctx, b, t, yield)
		defer s.close()
		if err := s.run(); err != nil && !s.stopped {
			s.breakOff(err)
		}
	}
}
