package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/chore"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/service"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type yielder = func(mapping.Event, error) bool

// agent is a backend that does what a test says.
type agent struct {
	traits adapter.Traits
	calls  atomic.Int64
	mu     sync.Mutex
	run    func(ctx context.Context, t adapter.Task, yield yielder)
}

func (a *agent) Traits() adapter.Traits { return a.traits }

func (a *agent) does(run func(ctx context.Context, t adapter.Task, yield yielder)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run = run
}

func (a *agent) Run(ctx context.Context, t adapter.Task) iter.Seq2[mapping.Event, error] {
	a.calls.Add(1)
	a.mu.Lock()
	run := a.run
	a.mu.Unlock()
	return func(yield func(mapping.Event, error) bool) { run(ctx, t, yield) }
}

// bench is the service over a real store, log and engine, with two scripted
// agents: legacy makes steps, graph has a state.
type bench struct {
	adapter.Service
	legacy, graph *agent
	taker         adapter.Backend // in the place of graph, if set
	st            *store.Store
	path          string
	change        func(*config.Config)
	close         func()
}

func setup(t *testing.T, change ...func(*config.Config)) *bench {
	t.Helper()
	b := &bench{
		path:   storetest.DSN(t),
		legacy: &agent{traits: adapter.Traits{Opaque: true, Stepping: mapping.SteppingLockstep}, run: lockstep(3)},
		graph:  &agent{traits: adapter.Traits{Stepping: mapping.SteppingFree}, run: nodes("a", "b", "c")},
		change: func(c *config.Config) {
			for _, f := range change {
				f(c)
			}
		},
	}
	b.open(t)
	t.Cleanup(func() { b.close() })
	return b
}

func (b *bench) open(t *testing.T) {
	t.Helper()
	st, err := store.Open(t.Context(), b.path, store.Options{Synchronous: storetest.Synchronous()}, zap.NewNop())
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
	graph := adapter.Backend(b.graph)
	if b.taker != nil {
		graph = b.taker
	}
	agents := map[string]*engine.Agent{
		"legacy": engine.NewAgent("legacy", cfg.Agents["legacy"], b.legacy),
		"graph":  engine.NewAgent("graph", cfg.Agents["graph"], graph),
	}
	e := engine.New(st, log, cfg, agents, meter{}, nil, zap.NewNop())
	if b.Service, err = service.New(st, log, e, cfg, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	e.Beside(chore.NewRetention(st, log, e, cfg.Retention, zap.NewNop()))
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.st = st
	b.close = sync.OnceFunc(func() {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		e.Shutdown(ctx)
		_ = st.Close()
	})
}

// again is the bridge after a restart.
func (b *bench) again(t *testing.T) {
	t.Helper()
	b.close()
	b.open(t)
}

type meter struct{}

func (meter) RunStarted(string)                  {}
func (meter) RunEnded(string, mapping.RunStatus) {}

func linked() mapping.Event {
	return mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: "up"}}}
}

func end(o mapping.Outcome) mapping.Event {
	return mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}
}

// lockstep does one step a call of a task of n steps.
func lockstep(n int) func(context.Context, adapter.Task, yielder) {
	return func(_ context.Context, t adapter.Task, yield yielder) {
		done := 0
		for _, ev := range t.After {
			if ev.Kind == mapping.KindUpdate {
				done++
			}
		}
		if done == 0 && !yield(linked(), nil) {
			return
		}
		for ; done < n; done++ {
			said := "nothing"
			if t.Say != nil {
				said = *t.Say
			}
			output, _ := json.Marshal(fmt.Sprintf("step %d, told %s", done+1, said))
			ev := mapping.StepUpdate(t.Run.ID, t.TaskID, done+1, mapping.StepInfo{Output: output, IsLast: done+1 == n, ID: fmt.Sprint("s", done+1)}, nil, mapping.ApprovalAuto)
			if !yield(ev, nil) {
				return
			}
			if t.OneStep && done+1 < n {
				yield(end(mapping.Outcome{Parked: true}), nil)
				return
			}
		}
		yield(end(mapping.Outcome{Status: mapping.RunSuccess}), nil)
	}
}

// nodes runs a graph of the named nodes: each adds a message.
func nodes(names ...string) func(context.Context, adapter.Task, yielder) {
	return func(_ context.Context, t adapter.Task, yield yielder) {
		if !yield(linked(), nil) {
			return
		}
		messages := t.State.Messages()
		messages = append(messages, t.Input.Messages...)
		for i, name := range names {
			m := json.RawMessage(fmt.Sprintf(`{"id":"%s-%s","type":"ai","content":"said by %s"}`, t.Run.ID, name, name))
			messages = append(messages, m)
			state, _ := json.Marshal(map[string]any{"messages": messages})
			cp := &mapping.Checkpoint{Source: "loop", Step: i, Remote: t.Run.ID + name}
			ok := yield(mapping.Event{Kind: mapping.KindUpdate, Data: json.RawMessage(`{"messages":[` + string(m) + `]}`), Head: mapping.Head{Node: name}}, nil) &&
				yield(mapping.Event{Kind: mapping.KindState, Data: state, Head: mapping.Head{Full: true, Name: "values", Checkpoint: cp}}, nil)
			if !ok {
				return
			}
		}
		yield(end(mapping.Outcome{Status: mapping.RunSuccess}), nil)
	}
}

// asking asks once, and goes on when it is answered.
func asking(_ context.Context, t adapter.Task, yield yielder) {
	if t.Resume {
		nodes("after "+strings.Trim(string(t.Run.Options.Resume), `"`))(context.Background(), t, yield)
		return
	}
	ask := []mapping.Interrupt{{ID: "q1", Value: json.RawMessage(`"which colour?"`)}}
	_ = yield(linked(), nil) && yield(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: ask}}, nil) &&
		yield(end(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: ask}), nil)
}

// held runs until goOn is closed, then does as rest says.
func held(started chan<- struct{}, goOn <-chan struct{}, rest func(context.Context, adapter.Task, yielder)) func(context.Context, adapter.Task, yielder) {
	return func(ctx context.Context, t adapter.Task, yield yielder) {
		started <- struct{}{}
		select {
		case <-goOn:
			rest(ctx, t, yield)
		case <-ctx.Done():
			yield(mapping.Event{}, context.Cause(ctx))
		}
	}
}

func say(s string) *string { return &s }

func class(err error) mapping.Class { return mapping.Classify(err).Class }

func as(ctx context.Context, tenant string) context.Context {
	return mapping.WithPrincipal(ctx, mapping.Principal{ID: "key of " + tenant, Tenant: tenant})
}

func newRun(thread, agent, words string) adapter.NewRun {
	input, _ := json.Marshal(map[string]any{"messages": []any{map[string]string{"type": "human", "content": words}}})
	kwargs, _ := json.Marshal(map[string]json.RawMessage{"input": input})
	return adapter.NewRun{ThreadID: thread, Agent: agent, Flavour: mapping.FlavourLangGraph, Input: input, Kwargs: kwargs, HasInput: true, IfNotExists: "create"}
}

// start makes a run and reads it to its end.
func (b *bench) start(t *testing.T, ctx context.Context, n adapter.NewRun) (mapping.Run, mapping.Outcome) {
	t.Helper()
	st, err := b.Runs.Start(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	return st.Run, b.wait(t, ctx, st.Run)
}

func (b *bench) wait(t *testing.T, ctx context.Context, r mapping.Run) (out mapping.Outcome) {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	for e, err := range b.Runs.Events(ctx, adapter.RunRef{ThreadID: r.ThreadID, RunID: r.ID}, adapter.Cursor{Start: true}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == mapping.KindEnd {
			out = *e.Head.Outcome
		}
	}
	return out
}

func (b *bench) task(t *testing.T, ctx context.Context, agent, input string) (mapping.Task, adapter.TaskRef) {
	t.Helper()
	task, err := b.Tasks.Create(ctx, adapter.NewTask{Agent: agent, Input: &input})
	if err != nil {
		t.Fatal(err)
	}
	return task, adapter.TaskRef{Agent: agent, ID: task.ID}
}

// step fetches a step and says that it was written.
func (b *bench) step(t *testing.T, ctx context.Context, ref adapter.TaskRef, words *string) mapping.Step {
	t.Helper()
	h := b.handout(t, ctx, ref, adapter.StepRequest{Input: words})
	h.Confirm()
	return h.Step
}

func (b *bench) handout(t *testing.T, ctx context.Context, ref adapter.TaskRef, req adapter.StepRequest) adapter.Handout {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	t.Cleanup(stop)
	h, err := b.Tasks.Step(ctx, ref, req)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func firstError(b *bench, ctx context.Context, ref adapter.RunRef) error {
	for _, err := range b.Runs.Events(ctx, ref, adapter.Cursor{Start: true}, nil) {
		return err
	}
	return nil
}
