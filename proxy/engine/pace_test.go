package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// TestStepsOfASlowAgentAreDurableBeforeTheNextOne: the backend asks the store
// itself what is logged when it would ask for the next step.
func TestStepsOfASlowAgentAreDurableBeforeTheNextOne(t *testing.T) {
	t.Parallel()
	var b *bench
	var took time.Duration
	var missing int
	s := &script{opaque: true}
	s.run = func(ctx context.Context, task adapter.Task, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		for n := 1; n < 4; n++ {
			<-time.After(took) // the time of an agent's step is what is tested
			if !yield(step(task, n, "x", false), nil) {
				return
			}
			evs, err := b.st.Events(ctx, task.Run.ThreadID, task.Run.ID, 0, 0)
			if err != nil || len(evs) == 0 || evs[len(evs)-1].Kind != mapping.KindUpdate {
				missing++
			}
		}
		_ = yield(step(task, 4, "x", true), nil) && yield(ended(mapping.RunSuccess), nil)
	}
	b = setup(t, s)
	run := func() (ahead bool) {
		es := b.read(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject)))
		return es[0].Head.Ahead
	}
	took = 40 * time.Millisecond
	if run() || missing != 0 {
		t.Errorf("the first run of an agent ran ahead; %d steps were not durable in time", missing)
	}
	if run() || missing != 0 {
		t.Errorf("a slow agent's run ran ahead; %d steps were not durable in time", missing)
	}
	took = 0
	for range 20 {
		run()
	}
	if !run() {
		t.Error("a quick agent's run says that it does not run ahead of its log")
	}
}

// TestStepsThatNobodyFollowsAreWrittenTogether: a transaction for each of an agent's
// quick steps is for those who want each as it comes.
func TestStepsThatNobodyFollowsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	var b *bench
	var written bool // before the step after it was asked for
	s := &script{opaque: true}
	s.run = func(ctx context.Context, task adapter.Task, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		if !yield(step(task, 1, "x", false), nil) {
			return
		}
		<-time.After(8 * time.Millisecond) // a quick agent's step; far longer than who follows waits
		evs, err := b.st.Events(ctx, task.Run.ThreadID, task.Run.ID, 0, 0)
		written = err == nil && len(evs) > 0 && evs[len(evs)-1].Kind == mapping.KindUpdate
		_ = yield(step(task, 2, "x", true), nil) && yield(ended(mapping.RunSuccess), nil)
	}
	b = setup(t, s)
	run := func(follow bool) bool {
		r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
		if follow {
			b.read(t, r)
		} else if _, err := b.log.End(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		return written
	}
	run(false) // the agent is quick from here on
	together, apart := 0, 0
	for range 20 { // what a busy machine delays is not what is looked for
		if !run(false) {
			together++
		}
		if run(true) {
			apart++
		}
	}
	if together == 0 {
		t.Error("a step that nobody waits for was never written with the one after it")
	}
	if apart == 0 {
		t.Error("a step that somebody follows always waited for the one after it")
	}
}

// TestWhoBeginsToFollowDoesNotWaitLikeNobody: a step that was to wait for others,
// because nobody followed, is written soon when somebody does. A v1 client follows
// from one POST for a step to its answer only.
func TestWhoBeginsToFollowDoesNotWaitLikeNobody(t *testing.T) {
	t.Parallel()
	queued, seen := make(chan time.Time, 1), make(chan struct{})
	s := &script{opaque: true}
	s.run = func(ctx context.Context, task adapter.Task, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		if !yield(step(task, 1, "x", false), nil) {
			return
		}
		queued <- time.Now()
		<-seen
		_ = yield(step(task, 2, "x", true), nil) && yield(ended(mapping.RunSuccess), nil)
	}
	b := setup(t, s)
	run := func() (took time.Duration, ahead bool) {
		r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
		began := <-queued
		for e, err := range b.log.Follow(t.Context(), r, 0, nil) {
			if err != nil {
				t.Fatal(err)
			}
			ahead = ahead || e.Head.Ahead
			if e.Kind == mapping.KindUpdate && took == 0 {
				took = time.Since(began)
				seen <- struct{}{}
			}
		}
		return took, ahead
	}
	var all []time.Duration
	for range 10 { // what a busy machine delays is not what is looked for
		if took, ahead := run(); ahead {
			all = append(all, took)
		}
	}
	if len(all) < 5 || slices.Min(all) > 15*time.Millisecond {
		t.Errorf("the step came after %v", all)
	}
}
