package servicetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/maintenance"
	"github.com/apbridge/apbridge/proxy/service"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"go.uber.org/zap"
)

// Bench is the service over a real store, log and engine, with two scripted agents: legacy makes steps, graph has a
// state.
type Bench struct {
	*service.Service
	Legacy, Graph *Agent
	Taker         adapter.Backend // replaces Graph if set
	Meaning       *item.Index     // for searches by meaning, if set
	Store         *store.Store
	Path          string // of the database
	Close         func()

	change func(*config.Config)
}

// New opens a bench for the test. change may modify its configuration.
func New(t *testing.T, change ...func(*config.Config)) *Bench {
	t.Helper()
	return At(t, blank.DSN(t), change...)
}

// At is New with the test's own database. In a synctest bubble the path must come from outside the bubble.
func At(t *testing.T, dsn string, change ...func(*config.Config)) *Bench {
	t.Helper()
	b := laid(dsn, change)
	b.Open(t)
	t.Cleanup(func() { b.Close() })
	return b
}

// Replicas returns n benches over one PostgreSQL database, in front of the same agents. It skips the test if there is
// no server.
func Replicas(t *testing.T, n int, change ...func(*config.Config)) []*Bench {
	t.Helper()
	list := []*Bench{laid(storetest.Schema(t), change)}
	for len(list) < n {
		list = append(list, list[0].beside())
	}
	for _, b := range list {
		b.Open(t)
		t.Cleanup(func() { b.Close() })
	}
	return list
}

func laid(path string, change []func(*config.Config)) *Bench {
	return &Bench{
		Path:   path,
		Legacy: &Agent{Kind: adapter.Traits{Exposes: mapping.ExposesNothing, Stepping: mapping.SteppingLockstep}, run: Lockstep(3)},
		Graph:  &Agent{Kind: adapter.Traits{Stepping: mapping.SteppingFree, Capabilities: graphTells}, run: Nodes("a", "b", "c")},
		change: func(c *config.Config) {
			for _, f := range change {
				f(c)
			}
		},
	}
}

// beside returns a bench with the same database and agents that is not open yet.
func (b *Bench) beside() *Bench {
	return &Bench{Path: b.Path, Legacy: b.Legacy, Graph: b.Graph, Taker: b.Taker, Meaning: b.Meaning, change: b.change}
}

// Open starts the bench's bridge.
func (b *Bench) Open(t *testing.T) {
	t.Helper()
	st, err := store.Open(t.Context(), b.Path, store.Options{Synchronous: storetest.Synchronous(), Passed: storetest.Passed(), Index: b.Meaning}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.New(st)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Agents = map[string]config.Agent{"legacy": config.DefaultAgent(), "graph": config.DefaultAgent()}
	cfg.DefaultAgent = "legacy"
	b.change(cfg)
	graph := adapter.Backend(b.Graph)
	if b.Taker != nil {
		graph = b.Taker
	}
	agents := map[string]*engine.Agent{
		"legacy": engine.NewAgent("legacy", cfg.Agents["legacy"], b.Legacy),
		"graph":  engine.NewAgent("graph", cfg.Agents["graph"], graph),
	}
	e := engine.New(st, log, cfg, agents, meter{}, Dialects(), zap.NewNop())
	if b.Service, err = service.New(st, log, e, Dialects(), zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	e.AddBackground(maintenance.NewRetention(st.Retention, st.Runs, log, e, func() config.Retention { return cfg.Retention }, zap.NewNop()))
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Store = st
	b.Close = sync.OnceFunc(func() {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		e.Shutdown(ctx)
		_ = st.Close()
	})
}

// Again closes the bridge and opens another over the same database.
func (b *Bench) Again(t *testing.T) {
	t.Helper()
	b.Close()
	b.Open(t)
}

type meter struct{}

func (meter) RunStarted(string)                          {}
func (meter) RunWaited(string, time.Duration)            {}
func (meter) StepTaken(string, time.Duration)            {}
func (meter) EventsLogged(string, int, int64)            {}
func (meter) RunEnded(string, mapping.RunStatus, string) {}

// Start creates a run and reads it to its end.
func (b *Bench) Start(t *testing.T, ctx context.Context, n adapter.RunRequest) (mapping.Run, mapping.Outcome) {
	t.Helper()
	st, err := b.StartRun(ctx, new(n))
	if err != nil {
		t.Fatal(err)
	}
	return st.Run, b.Wait(t, ctx, st.Run)
}

// Wait reads a run to its end.
func (b *Bench) Wait(t *testing.T, ctx context.Context, r mapping.Run) (out mapping.Outcome) {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for e, err := range b.RunEvents(ctx, adapter.RunRef{ThreadID: r.ThreadID, RunID: r.ID}, adapter.Cursor{Start: true}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == mapping.KindEnd {
			out = *e.Head.Outcome
		}
	}
	return out
}

// Task creates a task for an agent.
func (b *Bench) Task(t *testing.T, ctx context.Context, agent, input string) (mapping.Task, adapter.TaskRef) {
	t.Helper()
	task, err := b.CreateTask(ctx, adapter.TaskRequest{Agent: agent, Input: &input})
	if err != nil {
		t.Fatal(err)
	}
	return task, adapter.TaskRef{Agent: agent, ID: task.ID}
}

// Step fetches a step and confirms that it was written.
func (b *Bench) Step(t *testing.T, ctx context.Context, ref adapter.TaskRef, words *string) mapping.Step {
	t.Helper()
	h := b.Handout(t, ctx, ref, adapter.StepRequest{Input: words})
	h.Confirm()
	return h.Step
}

// Handout fetches a step. The test must confirm or release it.
func (b *Bench) Handout(t *testing.T, ctx context.Context, ref adapter.TaskRef, req adapter.StepRequest) adapter.Handout {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(stop)
	h, err := b.ExecuteStep(ctx, ref, req)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Eventually waits until a condition holds, for at most a minute.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, deadline := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}
