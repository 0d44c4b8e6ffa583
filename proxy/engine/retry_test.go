package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/google/go-cmp/cmp"
)

// failing yields one step and then an error, the first n times it is called.
func failing(n int, err error) *script {
	s := &script{exposes: mapping.ExposesNothing}
	s.run = func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		if s.runs.Load() > int64(n) {
			_ = yield(linked("good"), nil) && yield(step(task, task.Done+1, "done", true), nil) && yield(ended(mapping.RunSuccess), nil)
			return
		}
		if yield(linked("bad"), nil) && yield(step(task, task.Done+1, "lost", false), nil) {
			yield(mapping.Event{}, err)
		}
	}
	return s
}

func retried(n int, unknown bool) func(*mapping.RunOptions) {
	return func(o *mapping.RunOptions) { o.Retries, o.RetryUnknown = n, unknown }
}

func TestRetriesByCode(t *testing.T) {
	t.Parallel()
	fail := func(class mapping.Class, code string) error { return mapping.Errorf(class, code, "it broke") }
	for name, tc := range map[string]struct {
		err     error
		options func(*mapping.RunOptions)
		runs    int64
		status  mapping.RunStatus
	}{
		"not requested":               {fail(mapping.Upstream, mapping.CodeUpstreamError), retried(0, false), 1, mapping.RunError},
		"the agent failed":            {fail(mapping.Upstream, mapping.CodeUpstreamError), retried(3, false), 3, mapping.RunSuccess},
		"the agent is unreachable":    {fail(mapping.Upstream, mapping.CodeUpstreamUnreachable), retried(2, false), 3, mapping.RunSuccess},
		"a bad answer":                {fail(mapping.Upstream, mapping.CodeBadUpstream), retried(2, false), 3, mapping.RunSuccess},
		"a slow step":                 {fail(mapping.Timeout, mapping.CodeStepTimeout), retried(5, false), 1, mapping.RunTimeout},
		"a slow step, and requested":  {fail(mapping.Timeout, mapping.CodeStepTimeout), retried(5, true), 3, mapping.RunSuccess},
		"used up":                     {fail(mapping.Upstream, mapping.CodeUpstreamError), retried(1, false), 2, mapping.RunError},
		"invalid input":               {fail(mapping.Invalid, mapping.CodeInvalid), retried(5, true), 1, mapping.RunError},
		"too many steps":              {fail(mapping.Upstream, mapping.CodeStepLimit), retried(5, true), 1, mapping.RunError},
		"our own fault":               {fail(mapping.Internal, mapping.CodeInternal), retried(5, true), 1, mapping.RunError},
		"perhaps done":                {fail(mapping.Upstream, mapping.CodeOutcomeUnknown), retried(5, false), 1, mapping.RunError},
		"perhaps done, and requested": {fail(mapping.Upstream, mapping.CodeOutcomeUnknown), retried(5, true), 3, mapping.RunSuccess},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := failing(2, tc.err)
			b := setup(t, s)
			o := order(mapping.NewID(), mapping.StrategyReject)
			tc.options(&o.New.Run.Options)
			if out := b.end(t, b.begin(t, o)); out.Status != tc.status || s.runs.Load() != tc.runs {
				t.Errorf("ended %s after %d attempts, want %s after %d", out.Status, s.runs.Load(), tc.status, tc.runs)
			}
		})
	}
}

func TestRetriedRunStartsOverAndLogsIt(t *testing.T) {
	t.Parallel()
	var links []string
	var after [][]mapping.Event
	var states []string
	s := failing(1, mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "it broke"))
	inner := s.run
	s.run = func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		links, after, states = append(links, task.Link.Remote), append(after, slices.Clone(task.After)), append(states, string(task.State.JSON()))
		if task.InDoubt {
			t.Error("a new attempt is marked as having an open call")
		}
		inner(ctx, task, yield)
	}
	b := setup(t, s)
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Run.Options.Retries = 1
	r := b.begin(t, o)
	es := b.read(t, r)
	var kinds []mapping.Kind
	for _, e := range es {
		kinds = append(kinds, e.Kind)
	}
	want := []mapping.Kind{
		mapping.KindStarted, mapping.KindState, mapping.KindInput, mapping.KindLinked, mapping.KindUpdate, // the first attempt
		mapping.KindState, mapping.KindStarted, mapping.KindLinked, mapping.KindUpdate, mapping.KindEnd,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	if es[6].Head.Attempt != 2 {
		t.Errorf("the second start has attempt %d", es[6].Head.Attempt)
	}
	if diff := cmp.Diff([]string{"", ""}, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if states[0] != states[1] {
		t.Errorf("the state at the second start is %s, at the first %s", states[1], states[0])
	}
	if n := len(after[1]); n != 7 || after[1][n-1].Head.Attempt != 2 {
		t.Errorf("the second attempt received %d events, want the 7 before it", n)
	}
	if n := len(es[len(es)-1].After.Messages()); n != 2 {
		t.Errorf("%d messages at the end, want the question and the one answer: %s", n, es[len(es)-1].After.JSON())
	}
	if id1, id2 := es[4].Event, es[8].Event; string(id1.Data) == string(id2.Data) {
		t.Errorf("two steps of one task are the same: %s", id1.Data)
	}
	fresh, err := b.st.Runs.Get(t.Context(), r.ThreadID, r.ID)
	if err != nil || fresh.Attempt != 2 || fresh.Status != mapping.RunSuccess {
		t.Errorf("run %+v, %v", fresh, err)
	}
	if l, err := b.st.Links.Get(t.Context(), r.ThreadID, "a", r.TaskID); err != nil || l.Remote != "good" {
		t.Errorf("link %+v, %v", l, err)
	}
	cold := b.restart(t, s).read(t, r)
	for i := range es {
		if string(cold[i].After.JSON()) != string(es[i].After.JSON()) {
			t.Errorf("entry %d read back:\n%s\n%s", i, cold[i].After.JSON(), es[i].After.JSON())
		}
	}
}

// restart returns another process over the same database.
func (b *bench) restart(t *testing.T, s *script) *bench {
	t.Helper()
	path := b.path
	b.close()
	return open(t, path, s)
}

func TestRetriedRunGetsTheStateItBeganWith(t *testing.T) {
	t.Parallel()
	state := func(v string) mapping.Event {
		return mapping.Event{Kind: mapping.KindState, Data: json.RawMessage(v), Head: mapping.Head{Full: true, Name: "values",
			Checkpoint: &mapping.Checkpoint{Source: "loop", Remote: v}}}
	}
	var values []string
	s := &script{}
	s.run = func(_ context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		values = append(values, task.Link.Remote+string(task.Graph.Values))
		switch s.runs.Load() {
		case 1:
			_ = yield(linked("one"), nil) && yield(state(`{"n":1}`), nil) && yield(ended(mapping.RunSuccess), nil)
		case 2:
			_ = yield(state(`{"n":2,"half":true}`), nil) && yield(mapping.Event{}, mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "it broke"))
		default:
			_ = yield(linked("two"), nil) && yield(state(`{"n":2}`), nil) && yield(ended(mapping.RunSuccess), nil)
		}
	}
	b := setup(t, s)
	thread := mapping.NewID()
	b.end(t, b.begin(t, order(thread, mapping.StrategyReject)))
	o := order(thread, mapping.StrategyReject)
	o.New.Run.Options.Retries = 1
	es := b.read(t, b.begin(t, o))
	last := es[len(es)-1]
	if last.Head.Outcome.Status != mapping.RunSuccess || string(last.After.JSON()) != `{"n":2}` {
		t.Errorf("ended %+v with %s", last.Head.Outcome, last.After.JSON())
	}
	if len(values) != 3 || values[2] != `{"n":1}` {
		t.Errorf("the attempts received %q; the last should start with {\"n\":1}", values)
	}
}

func TestUnreachableAgentIsRetried(t *testing.T) {
	t.Parallel()
	s := &script{exposes: mapping.ExposesNothing, run: twoSteps}
	b := open(t, t.TempDir()+"/bridge.db", &away{script: s, n: 2})
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Run.Options.Retries = 2
	es := b.read(t, b.begin(t, o))
	if out := es[len(es)-1].Head.Outcome; out.Status != mapping.RunSuccess || len(es[len(es)-1].After.Messages()) != 3 {
		t.Errorf("ended %+v with %s", out, es[len(es)-1].After.JSON())
	}
}

// away is an agent whose dialect cannot be queried the first n times.
type away struct {
	*script
	n int
}

func (a *away) Resolve(context.Context) (adapter.Backend, error) {
	if a.n--; a.n >= 0 {
		return nil, mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable, "nobody there")
	}
	return a.script, nil
}

func TestPermanentFailuresAreNotRetried(t *testing.T) {
	t.Parallel()
	t.Run("a cancellation", func(t *testing.T) {
		t.Parallel()
		started := make(chan struct{}, 1)
		s := &script{exposes: mapping.ExposesNothing, run: waiting(started)}
		b := setup(t, s)
		o := order(mapping.NewID(), mapping.StrategyReject)
		o.New.Run.Options.Retries = 3
		r := b.begin(t, o)
		<-started
		if err := b.Cancel(t.Context(), &r, engine.Cancellation{}); err != nil || s.runs.Load() != 1 {
			t.Errorf("cancel returned %v after %d attempts", err, s.runs.Load())
		}
	})
	t.Run("run_timeout", func(t *testing.T) {
		t.Parallel()
		s := &script{exposes: mapping.ExposesNothing, run: waiting(make(chan struct{}, 1))}
		b := setup(t, s, func(a *config.Agent) { a.RunTimeout = 2 * time.Second })
		o := order(mapping.NewID(), mapping.StrategyReject)
		o.New.Run.Options.Retries = 3
		if out := b.end(t, b.begin(t, o)); out.Status != mapping.RunTimeout || s.runs.Load() != 1 {
			t.Errorf("ended %+v after %d attempts", out, s.runs.Load())
		}
	})
	t.Run("a lockstep run during a task", func(t *testing.T) {
		t.Parallel()
		s := failing(1, mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "it broke"))
		b := setup(t, s)
		o := order(mapping.NewID(), mapping.StrategyReject)
		o.New.Run.Options.Retries, o.New.Run.Options.Stepping = 3, mapping.SteppingLockstep
		if out := b.end(t, b.begin(t, o)); out.Status != mapping.RunError || s.runs.Load() != 1 {
			t.Errorf("ended %+v after %d attempts", out, s.runs.Load())
		}
	})
}
