package service_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// A process over PostgreSQL whose machine has a wrong time uses the database's time for everything it stores. The clock
// of this test's machine is 26 years behind (testing/synctest) and stands still during queries.
func TestProcessWithAWrongClockUsesTheDatabaseTime(t *testing.T) {
	t.Parallel()
	dsn, real := storetest.Schema(t), time.Now()
	synctest.Test(t, func(t *testing.T) {
		w := wind(t, dsn, cronAgent{})
		defer w.close()
		ctx := t.Context()
		near := func(what string, got time.Time, from, to time.Duration) {
			t.Helper()
			if early := real.Add(from); got.Before(early) || got.After(early.Add(to-from+time.Hour)) {
				t.Errorf("%s: %v, want about %v", what, got, real)
			}
		}
		c := w.cron(t, everyHour())
		near("next tick", c.Next, 0, time.Hour)
		near("cron", c.CreatedAt, 0, 0)
		th, err := w.CreateThread(ctx, adapter.ThreadRequest{TTL: 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		near("thread's end", th.Expires, 24*time.Hour, 24*time.Hour)
		near("thread", th.CreatedAt, 0, 0)
		ttl := 48 * time.Hour
		if th, err = w.PatchThread(ctx, th.ID, adapter.ThreadPatch{TTL: &ttl}); err != nil {
			t.Fatal(err)
		}
		near("thread's later end", th.Expires, ttl, ttl)
		at, err := w.UpdateState(ctx, th.ID, adapter.StateUpdate{Values: json.RawMessage(`{"messages":[]}`)})
		if err != nil {
			t.Fatal(err)
		}
		near("state", at.CreatedAt, 0, 0)
		n := everyHour().Run
		n.ThreadID, n.RunAfter = th.ID, 24*time.Hour
		delayed, err := w.StartRun(ctx, &n)
		if err != nil {
			t.Fatal(err)
		}
		near("delayed run", delayed.Run.RunAfter, 24*time.Hour, 24*time.Hour)
		n = everyHour().Run
		n.ThreadID, n.IfNotExists = mapping.NewID(), "create"
		run, err := w.StartRun(ctx, &n)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range w.RunEvents(ctx, adapter.RunRef{ThreadID: run.Run.ThreadID, RunID: run.Run.ID}, adapter.Cursor{Start: true}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			near("event "+string(e.Kind), e.At, 0, 0)
		}
	})
}
