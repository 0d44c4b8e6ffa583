package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// pair returns two processes that use one database.
func pair(t *testing.T) (a, b *harness) {
	t.Helper()
	dsn := storetest.Schema(t)
	return openAt(t, dsn, store.Options{Synchronous: "normal"}), openAt(t, dsn, store.Options{Synchronous: "normal"})
}

// behind runs a statement directly on the database.
func behind(t testing.TB, dsn, text string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), text, args...); err != nil {
		t.Fatal(err)
	}
}

func TestManyProcessesMayOpenAtOnce(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), dsn, store.Options{}, zap.NewNop())
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = s.Close() })
		})
	}
	wg.Wait()
}

// TestNewerSchemaIsRefused checks that an older program leaves the database of a newer one alone (C7).
func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	openAt(t, dsn, store.Options{})
	behind(t, dsn, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)`)
	_, err := store.Open(t.Context(), dsn, store.Options{}, zap.NewNop())
	wantClass(t, err, mapping.Unavailable, "")
	if !strings.Contains(err.Error(), "schema 999") || !strings.Contains(err.Error(), "Use that version") {
		t.Errorf("refused with %v", err)
	}
}

// TestOneActiveRunPerThreadOverProcesses creates runs on one thread from two processes concurrently (C1).
func TestOneActiveRunPerThreadOverProcesses(t *testing.T) {
	t.Parallel()
	for _, strategy := range []mapping.Strategy{mapping.StrategyReject, mapping.StrategyEnqueue, mapping.StrategyInterrupt, mapping.StrategyRollback, mapping.StrategyConcurrent} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			thread := a.thread().ID
			var wg sync.WaitGroup
			var mu sync.Mutex
			claimed, pending, refused := 0, 0, 0
			for i := range 16 {
				wg.Go(func() {
					s := []*harness{a, b}[i%2]
					c, err := s.Runs.Create(s.ctx, newRun(thread, strategy))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case mapping.Classify(err).Class == mapping.Conflict && err != nil:
						refused++
					case err != nil:
						t.Error(err)
					case c.Claimed != nil:
						claimed++
					default:
						pending++
					}
				})
			}
			wg.Wait()
			want := [3]int{1, 15, 0}
			switch strategy {
			case mapping.StrategyReject:
				want = [3]int{1, 0, 15}
			case mapping.StrategyConcurrent:
				want = [3]int{16, 0, 0}
			}
			if got := [3]int{claimed, pending, refused}; got != want {
				t.Fatalf("claimed, pending, refused: %v, want %v", got, want)
			}
			if last, err := a.Events.LastSeq(a.ctx, thread); err != nil || last != int64(claimed) {
				t.Fatalf("%d events, %v", last, err)
			}
		})
	}
}

func TestPendingRunsAreClaimedOnceOverProcesses(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	for range 20 {
		n := newThreadRun()
		n.Claim = false
		a.create(n)
	}
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			ids, _, _ := []*harness{a, b}[i%2].claims()
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				got[id]++
			}
		})
	}
	wg.Wait()
	for id, n := range got {
		if n != 1 {
			t.Errorf("run %s was claimed %d times", id, n)
		}
	}
	if len(got) != 20 {
		t.Errorf("%d of 20 runs were claimed", len(got))
	}
}

// TestExpiredLeaseIsTakenOver checks that a run with an expired lease can be claimed, and that its former holder can no
// longer change anything (C2, C3).
func TestExpiredLeaseIsTakenOver(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	c := a.create(newThreadRun())
	a.append(c, update(`{"a":1}`))
	a.ok(a.Beat(a.ctx, time.Minute))
	b.ok(b.Beat(b.ctx, time.Minute))
	if ids, _, _ := b.claims(); len(ids) != 0 {
		t.Fatal("a run with a valid lease was taken")
	}
	a.ok(a.Beat(a.ctx, time.Microsecond))
	b.ok(b.Beat(b.ctx, time.Minute))
	ids, taken, _ := b.claims()
	if d := cmp.Diff([]string{c.Run.ID}, ids); d != "" || !taken.Taken || len(taken.Logged) != 2 || taken.Fence != 2 {
		t.Fatal(d, taken)
	}
	_, _, err := a.Events.Append(a.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{update(`{"a":2}`)}})
	if !errors.Is(err, store.ErrFenced) {
		t.Fatal(err)
	}
	if err := a.Claims.Release(a.ctx, c.Run.ID, c.Claimed.Fence); !errors.Is(err, store.ErrFenced) {
		t.Fatal(err)
	}
	if err := a.Beat(a.ctx, time.Minute); !errors.Is(err, store.ErrLapsed) {
		t.Fatal(err)
	}
	a.ok(a.Beat(a.ctx, time.Minute))
	b.end(created(taken), mapping.RunSuccess)
	if n, _ := a.Events.LastSeq(a.ctx, c.Run.ThreadID); n != 3 {
		t.Fatalf("%d events", n)
	}
}

// TestOwnLapsedRunHasANewFence checks that a process that claims its own lapsed run gets a new fence (C3).
func TestOwnLapsedRunHasANewFence(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	c := a.create(newThreadRun())
	a.ok(a.Beat(a.ctx, -time.Second))
	if err := a.Beat(a.ctx, time.Minute); !errors.Is(err, store.ErrLapsed) {
		t.Fatal(err)
	}
	ids, taken, _ := a.claims()
	if d := cmp.Diff([]string{c.Run.ID}, ids); d != "" || taken.Fence != 2 {
		t.Fatal(d, taken.Fence)
	}
	_, _, err := a.Events.Append(a.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{token("1")}})
	if !errors.Is(err, store.ErrFenced) {
		t.Fatal(err)
	}
}

func TestClosedProcessLeavesItsRunsAtOnce(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	c := a.create(newThreadRun())
	a.ok(a.Close())
	if ids, _, _ := b.claims(); len(ids) != 1 || ids[0] != c.Run.ID {
		t.Fatal(ids)
	}
}

// INV5 under load: two processes append to one thread, and the numbers are in commit order and without gaps.
func TestNumbersAreGaplessOverProcesses(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	thread := a.thread().ID
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s := []*harness{a, b}[i%2]
			c := s.create(newRun(thread, mapping.StrategyConcurrent))
			for range 20 {
				s.append(c, token("1"), token("2"))
			}
			s.end(c, mapping.RunSuccess)
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for after, running := int64(0), true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		evs, err := b.Events.List(b.ctx, thread, "", after, 0)
		b.ok(err)
		for _, ev := range evs {
			if ev.Seq != after+1 {
				t.Fatalf("event %d follows %d", ev.Seq, after)
			}
			after = ev.Seq
		}
		if !running && after != 4*(1+40+1) {
			t.Fatalf("%d events", after)
		}
	}
}

// TestKilledConnectionsNeitherLoseNorDuplicate kills connections at any moment, also during commits (C9).
func TestKilledConnectionsNeitherLoseNorDuplicate(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	a := openAt(t, dsn, store.Options{})
	c := a.create(newThreadRun())
	var written, killed atomic.Int64
	stop := killWriters(t, dsn, &written, &killed)
	defer stop()
	for written.Load() < 150 || killed.Load() < 5 {
		a.append(c, token(fmt.Sprint(written.Load())))
		written.Add(1)
	}
	stop()
	evs, err := a.Events.List(a.ctx, c.Run.ThreadID, "", 1, 0)
	a.ok(err)
	if len(evs) != int(written.Load()) {
		t.Fatalf("%d events", len(evs))
	}
	for i, ev := range evs {
		if ev.Seq != int64(i+2) || string(ev.Data) != fmt.Sprint(i) {
			t.Fatalf("event %d: %d %s", i, ev.Seq, ev.Data)
		}
	}
}

// killsOfOne limits the connections that one write may lose: its time is limited, and on a busy machine an attempt
// takes longer than the pause between two kills. killsOfAll limits the duration of the test.
const killsOfOne, killsOfAll = 3, 30

// killWriters kills the connections that write to the database until stop is called, which may be called twice. It
// counts the kills. It watches the number of written rows to skip a write that has lost enough connections.
func killWriters(t *testing.T, dsn string, written, killed *atomic.Int64) (stop func()) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() {
		defer conn.Close(context.Background())
		for at, lost := int64(0), int64(0); ; {
			select {
			case <-end:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if now := written.Load(); now != at {
				at, lost = now, 0
			}
			if lost >= killsOfOne || killed.Load() >= killsOfAll {
				continue
			}
			tag, _ := conn.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN (
 SELECT l.pid FROM pg_locks l WHERE l.relation = 'thread_seq'::regclass) AND pid <> pg_backend_pid()`)
			lost += tag.RowsAffected()
			killed.Add(tag.RowsAffected())
		}
	})
	return sync.OnceFunc(func() { close(end); killer.Wait() })
}

func TestNoticesReachOtherProcessesOnly(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	for _, s := range []*harness{a, b} {
		if n := <-s.Notices(); n.Kind != store.NoticeAll {
			t.Fatalf("got %+v", n)
		}
	}
	c := a.create(newThreadRun())
	want := func(kind store.NoticeKind) {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case n := <-b.Notices():
				if n.Kind == kind && slices.Contains([]string{c.Run.ID, c.Run.ThreadID, ""}, n.About) {
					return
				}
			case <-deadline:
				t.Fatalf("no notice %c", kind)
			}
		}
	}
	a.append(c, token("1"))
	want(store.NoticeLogged)
	next := a.create(newRun(c.Run.ThreadID, mapping.StrategyEnqueue))
	want(store.NoticePending)
	a.ok(a.Claims.RequestStop(a.ctx, c.Run.ID, ""))
	want(store.NoticeStop)
	a.end(c, mapping.RunInterrupted)
	want(store.NoticePending)
	a.ok(a.Runs.Delete(a.ctx, c.Run.ThreadID, c.Run.ID))
	want(store.NoticeGone)
	select {
	case n := <-a.Notices():
		t.Fatalf("a process received its own notice: %+v", n)
	default:
	}
	_ = next
}

// Two concurrent requests with one key on two processes create one run.
func TestIdempotencyKeyHoldsOverProcesses(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	var wg sync.WaitGroup
	made := make([]*store.CreateRunResult, 8)
	for i := range made {
		wg.Go(func() {
			s, n := []*harness{a, b}[i%2], newThreadRun()
			n.IdempotencyKey, n.IdempotencyRoute, n.IdempotencySum = "k", "POST /runs", []byte("sum")
			made[i] = s.create(n)
		})
	}
	wg.Wait()
	fresh := 0
	for _, c := range made {
		if c.Run.ID != made[0].Run.ID {
			t.Errorf("runs %s and %s", c.Run.ID, made[0].Run.ID)
		}
		if !c.Replayed {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d runs were created, want 1", fresh)
	}
}

// Other processes are notified of timed work, since the process that recorded it may have stopped by the time it is
// due.
func TestDueWorkNotifiesOtherProcesses(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if n := <-b.Notices(); n.Kind != store.NoticeAll {
		t.Fatalf("got %+v", n)
	}
	go func() { // like the engine
		for n := range b.Notices() {
			if n.Kind == store.NoticeDue {
				b.WakeDue(n.About)
			}
		}
	}()
	heard := func(what string, bell <-chan struct{}) {
		t.Helper()
		select {
		case <-bell:
		case <-time.After(time.Minute):
			t.Fatalf("no notice of %s", what)
		}
	}
	th := a.thread()
	soon := time.Now().Add(time.Hour)
	_, err := a.Threads.Patch(a.ctx, th.ID, nil, &store.Expire{At: soon})
	a.ok(err)
	heard("an expiry", b.Retention.Expiries())
	_, err = a.Crons.Create(a.ctx, mapping.Cron{ID: id(), Agent: "echo", AssistantID: "a", Enabled: true, Next: soon}, store.IdempotencyKey{})
	a.ok(err)
	heard("a cron", b.Crons.Changed())
	c := a.create(newThreadRun())
	_, _, err = a.Events.Append(a.ctx, store.Append{
		ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}}},
		End: &store.End{Outcome: mapping.Outcome{Status: mapping.RunSuccess}, Webhook: &store.Webhook{URL: "http://127.0.0.1:1/", Body: []byte("{}")}},
	})
	a.ok(err)
	heard("a webhook", b.Deliveries.Changed())
}

// TestLostNoticesAreCompensated breaks the notification connection. A single notice to check everything replaces the
// missed ones (C5).
func TestLostNoticesAreCompensated(t *testing.T) {
	t.Parallel()
	dsn, name := storetest.Schema(t), "c5-"+id()
	a := openAt(t, dsn+"&application_name="+name, store.Options{})
	all := func() {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case n := <-a.Notices():
				if n.Kind == store.NoticeAll {
					return
				}
			case <-deadline:
				t.Fatal("the process no longer listens")
			}
		}
	}
	all()
	for range 2 {
		behind(t, dsn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'LISTEN %'`, name)
		all()
	}
}

// TestClocksThatJumpEndNoLease checks that a process's clock affects neither its own leases nor those of others (C6).
func TestClocksThatJumpEndNoLease(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	clock := &later{at: time.Now()}
	jumpy, steady := openAt(t, dsn, store.Options{Now: clock.now}), openAt(t, dsn, store.Options{})
	mine, theirs := jumpy.create(newThreadRun()), steady.create(newThreadRun())
	for _, jump := range []time.Duration{time.Hour, -2 * time.Hour, 10 * 365 * 24 * time.Hour, -20 * 365 * 24 * time.Hour} {
		clock.at = clock.at.Add(jump)
		for _, s := range []*harness{jumpy, steady} {
			s.ok(s.Beat(s.ctx, time.Minute))
			if ids, _, _ := s.claims(); len(ids) != 0 {
				t.Fatalf("after a jump of %v runs were taken over: %v", jump, ids)
			}
		}
		jumpy.append(mine, token(jump.String()))
		steady.append(theirs, token(jump.String()))
	}
}
