package backend

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// backend calls one task/step agent. Between runs it only keeps the location of the agent's routes and measurements.
type backend struct {
	up      adapter.Upstream
	base    address
	to      *upstream.Client
	site    atomic.Pointer[site]
	probing chan struct{}      // held during a probe
	created adapter.MaxLatency // durations of task creations
	settle  time.Duration      // minimum time to search for the effect of a call whose response was lost
	tells   mapping.Capabilities
	log     *zap.Logger
	nan     sync.Once // for logging only once that the agent writes NaN
}

var (
	_ adapter.Backend = (*backend)(nil)
	_ adapter.Prober  = (*backend)(nil)
	_ adapter.Traited = (*backend)(nil)
)

// Dial returns the backend of a task/step agent. It does no I/O. If the URL is invalid, it returns a *mapping.Error of
// class Invalid.
func Dial(up adapter.Upstream) (adapter.Backend, error) { return newBackend(up) }

// Detect reports whether a server lists tasks at the path of v1 agents (Agent Protocol v1, GET /ap/v1/agent/tasks), or
// at the path used before September 2023 (GET /agent/tasks). It returns an error if there was no response or an
// inconclusive one, such as 401.
func Detect(ctx context.Context, up adapter.Upstream) (bool, error) {
	b, err := newBackend(up)
	if err != nil {
		return false, err
	}
	defer b.to.CloseIdle()
	seen, err := b.probe(ctx)
	if err != nil || seen.match == matchYes {
		return err == nil, err
	}
	return false, seen.unwilling
}

func newBackend(up adapter.Upstream) (*backend, error) {
	base, err := parseBase(up.Config.URL)
	if err != nil {
		return nil, err
	}
	b := &backend{up: up, base: base, log: up.Log, probing: make(chan struct{}, 1), settle: shortestSearch, tells: Capabilities()}
	if b.log == nil {
		b.log = zap.NewNop()
	}
	limit := int64(up.Limits.Event)
	if limit <= 0 {
		limit = defaultEvent
	}
	b.to = upstream.New(up, upstream.Options{Root: base.root, Limit: limit})
	return b, nil
}

// Traits returns the traits of a task/step agent: its state cannot be read, and one POST is one step.
func (b *backend) Traits() adapter.Traits {
	return adapter.Traits{Exposes: mapping.ExposesNothing, Stepping: mapping.SteppingLockstep, MaxSteps: mostSteps, Kind: "a task/step agent", Capabilities: b.tells}
}

// Probe requests the agent's tasks.
func (b *backend) Probe(ctx context.Context) error {
	seen, err := b.probe(ctx)
	if err != nil {
		return err
	}
	if seen.match != matchYes {
		return seen.unwilling
	}
	b.site.CompareAndSwap(nil, &seen.site)
	return nil
}

// Profile returns the family of the server and the prefix of its task routes.
func (b *backend) Profile() string {
	s := b.site.Load()
	switch {
	case s == nil:
		return ""
	case s.kind == kindPlain:
		return "tasks below " + s.prefix
	}
	return "tasks below " + s.prefix + ", like " + string(s.kind)
}

// Run creates a task, or continues the linked one, and requests steps until one is the last or asks a question. If only
// one step was requested, it stops after that.
//
// Its Link holds the agent's task id, the site of the server, and the ids of the steps logged so far. Together with
// Assignment.After, that is enough to find the steps that the agent did but that were not logged before a crash.
func (b *backend) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	d := newRunDriver(ctx, b, t)
	return func(yield func(mapping.Event, error) bool) {
		d.yield = yield
		if err := d.run(); err != nil && !errors.Is(err, errUnwanted) {
			d.breakOff(err)
		}
	}
}

func (b *backend) stepTimeout() time.Duration {
	if d := b.up.Config.StepTimeout; d > 0 {
		return d
	}
	return 10 * time.Minute
}
