package engine_test

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
)

// bubble runs f on a fake clock, so that sleeping costs nothing.
func bubble(t *testing.T, f func(t *testing.T, path string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) { f(t, path) })
}

// freely makes a run whose steps are handed out while it continues.
func freely(o *engine.StartRequest) *engine.StartRequest {
	o.New.Run.Options.Stepping = mapping.SteppingFree
	return o
}

func lasting(ctx context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
	if yield(linked("up"), nil) {
		<-ctx.Done()
		yield(mapping.Event{}, context.Cause(ctx))
	}
}

// settled returns the run's status once everything in the bubble is blocked.
func (b *bench) settled(t *testing.T, r mapping.Run) mapping.RunStatus {
	t.Helper()
	synctest.Wait()
	return b.status(t, r)
}

func TestFreeRunWithoutAClientAfterARestartIsCancelled(t *testing.T) {
	t.Parallel()
	idle := func(a *config.Agent) { a.Stepping.Idle, a.RunTimeout = 10*time.Minute, 0 }
	for name, c := range map[string]struct {
		away, left time.Duration
		pulled     bool
		want       mapping.RunStatus
	}{
		"at once":                       {0, 9 * time.Minute, false, mapping.RunRunning},
		"after its time":                {0, 11 * time.Minute, false, mapping.RunInterrupted},
		"the time without us counts":    {5 * time.Minute, 6 * time.Minute, false, mapping.RunInterrupted},
		"but the client may return":     {time.Hour, 50 * time.Second, false, mapping.RunRunning},
		"which takes little time":       {time.Hour, 70 * time.Second, false, mapping.RunInterrupted},
		"a step is requested":           {0, time.Hour, true, mapping.RunRunning},
		"a client returns just in time": {time.Hour, time.Hour, true, mapping.RunRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, path string) {
				b := open(t, path, &script{exposes: mapping.ExposesNothing, run: lasting}, idle)
				r := b.begin(t, freely(order(mapping.NewID(), mapping.StrategyReject)))
				other := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
				synctest.Wait()
				b.close()
				time.Sleep(c.away)
				b = open(t, path, &script{exposes: mapping.ExposesNothing, run: lasting}, idle)
				defer b.close()
				if c.pulled {
					b.StopIdleTimer(r.ID)
				}
				time.Sleep(c.left)
				if got := b.settled(t, r); got != c.want {
					t.Errorf("run is %s, want %s", got, c.want)
				}
				if got := b.settled(t, other); got != mapping.RunRunning {
					t.Errorf("a run without a pulling client is %s", got)
				}
			})
		})
	}
}

// abandoned is a parked run without a timer in this process, like one that another process has parked.
func (b *bench) abandoned(t *testing.T) mapping.Run {
	t.Helper()
	r := b.parked(t, b.begin(t, lockstepOrder()))
	synctest.Wait()
	b.StopIdleTimer(r.ID)
	return r
}

// A check once a minute repeatedly finds runs that other processes have parked. It does not restart existing timers.
func TestParkedRunsOfOtherProcessesAreWatched(t *testing.T) {
	t.Parallel()
	const idle = 10 * time.Minute
	bubble(t, func(t *testing.T, path string) {
		b := open(t, path, lockstep(3), func(a *config.Agent) { a.Stepping.Idle = idle })
		defer b.close()
		ctx, stop := context.WithCancel(t.Context())
		watched := make(chan struct{})
		go func() { defer close(watched); b.KeepWatchingIdle(ctx) }()
		for range 2 {
			time.Sleep(30 * time.Second) // parked between two checks
			r := b.abandoned(t)
			time.Sleep(idle - 10*time.Second)
			if got := b.settled(t, r); got != mapping.RunRunning {
				t.Errorf("the run is %s before its timeout", got)
			}
			time.Sleep(20 * time.Second)
			if got := b.settled(t, r); got != mapping.RunInterrupted {
				t.Errorf("the run is %s after its timeout", got)
			}
		}
		stop()
		<-watched
	})
}

// The timer was restarted after a failed cancellation and does not notice that it was stopped.
func TestRunWhoseClientReturnsAsItsTimerFiresIsNotCancelled(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		b := open(t, path, &script{exposes: mapping.ExposesNothing, run: lasting}, func(a *config.Agent) { a.RunTimeout = 0 })
		defer b.close()
		r := b.begin(t, lockstepOrder())
		synctest.Wait()
		b.IdleOver(r)
		if got := b.settled(t, r); got != mapping.RunRunning {
			t.Errorf("the run is %s while one of its steps is served", got)
		}
		time.Sleep(time.Hour)
		if got := b.settled(t, r); got != mapping.RunRunning {
			t.Errorf("the run is %s when the step takes long", got)
		}
	})
}
