package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// If no other process writes, waiting for a run does not query the store until there is a notification: AwaitInactive
// for a run that has not begun, Cancel for one that is claimed but not yet executed. Time passes only while all
// goroutines wait.
func TestWaitingForARunDoesNotQueryTheStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claimed bool
		wait    func(*bench, context.Context, mapping.Run) error
	}{
		"settled": {false, func(b *bench, ctx context.Context, r mapping.Run) error {
			_, err := b.AwaitInactive(ctx, r)
			return err
		}},
		"cancel": {true, func(b *bench, ctx context.Context, r mapping.Run) error {
			return b.Cancel(ctx, &r, engine.Cancellation{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, path string) {
				b := open(t, path, &script{exposes: mapping.ExposesNothing, run: lasting})
				o := order(mapping.NewID(), mapping.StrategyReject)
				if o.New.Claim = c.claimed; !c.claimed {
					o.New.Run.RunAfter = time.Now().Add(time.Hour)
				}
				made, err := b.st.Runs.Create(t.Context(), o.New) // as if the engine were about to execute it
				if err != nil {
					t.Fatal(err)
				}
				over := make(chan error, 1)
				go func() { over <- c.wait(b, t.Context(), made.Run) }()
				synctest.Wait()
				_ = b.st.Close()
				time.Sleep(50 * time.Second)
				if len(over) > 0 {
					t.Fatal("it queried without a notification:", <-over)
				}
				b.log.WakeThread(o.New.Run.ThreadID)
				if err := <-over; err == nil {
					t.Error("it did not query after a notification")
				}
			})
		})
	}
}

// The start of a run that had to wait for a slot is announced at once, before any of its events.
func TestStartOfAQueuedRunNotifiesWaiters(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		b := open(t, path, &script{run: lasting}, func(a *config.Agent) { a.Concurrency = 1 })
		first, second := b.begin(t, order(mapping.NewID(), mapping.StrategyReject)), b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
		heard := make(chan time.Time, 1)
		watch := b.log.Watch(second.ThreadID)
		go func() {
			defer watch.Leave()
			for rung := watch.Next(); b.status(t, second) == mapping.RunPending; rung = watch.Next() {
				<-rung
			}
			heard <- time.Now()
		}()
		synctest.Wait()
		ended := time.Now()
		if err := b.Cancel(t.Context(), &first, engine.Cancellation{}); err != nil {
			t.Fatal(err)
		}
		if late := (<-heard).Sub(ended); late > 0 {
			t.Errorf("it was announced after %s", late)
		}
	})
}

// rings fails if the waiters of a thread are not notified of what happens, once everything in the bubble is blocked.
func (b *bench) rings(t *testing.T, thread string, happens func()) {
	t.Helper()
	watch := b.log.Watch(thread)
	defer watch.Leave()
	rung := watch.Next()
	happens()
	synctest.Wait()
	select {
	case <-rung:
	default:
		t.Error("no notification")
	}
}

// Parking a run logs no event.
func TestParkingOfARunNotifiesWaiters(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		steps, goOn := lockstep(2), make(chan struct{})
		b := open(t, path, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, a adapter.Assignment, yield func(mapping.Event, error) bool) {
			steps.run(ctx, a, func(ev mapping.Event, err error) bool {
				if ev.Kind == mapping.KindEnd {
					<-goOn
				}
				return yield(ev, err)
			})
		}})
		r := b.begin(t, lockstepOrder())
		synctest.Wait()
		b.rings(t, r.ThreadID, func() { close(goOn) })
		b.parked(t, r)
	})
}

// The log of a removed run need not be in memory.
func TestRemovalOfAnOldRunNotifiesWaiters(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		b := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
		r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
		b.end(t, r)
		b.close()
		b = open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
		b.rings(t, r.ThreadID, func() {
			if err := b.Cancel(t.Context(), &r, engine.Cancellation{Rollback: true}); err != nil {
				t.Error(err)
			}
		})
	})
}

// While another process ends a run that it was asked to stop, the store is not polled; the end is announced. Polling
// would take much longer in total.
func TestEndOfARunElsewhereNotifiesWaiters(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	asked, goOn := make(chan struct{}), make(chan struct{})
	there := open(t, dsn, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		if yield(linked("up"), nil) {
			<-ctx.Done()
			asked <- struct{}{}
			<-goOn
			yield(mapping.Event{}, context.Cause(ctx))
		}
	}})
	here := open(t, dsn, &script{exposes: mapping.ExposesNothing})
	limit, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	const times = 10
	lasted, looks := time.Duration(0), int64(0)
	for range times {
		r := there.begin(t, order(mapping.NewID(), mapping.StrategyReject))
		ctx, over := storetest.Count(limit), make(chan error, 1)
		go func() { over <- here.Cancel(ctx, &r, engine.Cancellation{}) }()
		<-asked
		looks += ctx.Looks(500, func(ctx context.Context) {
			if _, err := here.st.Runs.Get(ctx, r.ThreadID, r.ID); err != nil {
				t.Error(err)
			}
		})
		let := time.Now()
		goOn <- struct{}{}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		lasted += time.Since(let)
	}
	if lasted > times*time.Second || looks > 3*times { // an event of the run may cause a notification
		t.Errorf("%s until %d ends were noticed, with %d queries", lasted, times, looks)
	}
}
