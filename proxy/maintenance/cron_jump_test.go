package maintenance_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/maintenance"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"go.uber.org/zap"
)

// replica is a process that serves crons with a clock that may be wrong.
type replica struct {
	wrong time.Duration
	st    *store.Store
	crons *maintenance.Crons
}

// replicas serve the crons of one database every minute of a simulated time.
type replicas struct {
	t     *testing.T
	all   []*replica
	now   time.Time
	since time.Time // the last tick

	mu    sync.Mutex
	ticks map[time.Time]int // number of runs per tick
}

func newReplicas(t *testing.T, dsn string, n int) *replicas {
	return newReplicasUntil(t, dsn, n, time.Time{})
}

// newReplicasUntil creates replicas whose cron ends at a time; zero means never.
func newReplicasUntil(t *testing.T, dsn string, n int, end time.Time) *replicas {
	r := &replicas{t: t, now: time.Date(2026, 11, 21, 8, 0, 30, 0, time.UTC), ticks: map[time.Time]int{}}
	start := r.now
	r.since = start
	for range n {
		one := &replica{}
		st, err := store.Open(t.Context(), dsn, store.Options{
			Synchronous: "normal", Passed: func() time.Duration { return r.now.Sub(start) }, Now: func() time.Time { return r.now.Add(one.wrong) },
		}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		one.st, one.crons = st, maintenance.NewCrons(st.Crons, func() config.Auth { return config.Auth{} }, r.tick, zap.NewNop())
		r.all = append(r.all, one)
	}
	c := mapping.Cron{ID: mapping.NewID(), Agent: "a", AssistantID: "a", Schedule: "*/5 * * * *", Enabled: true, End: end}
	c.Next, _ = maintenance.NextTick(c, r.all[0].st.Now())
	if _, err := r.all[0].st.Crons.Create(t.Context(), c, store.IdempotencyKey{}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *replicas) tick(_ context.Context, c mapping.Cron) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticks[c.Next]++
	r.since = r.now
	return nil
}

// pass makes the replicas look every minute and expects a tick at least every five minutes.
func (r *replicas) pass(what string, d time.Duration) {
	r.t.Helper()
	r.look(d, func() {
		if quiet := r.now.Sub(r.since); quiet > 7*time.Minute {
			r.t.Fatalf("%s: no tick for %v", what, quiet)
		}
	})
}

// look makes the replicas look every minute.
func (r *replicas) look(d time.Duration, then func()) {
	r.t.Helper()
	for end := r.now.Add(d); r.now.Before(end); {
		r.now = r.now.Add(time.Minute)
		for _, one := range r.all {
			if err := one.crons.Look(r.t.Context()); err != nil {
				r.t.Fatal(err)
			}
		}
		then()
	}
}

// A cron continues until its end after a clock was temporarily past it.
func TestCronContinuesAfterAClockWasPastItsEnd(t *testing.T) {
	t.Parallel()
	r := newReplicasUntil(t, blank.File(t), 1, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	r.pass("before", 10*time.Minute)
	r.all[0].wrong = 365 * 24 * time.Hour
	r.look(40*time.Minute, func() {})
	r.all[0].wrong = 0
	r.look(10*time.Minute, func() {})
	r.since = r.now
	r.pass("after", 40*time.Minute)
}

// next expects the cron's next tick according to its schedule.
func (r *replicas) next(what string) {
	r.t.Helper()
	list, _, err := r.all[0].st.Crons.List(r.t.Context(), store.CronQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	if want, _ := maintenance.NextTick(list[0], r.now); !list[0].Next.Equal(want) {
		r.t.Errorf("%s: the next tick is at %v, want %v", what, list[0].Next, want)
	}
}

var jumps = []time.Duration{time.Hour, -time.Hour, 365 * 24 * time.Hour, -365 * 24 * time.Hour}

func TestCronsContinueWhileAndAfterAClockIsWrong(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		dsn          func(testing.TB) string
		of, jumpings int
	}{
		"SQLite":                    {blank.File, 1, 1},
		"PostgreSQL, one of two":    {storetest.Schema, 2, 1},
		"PostgreSQL, two of two":    {storetest.Schema, 2, 2},
		"PostgreSQL, the other one": {storetest.Schema, 2, -1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, jump := range jumps {
				r := newReplicas(t, c.dsn(t), c.of)
				wrong := r.all[:max(c.jumpings, 0)]
				if c.jumpings < 0 {
					wrong = r.all[1:]
				}
				set := func(d time.Duration) {
					for _, one := range wrong {
						one.wrong = d
					}
				}
				r.pass("before", 20*time.Minute)
				set(jump)
				r.pass("while it is wrong by "+jump.String(), 40*time.Minute)
				set(0)
				r.pass("after it was wrong by "+jump.String(), 40*time.Minute)
				r.next("after it was wrong by " + jump.String())
			}
		})
	}
}

func TestBrieflyWrongClockMovesNoTick(t *testing.T) {
	t.Parallel()
	for _, jump := range jumps {
		r := newReplicas(t, blank.File(t), 1)
		r.pass("before", 10*time.Minute)
		r.all[0].wrong = jump
		r.pass("while it is wrong", 3*time.Minute)
		r.all[0].wrong = 0
		r.pass("after", 27*time.Minute)
		r.next("after")
		for at, n := range r.ticks {
			if n != 1 || at.Before(r.now.Add(-time.Hour)) || at.After(r.now) {
				t.Errorf("a jump of %v: %d ticks for %v", jump, n, at)
			}
		}
		if len(r.ticks) != 8 {
			t.Errorf("a jump of %v: %d ticks in 40 minutes", jump, len(r.ticks))
		}
	}
}
