package engine_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
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
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { adaptertest.Main(m, blank.Drop) }

// script is a backend scripted by a test.
type script struct {
	exposes mapping.Exposure
	runs    atomic.Int64
	run     func(ctx context.Context, t adapter.Assignment, yield func(mapping.Event, error) bool)
}

func (s *script) Traits() adapter.Traits {
	return adapter.Traits{Exposes: s.exposes, Stepping: mapping.SteppingFree}
}

func (s *script) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		s.runs.Add(1)
		s.run(ctx, *t, yield)
	}
}

// bench is an engine over a real SQLite file.
type bench struct {
	*engine.Engine
	st     *store.Store
	log    *eventlog.Log
	path   string
	script *script
}

// agents replaces the agent's script.
func (b *bench) agents(run func(context.Context, adapter.Assignment, func(mapping.Event, error) bool)) {
	b.script.run = run
}

// cold returns a log with empty caches.
func (b *bench) cold(t *testing.T) *eventlog.Log {
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

func open(t *testing.T, path string, b adapter.Backend, change ...func(*config.Agent)) *bench {
	t.Helper()
	return openAs(t, "a", path, b, change...)
}

// openAs is like open, for an agent with another name.
func openAs(t *testing.T, name, path string, b adapter.Backend, change ...func(*config.Agent)) *bench {
	t.Helper()
	a := config.DefaultAgent()
	for _, c := range change {
		c(&a)
	}
	w := assemble(t, path, config.Default(), engine.NewAgent(name, a, b), adapter.Dialects{})
	w.script, _ = b.(*script)
	t.Cleanup(w.close)
	return w
}

func assemble(t *testing.T, path string, cfg *config.Config, a *engine.Agent, dialects adapter.Dialects) *bench {
	t.Helper()
	st, err := store.Open(t.Context(), path, store.Options{Synchronous: storetest.Synchronous(), Passed: storetest.Passed()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.New(st)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(st, log, cfg, map[string]*engine.Agent{a.Name: a}, meter{}, dialects, zap.NewNop())
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &bench{Engine: e, st: st, log: log, path: path}
}

func (b *bench) close() {
	if b.st == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	b.Shutdown(ctx)
	_ = b.st.Close()
	b.st = nil
}

func setup(t *testing.T, s *script, change ...func(*config.Agent)) *bench {
	t.Helper()
	return open(t, blank.DSN(t), s, change...)
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

func (b *bench) begin(t *testing.T, o *engine.StartRequest) mapping.Run {
	t.Helper()
	c, err := b.Begin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Run
}

// read follows a run to its end.
func (b *bench) read(t *testing.T, r mapping.Run) (entries []*state.Entry) {
	t.Helper()
	for e, err := range b.log.Follow(t.Context(), &r, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

func (b *bench) end(t *testing.T, r mapping.Run) mapping.Outcome {
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

func TestRunIsLoggedFoldedAndEnded(t *testing.T) {
	t.Parallel()
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	es := b.read(t, r)
	var kinds []mapping.Kind
	for i, e := range es {
		kinds = append(kinds, e.Kind)
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has number %d", i, e.Seq)
		}
	}
	want := []mapping.Kind{mapping.KindStarted, mapping.KindState, mapping.KindInput, mapping.KindLinked, mapping.KindUpdate, mapping.KindUpdate, mapping.KindEnd}
	if len(kinds) != len(want) {
		t.Fatalf("kinds %v, want %v", kinds, want)
	}
	for i := range want {
		if kinds[i] != want[i] {
			t.Fatalf("kinds %v, want %v", kinds, want)
		}
	}
	if n := len(es[len(es)-1].After.Messages()); n != 3 {
		t.Errorf("%d messages at the end, want the human's and two of the agent's", n)
	}
	fresh, err := b.st.Runs.Get(t.Context(), r.ThreadID, r.ID)
	if err != nil || fresh.Status != mapping.RunSuccess {
		t.Errorf("run is %v, %v", fresh.Status, err)
	}
	th, err := b.st.Threads.Get(t.Context(), r.ThreadID)
	if err != nil || th.Status != mapping.ThreadIdle || th.Head == "" {
		t.Errorf("thread is %+v, %v", th, err)
	}
}

func TestColdReaderSeesTheSameAsALiveOne(t *testing.T) {
	t.Parallel()
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	live := b.read(t, r)
	path := b.path
	b.close()
	again := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	cold := again.read(t, r)
	if len(cold) != len(live) {
		t.Fatalf("%d entries after a restart, %d before", len(cold), len(live))
	}
	for i := range live {
		if live[i].Seq != cold[i].Seq || live[i].Kind != cold[i].Kind || string(live[i].After.JSON()) != string(cold[i].After.JSON()) {
			t.Errorf("entry %d differs:\n%s\n%s", i, live[i].After.JSON(), cold[i].After.JSON())
		}
	}
}

func TestFailureEndsTheRunAndFreesTheThread(t *testing.T) {
	t.Parallel()
	fail := true
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		if fail {
			fail = false
			yield(mapping.Event{}, mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "it broke"))
			return
		}
		twoSteps(ctx, task, yield)
	}})
	thread := mapping.NewID()
	out := b.end(t, b.begin(t, order(thread, mapping.StrategyReject)))
	if out.Status != mapping.RunError || out.Fault == nil || out.Fault.Code != mapping.CodeUpstreamError || out.Fault.Message != "it broke" {
		t.Fatalf("outcome %+v", out)
	}
	th, _ := b.st.Threads.Get(t.Context(), thread)
	if th.Status != mapping.ThreadError {
		t.Errorf("thread is %s", th.Status)
	}
	if out := b.end(t, b.begin(t, order(thread, mapping.StrategyReject))); out.Status != mapping.RunSuccess {
		t.Errorf("the next run ended %+v", out)
	}
}

// waiting is a backend that holds until its context ends.
func waiting(started chan<- struct{}) func(context.Context, adapter.Assignment, func(mapping.Event, error) bool) {
	return func(ctx context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		if !yield(linked("up"), nil) {
			return
		}
		started <- struct{}{}
		<-ctx.Done()
		yield(mapping.Event{}, context.Cause(ctx))
	}
}

func TestCancelEndsOnceAndFreesTheThread(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	<-started
	if err := b.Cancel(t.Context(), &r, engine.Cancellation{Reason: mapping.CancelledAsTaken}); err != nil {
		t.Fatal(err)
	}
	out := b.end(t, r)
	if out.Status != mapping.RunInterrupted || !out.Cancelled || out.Reason != mapping.CancelledAsTaken {
		t.Errorf("outcome %+v", out)
	}
	if kept, err := b.st.Runs.Get(t.Context(), "", r.ID); err != nil || kept.CancelReason != mapping.CancelledAsTaken {
		t.Errorf("cancel reason %q, %v", kept.CancelReason, err)
	}
	if err := b.Cancel(t.Context(), &r, engine.Cancellation{}); mapping.Classify(err).Class != mapping.Conflict {
		t.Errorf("a second cancel returned %v", err)
	}
	th, _ := b.st.Threads.Get(t.Context(), r.ThreadID)
	if th.Status != mapping.ThreadIdle {
		t.Errorf("thread is %s", th.Status)
	}
}

func TestBusyThread(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		strategy mapping.Strategy
		first    mapping.RunStatus // of the existing run; "" means removed
		refused  bool
	}{
		{mapping.StrategyReject, "", true},
		{mapping.StrategyEnqueue, mapping.RunSuccess, false},
		{mapping.StrategyInterrupt, mapping.RunInterrupted, false},
	} {
		t.Run(string(tc.strategy), func(t *testing.T) {
			t.Parallel()
			started, goOn := make(chan struct{}, 2), make(chan struct{})
			b := setup(t, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
				started <- struct{}{}
				select {
				case <-goOn:
					twoSteps(ctx, task, yield)
				case <-ctx.Done():
					yield(mapping.Event{}, context.Cause(ctx))
				}
			}})
			thread := mapping.NewID()
			first := b.begin(t, order(thread, mapping.StrategyReject))
			<-started
			created, err := b.Begin(t.Context(), order(thread, tc.strategy))
			if tc.refused {
				if mapping.Classify(err).Code != mapping.CodeThreadBusy {
					t.Fatalf("a second run returned %v", err)
				}
				close(goOn)
				b.end(t, first)
				return
			}
			if err != nil || created.Run.Status != mapping.RunPending {
				t.Fatalf("second run %s, %v", created.Run.Status, err)
			}
			if tc.strategy == mapping.StrategyInterrupt {
				<-started // the second one runs although the first was not released
			}
			close(goOn)
			if out := b.end(t, created.Run); out.Status != mapping.RunSuccess {
				t.Errorf("second ended %+v", out)
			}
			if out := b.end(t, first); out.Status != tc.first {
				t.Errorf("first ended %+v", out)
			}
		})
	}
}

func TestAgentConcurrencyQueuesTheRest(t *testing.T) {
	t.Parallel()
	started, goOn := make(chan struct{}, 8), make(chan struct{})
	var now, most atomic.Int64
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		started <- struct{}{}
		<-goOn
		twoSteps(ctx, task, yield)
	}}, func(a *config.Agent) { a.Concurrency = 2 })
	var runs []mapping.Run
	for range 6 {
		runs = append(runs, b.begin(t, order(mapping.NewID(), mapping.StrategyReject)))
	}
	<-started
	<-started
	close(goOn)
	for _, r := range runs {
		if out := b.end(t, r); out.Status != mapping.RunSuccess {
			t.Errorf("got %+v", out)
		}
	}
	if most.Load() > 2 {
		t.Errorf("%d ran at once, want at most 2", most.Load())
	}
}

func TestShutdownHandsARunningRunOver(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	<-started
	path := b.path
	b.close()
	var open_ bool
	var after int
	again := open(t, path, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		open_, after = task.InDoubt, len(task.After)
		twoSteps(ctx, task, yield)
	}})
	if out := again.end(t, r); out.Status != mapping.RunSuccess {
		t.Fatalf("outcome %+v", out)
	}
	if !open_ || after != 4 {
		t.Errorf("picked up with Open %v and %d events, want true and 4", open_, after)
	}
}

func TestFilesOfTheInputAreArtifactsBeforeTheAgentIsCalled(t *testing.T) {
	t.Parallel()
	var paths []string
	s := &script{exposes: mapping.ExposesNothing}
	s.run = func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		list, err := task.Files.List(ctx)
		if err != nil {
			yield(mapping.Event{}, err)
			return
		}
		paths = nil
		for _, a := range list {
			paths = append(paths, a.Path)
		}
		twoSteps(ctx, task, yield)
	}
	b := setup(t, s)
	for range 2 { // the agent's dialect is unknown at the first run and known at the second
		o := order(mapping.NewID(), mapping.StrategyReject)
		o.New.Run.Kwargs = json.RawMessage(`{"input":{"messages":[{"type":"human","content":"hi"}],"files":{"/a/b.txt":"text"}}}`)
		if out := b.end(t, b.begin(t, o)); out.Status != mapping.RunSuccess || !slices.Equal(paths, []string{"a/b.txt"}) {
			t.Errorf("outcome %+v, files %q", out, paths)
		}
	}
}

func TestAnAnswerInTextIsPartOfTheConversation(t *testing.T) {
	t.Parallel()
	s := &script{exposes: mapping.ExposesNothing}
	s.run = func(_ context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		if task.Task.Answer.Text != "blue" || len(task.State.Messages()) != 1 {
			yield(mapping.Event{}, mapping.Errorf(mapping.Internal, mapping.CodeInternal, "answer %+v, state %s", task.Task.Answer, task.State.JSON()))
			return
		}
		_ = yield(linked("up"), nil) && yield(step(task, 1, "thanks", true), nil) && yield(ended(mapping.RunSuccess), nil)
	}
	b := setup(t, s)
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Run.Kwargs = json.RawMessage(`{}`)
	o.New.Run.Options = mapping.RunOptions{Resuming: true, Resume: json.RawMessage(`"blue"`)}
	es := b.read(t, b.begin(t, o))
	last := es[len(es)-1]
	if last.Head.Outcome.Status != mapping.RunSuccess {
		t.Fatalf("outcome %+v", last.Head.Outcome.Fault)
	}
	if m := last.After.Messages(); len(m) != 2 || !strings.Contains(string(m[0]), `"blue"`) || !strings.Contains(string(m[0]), `"human"`) {
		t.Errorf("messages = %s, want the answer before the step", last.After.JSON())
	}
}

// A run that waits for a run of an earlier process starts when that one ends.
func TestInheritedQueue(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 2)
	s := &script{exposes: mapping.ExposesNothing, run: waiting(started)}
	b := setup(t, s)
	thread := mapping.NewID()
	first := b.begin(t, order(thread, mapping.StrategyReject))
	<-started
	o := order(thread, mapping.StrategyEnqueue)
	o.New.Thread = nil
	queued := b.begin(t, o)
	b.close()
	s.run = func(_ context.Context, t adapter.Assignment, yield func(mapping.Event, error) bool) {
		yield(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}}, nil)
	}
	next := open(t, b.path, s)
	for _, r := range []mapping.Run{first, queued} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		if got, err := next.AwaitInactive(ctx, r); err != nil || got.Status != mapping.RunSuccess {
			t.Errorf("run %s: %s, %v", r.ID, got.Status, err)
		}
		stop()
	}
}
