package stepping_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
)

// givesUpAfter is the idle timeout of the tests below.
const givesUpAfter = 10 * time.Minute

// impatient is a bridge over a file, which must be outside of the test's bubble.
func impatient(t *testing.T, path string) *bench {
	return &bench{servicetest.At(t, path, func(cfg *config.Config) {
		a := cfg.Agents["legacy"]
		a.Stepping.Idle, a.StepTimeout, a.RunTimeout = givesUpAfter, time.Hour, 0
		cfg.Agents["legacy"] = a
	})}
}

// served requests a step that takes its agent d.
func (b *bench) served(t *testing.T, ref adapter.TaskRef, d time.Duration) {
	t.Helper()
	steps := servicetest.Lockstep(3)
	b.Legacy.Does(func(ctx context.Context, a adapter.Assignment, yield servicetest.Yielder) {
		select {
		case <-time.After(d):
			steps(ctx, a, yield)
		case <-ctx.Done():
			t.Error("cancelled before its agent had finished:", context.Cause(ctx))
		}
	})
	if err := <-b.asks(t.Context(), ref); err != nil {
		t.Error(err)
	}
}

// A step may take longer than the idle timeout, which begins when a step has been handed out.
func TestTaskIsNotCancelledWhileAStepIsServed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		away time.Duration
		want mapping.ThreadStatus
	}{
		"a client that comes back in time": {givesUpAfter - time.Minute, mapping.ThreadInterrupted},
		"a client that has gone":           {givesUpAfter + time.Minute, mapping.ThreadIdle},
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := impatient(t, path)
				task, ref := b.Task(t, t.Context(), "legacy", "do it")
				b.served(t, ref, 0)
				b.served(t, ref, givesUpAfter+time.Minute)
				time.Sleep(c.away)
				synctest.Wait()
				thread, err := b.GetThread(t.Context(), task.ThreadID)
				if err != nil || thread.Status != c.want {
					t.Errorf("the thread is %s, want %s (%v)", thread.Status, c.want, err)
				}
			})
		})
	}
}
