package maintenance_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// These tests run on a fake clock (testing/synctest), so that sleeping costs nothing, including the retention's.

func bubble(t *testing.T, f func(t *testing.T, path string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) { f(t, path) })
}

// stateless makes a run whose thread is deleted some time after it.
func stateless(o *engine.StartRequest) *engine.StartRequest {
	o.New.Run.Options.Temporary = true
	return o
}

// passing makes a run with on_completion: delete.
func passing(o *engine.StartRequest) *engine.StartRequest {
	o.New.Run.Options.DeleteAfter = true
	return o
}

func (b *harness) there(threadID string) bool {
	_, err := b.st.Threads.Get(context.Background(), threadID)
	return err == nil
}

// expiring creates a thread with a time to live.
func (b *harness) expiring(t *testing.T, ttl time.Duration) string {
	t.Helper()
	th, _, err := b.st.Threads.Create(t.Context(), store.ThreadCreation{Thread: mapping.Thread{ID: mapping.NewID(), Expires: time.Now().Add(ttl)}})
	if err != nil {
		t.Fatal(err)
	}
	return th.ID
}

func (b *harness) want(t *testing.T, threadID string, there bool, when string) {
	t.Helper()
	synctest.Wait()
	if b.there(threadID) != there {
		t.Errorf("%s: thread is there: %v", when, !there)
	}
}

func TestTemporaryRunIsDeletedFiveSecondsAfterItsEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		b := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
		defer b.close()
		r := b.begin(t, passing(order(mapping.NewID(), mapping.StrategyReject)))
		b.end(t, r)
		time.Sleep(4 * time.Second)
		b.want(t, r.ThreadID, true, "after 4 s")
		time.Sleep(3 * time.Second)
		b.want(t, r.ThreadID, false, "after 7 s")
		if _, ok := b.log.Lookup(r.ID); ok {
			t.Error("the run is still in memory")
		}
	})
}

// Followers of a thread are notified of its deletion, even if it never had a run.
func TestFollowersAreNotifiedOfTheExpiry(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		b := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
		defer b.close()
		begun := time.Now()
		thread := b.expiring(t, 90*time.Second)
		for _, err := range b.log.FollowThread(t.Context(), thread, 0, nil) {
			if late := time.Since(begun) - 90*time.Second; mapping.Classify(err).Class != mapping.NotFound || late > 5*time.Second {
				t.Errorf("%s after its expiry: %v", late, err)
			}
		}
	})
}

// Lists of runs show the run for an hour, and why it failed if it did.
func TestStatelessRunIsKeptForAnHour(t *testing.T) {
	t.Parallel()
	failing := func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil) && yield(ended(mapping.RunError), nil)
	}
	for name, tt := range map[string]struct {
		script script
		order  func(*engine.StartRequest) *engine.StartRequest
	}{
		"succeeded":                 {script{exposes: mapping.ExposesNothing, run: twoSteps}, stateless},
		"failed":                    {script{exposes: mapping.ExposesNothing, run: failing}, stateless},
		"to be deleted, and failed": {script{exposes: mapping.ExposesNothing, run: failing}, passing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, path string) {
				b := open(t, path, &tt.script)
				defer b.close()
				r := b.begin(t, tt.order(order(mapping.NewID(), mapping.StrategyReject)))
				b.end(t, r)
				time.Sleep(59 * time.Minute)
				b.want(t, r.ThreadID, true, "after 59 minutes")
				time.Sleep(2 * time.Minute)
				b.want(t, r.ThreadID, false, "after 61 minutes")
			})
		})
	}
}

func TestExpirySurvivesARestart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		b := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
		r := b.begin(t, passing(order(mapping.NewID(), mapping.StrategyReject)))
		b.end(t, r)
		ttl, long := b.expiring(t, time.Hour), b.expiring(t, 3*time.Hour)
		b.close()
		time.Sleep(2 * time.Hour)
		b = open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
		defer b.close()
		b.want(t, r.ThreadID, false, "after the restart")
		b.want(t, ttl, false, "after the restart")
		b.want(t, long, true, "after the restart")
		time.Sleep(time.Hour + 2*time.Second)
		b.want(t, long, false, "after its time")
	})
}

func TestActiveThreadIsNotSwept(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		goOn := make(chan struct{})
		b := open(t, path, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
			<-goOn
			twoSteps(ctx, task, yield)
		}}, func(a *config.Agent) { a.RunTimeout = 0 })
		defer b.close()
		thread := b.expiring(t, time.Minute)
		r := b.begin(t, order(thread, mapping.StrategyReject))
		time.Sleep(10 * time.Minute)
		b.want(t, thread, true, "during a run")
		close(goOn)
		b.end(t, r)
		time.Sleep(2 * time.Minute)
		b.want(t, thread, false, "after the run")
	})
}

func TestReadersGetTheEndBeforeDeletion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		passing bool
		kept    time.Duration // with a reader that never continues
	}{"on_completion delete": {true, 14 * time.Second}, "time to live": {false, 20 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, path string) {
				b := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
				defer b.close()
				o := order(b.expiring(t, 5*time.Second), mapping.StrategyReject)
				if c.passing {
					o = passing(order(mapping.NewID(), mapping.StrategyReject))
				}
				r := b.begin(t, o)
				ctx, leave := context.WithCancel(t.Context())
				left := make(chan struct{})
				go func() {
					defer close(left)
					for range b.log.Follow(ctx, &r, 0, nil) {
						<-ctx.Done() // does not continue reading
						return
					}
				}()
				time.Sleep(c.kept)
				b.want(t, r.ThreadID, true, "while it is read")
				if c.passing {
					time.Sleep(3 * time.Second)
					b.want(t, r.ThreadID, false, "though it is read")
				}
				leave()
				<-left
				time.Sleep(2 * time.Second)
				b.want(t, r.ThreadID, false, "once the reader left")
			})
		})
	}
}

func keeping(t *testing.T, path string, keep config.Retention) *harness {
	t.Helper()
	cfg := config.Default()
	cfg.Retention = keep
	return assemble(t, path, cfg, engine.NewAgent("a", config.DefaultAgent(), &script{exposes: mapping.ExposesNothing, run: withTokens}))
}

func withTokens(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
	token := mapping.Event{Kind: mapping.KindDelta, Data: []byte(`[{"type":"AIMessageChunk","content":"t"},{}]`)}
	if yield(linked("up"), nil) && yield(token, nil) && yield(token, nil) {
		_ = yield(step(task, 1, "one", true), nil) && yield(ended(mapping.RunSuccess), nil)
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep        config.Retention
		there       bool
		events      int
		checkpoints int
	}{
		"for ever":    {config.Retention{}, true, 8, 3},
		"events":      {config.Retention{Events: 2 * time.Hour}, true, 6, 3},
		"checkpoints": {config.Retention{Checkpoints: 2 * time.Hour}, true, 8, 1},
		"threads":     {config.Retention{Threads: 2 * time.Hour}, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, path string) {
				b := keeping(t, path, c.keep)
				defer b.close()
				r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
				b.end(t, r)
				time.Sleep(100 * time.Minute)
				young := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
				b.end(t, young)
				count := func(r mapping.Run) int {
					evs, _ := b.st.Events.List(t.Context(), r.ThreadID, r.ID, 0, 0)
					return len(evs)
				}
				if n := count(r); n != 8 {
					t.Errorf("%d events within the time, want 8", n)
				}
				time.Sleep(90 * time.Minute)
				b.want(t, r.ThreadID, c.there, "after its time")
				b.want(t, young.ThreadID, true, "within its time")
				if n := count(r); n != c.events {
					t.Errorf("%d events after the time, want %d", n, c.events)
				}
				if list, _ := b.st.States.Checkpoints(t.Context(), r.ThreadID, store.CheckpointQuery{}); len(list) != c.checkpoints {
					t.Errorf("%d checkpoints after the time, want %d", len(list), c.checkpoints)
				}
				if n := count(young); n != 8 {
					t.Errorf("%d events of a young run, want 8", n)
				}
			})
		})
	}
}

// A time to live with keep_latest removes the older states and keeps the thread, after its run has ended and its
// question is answered.
func TestKeepLatestDropsOnlyOlderStates(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		b := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
		defer b.close()
		thread := mapping.NewID()
		b.end(t, b.begin(t, order(thread, mapping.StrategyReject)))
		checkpoints := func() int {
			list, err := b.st.States.Checkpoints(t.Context(), thread, store.CheckpointQuery{})
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		th, err := b.st.Threads.Patch(t.Context(), thread, nil, &store.Expire{At: time.Now().Add(time.Minute), KeepLatest: true})
		if err != nil || !th.KeepLatest {
			t.Fatalf("%+v, %v", th, err)
		}
		before, was := b.cold(t), checkpoints()
		state, _, err := before.State(t.Context(), thread, "")
		if err != nil || was < 2 {
			t.Fatalf("%d checkpoints, %v", was, err)
		}
		b.close()
		b = open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
		time.Sleep(2 * time.Minute)
		b.want(t, thread, true, "after its time")
		if n := checkpoints(); n != 1 {
			t.Errorf("%d of %d checkpoints left, want the newest", n, was)
		}
		after, _, err := b.cold(t).State(t.Context(), thread, "")
		if err != nil || string(after.JSON()) != string(state.JSON()) {
			t.Errorf("the state was %s and is %s, %v", state.JSON(), after.JSON(), err)
		}
		if th, err := b.st.Threads.Get(t.Context(), thread); err != nil || !th.Expires.IsZero() || th.KeepLatest {
			t.Errorf("the expiry was not cleared: %+v, %v", th, err)
		}
		b.end(t, b.begin(t, order(thread, mapping.StrategyReject)))
	})
}
