package maintenance_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/maintenance"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { adaptertest.Main(m, blank.Drop) }

// script is a backend scripted by a test.
type script struct {
	exposes mapping.Exposure
	run     func(ctx context.Context, t adapter.Assignment, yield func(mapping.Event, error) bool)
}

func (s *script) Traits() adapter.Traits {
	return adapter.Traits{Exposes: s.exposes, Stepping: mapping.SteppingFree}
}

func (s *script) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) { s.run(ctx, *t, yield) }
}

// harness is an engine with its retention over a real SQLite file.
type harness struct {
	*engine.Engine
	st  *store.Store
	log *eventlog.Log
}

// cold returns a log with empty caches.
func (b *harness) cold(t *testing.T) *eventlog.Log {
	t.Helper()
	log, err := eventlog.New(b.st)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

type meter struct{}

func (meter) RunStarted(string)                          {}
func (meter) RunWaited(string, time.Duration)            {}
func (meter) StepTaken(string, time.Duration)            {}
func (meter) EventsLogged(string, int, int64)            {}
func (meter) RunEnded(string, mapping.RunStatus, string) {}

func open(t *testing.T, path string, b adapter.Backend, change ...func(*config.Agent)) *harness {
	t.Helper()
	a := config.DefaultAgent()
	for _, c := range change {
		c(&a)
	}
	w := assemble(t, path, config.Default(), engine.NewAgent("a", a, b))
	t.Cleanup(w.close)
	return w
}

func assemble(t *testing.T, path string, cfg *config.Config, a *engine.Agent) *harness {
	t.Helper()
	st, err := store.Open(t.Context(), path, store.Options{Synchronous: storetest.Synchronous(), Passed: storetest.Passed()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.New(st)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(st, log, cfg, map[string]*engine.Agent{a.Name: a}, meter{}, adapter.Dialects{}, zap.NewNop())
	e.AddBackground(maintenance.NewRetention(st.Retention, st.Runs, log, e, func() config.Retention { return cfg.Retention }, zap.NewNop()))
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &harness{Engine: e, st: st, log: log}
}

func (b *harness) close() {
	if b.st == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	b.Shutdown(ctx)
	_ = b.st.Close()
	b.st = nil
}

func order(threadID string, s mapping.Strategy) *engine.StartRequest {
	id := mapping.NewID()
	now := time.Now().UTC()
	r := mapping.Run{
		ID: id, ThreadID: threadID, TaskID: id, Agent: "a", AssistantID: mapping.AssistantID("a"), Multitask: s, CreatedAt: now,
		Metadata: json.RawMessage(`{}`), Kwargs: json.RawMessage(`{"input":{"messages":[{"type":"human","content":"hi"}]}}`),
		Flavour: "langgraph",
	}
	o := &engine.StartRequest{New: &store.CreateRun{}}
	o.New.Run = r
	o.New.Thread = &mapping.Thread{ID: threadID, Metadata: json.RawMessage(`{}`), Config: json.RawMessage(`{}`), CreatedAt: now, UpdatedAt: now, Status: mapping.ThreadIdle}
	o.New.Task = &mapping.Task{ID: id, ThreadID: threadID, Agent: "a", AdditionalInput: json.RawMessage(`{}`), CreatedAt: now, UpdatedAt: now}
	return o
}

func (b *harness) begin(t *testing.T, o *engine.StartRequest) mapping.Run {
	t.Helper()
	c, err := b.Begin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Run
}

// read follows a run to its end.
func (b *harness) read(t *testing.T, r mapping.Run) (entries []*state.Entry) {
	t.Helper()
	for e, err := range b.log.Follow(t.Context(), &r, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

func (b *harness) end(t *testing.T, r mapping.Run) mapping.Outcome {
	t.Helper()
	es := b.read(t, r)
	return *es[len(es)-1].Head.Outcome
}

func step(t adapter.Assignment, n int, output string, last bool) mapping.Event {
	raw, _ := json.Marshal(output)
	return rule.StepUpdate(t.Run.ID, t.TaskID, n, mapping.StepInfo{Output: raw, SaysLast: last, ID: output}, nil, mapping.ApprovalAuto)
}

func ended(s mapping.RunStatus) mapping.Event {
	return mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: s}}}
}

func linked(id string) mapping.Event {
	return mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: id}}}
}

func twoSteps(_ context.Context, t adapter.Assignment, yield func(mapping.Event, error) bool) {
	_ = yield(linked("up"), nil) && yield(step(t, 1, "one", false), nil) && yield(step(t, 2, "two", true), nil) && yield(ended(mapping.RunSuccess), nil)
}
