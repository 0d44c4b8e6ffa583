package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// claims claims runs until there are none and returns their ids.
func (b *harness) claims(full ...string) (ids []string, last *store.Claimed, next time.Time) {
	b.t.Helper()
	for {
		c, due, err := b.Claims.ClaimNext(b.ctx, full)
		b.ok(err)
		if c == nil {
			return ids, last, due
		}
		ids, last = append(ids, c.Run.ID), c
	}
}

func created(c *store.Claimed) *store.CreateRunResult {
	return &store.CreateRunResult{Run: c.Run, Claimed: c}
}

func TestStrategiesOnABusyThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		for name, c := range map[string]struct {
			strategy mapping.Strategy
			conflict bool
			claimed  bool
			active   bool
			stop     string
			shared   bool // the first run allows concurrent ones
		}{
			"reject":                               {strategy: mapping.StrategyReject, conflict: true},
			"default":                              {strategy: "", conflict: true},
			"enqueue":                              {strategy: mapping.StrategyEnqueue},
			"interrupt":                            {strategy: mapping.StrategyInterrupt, active: true, stop: "cancel"},
			"rollback":                             {strategy: mapping.StrategyRollback, active: true, stop: "rollback"},
			"concurrent":                           {strategy: mapping.StrategyConcurrent, claimed: true, shared: true},
			"concurrent, next to an exclusive run": {strategy: mapping.StrategyConcurrent},
			"reject, next to a concurrent run":     {strategy: mapping.StrategyReject, conflict: true, shared: true},
			"enqueue, behind a concurrent run":     {strategy: mapping.StrategyEnqueue, shared: true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := open(t)
				begun := newThreadRun()
				begun.Run.Options.MayOverlap = c.shared
				first := b.create(begun)
				second, err := b.Runs.Create(b.ctx, newRun(first.Run.ThreadID, c.strategy))
				if c.conflict {
					wantClass(t, err, mapping.Conflict, mapping.CodeThreadBusy)
					if runs, _ := b.Runs.List(b.ctx, mapping.RunQuery{ThreadID: first.Run.ThreadID}); len(runs) != 1 {
						t.Fatalf("%d runs after a refusal", len(runs))
					}
					return
				}
				b.ok(err)
				if (second.Claimed != nil) != c.claimed || (second.Active != nil) != c.active {
					t.Fatalf("created %+v", second)
				}
				if c.active && second.Active[0].ID != first.Run.ID {
					t.Fatalf("active %+v", second.Active)
				}
				stops, err := b.Claims.StopRequests(b.ctx)
				b.ok(err)
				want := c.stop
				if want == "rollback" {
					want += " " + second.Run.ID
				}
				if stops[first.Run.ID].Action != want {
					t.Fatalf("stops %v", stops)
				}
				if c.claimed {
					return
				}
				if ids, _, _ := b.claims(); len(ids) != 0 {
					t.Fatalf("claimed %v while another run was active", ids)
				}
				b.end(first, mapping.RunSuccess)
				if th, _ := b.Threads.Get(b.ctx, first.Run.ThreadID); th.Status != mapping.ThreadBusy {
					t.Fatalf("the thread is %s while a run is pending", th.Status)
				}
				if c.stop == "rollback" { // it starts when the other one is removed
					if ids, _, _ := b.claims(); len(ids) != 0 {
						t.Fatalf("claimed %v before the rollback was done", ids)
					}
					b.ok(b.Runs.MakeDue(b.ctx, second.Run.ID))
				}
				ids, next, _ := b.claims()
				if d := cmp.Diff([]string{second.Run.ID}, ids); d != "" {
					t.Fatal(d)
				}
				if next.Taken || next.Fence != 1 || len(next.Logged) != 0 || next.Run.StartedAt.IsZero() {
					t.Fatalf("claimed %+v", next)
				}
			})
		}
	})
}

func TestClaimsAreFirstInFirstOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		var want []string
		busy := b.thread().ID
		for i := range 6 {
			n := newRun(busy, mapping.StrategyEnqueue)
			if i%2 == 1 {
				n = newThreadRun()
			}
			n.Claim = false
			want = append(want, b.create(n).Run.ID)
		}
		other := newThreadRun()
		other.Run.Agent, other.Task.Agent, other.Claim = "zulu", "zulu", false
		want = append(want, b.create(other).Run.ID)

		if ids, _, _ := b.claims("echo", "zulu"); len(ids) != 0 {
			t.Fatalf("claimed %v for agents without free slots", ids)
		}
		ids, _, _ := b.claims("echo")
		if d := cmp.Diff(want[6:], ids); d != "" {
			t.Fatal(d)
		}
		ids, _, _ = b.claims()
		if d := cmp.Diff([]string{want[0], want[1], want[3], want[5]}, ids); d != "" {
			t.Fatal("only one run of a thread may be claimed at a time:", d)
		}
		b.end(&store.CreateRunResult{Run: mapping.Run{ID: want[0]}, Claimed: &store.Claimed{Fence: 1}}, mapping.RunSuccess)
		ids, _, _ = b.claims()
		if d := cmp.Diff([]string{want[2]}, ids); d != "" {
			t.Fatal(d)
		}
	})
}

func TestDelayedRunDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Now: clock.now})
		n := newThreadRun()
		n.Run.RunAfter = clock.at.Add(time.Minute)
		delayed := b.create(n)
		if delayed.Claimed != nil || delayed.Run.Status != mapping.RunPending {
			t.Fatalf("got %+v", delayed)
		}
		after := newRun(delayed.Run.ThreadID, mapping.StrategyEnqueue)
		after.Claim = false
		pass := b.create(after)
		ids, _, next := b.claims()
		if d := cmp.Diff([]string{pass.Run.ID}, ids); d != "" || !next.Equal(n.Run.RunAfter) {
			t.Fatal(d, next)
		}
		clock.at = clock.at.Add(2 * time.Minute)
		if ids, _, _ = b.claims(); len(ids) != 0 {
			t.Fatal("two runs of a thread are active at once")
		}
		b.end(&store.CreateRunResult{Run: pass.Run, Claimed: &store.Claimed{Fence: 1}}, mapping.RunError)
		if ids, _, next = b.claims(); len(ids) != 1 || ids[0] != delayed.Run.ID || !next.IsZero() {
			t.Fatal(ids, next)
		}
	})
}

// With one run waiting, each limit of one refuses another run and names itself, and each limit of two accepts it.
func TestEveryQueueLimitHolds(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*store.CreateRun, *mapping.Principal, int){
		"agents.echo.queue":   func(n *store.CreateRun, _ *mapping.Principal, most int) { n.Queue.Agent = most },
		"limits.thread_queue": func(n *store.CreateRun, _ *mapping.Principal, most int) { n.Queue.Thread = most },
		"limits.queue":        func(n *store.CreateRun, _ *mapping.Principal, most int) { n.Queue.All = most },
		"auth.keys[].queue":   func(_ *store.CreateRun, p *mapping.Principal, most int) { p.Queue = most },
	} {
		onBoth(t, func(t *testing.T, open opener) {
			b := open(t)
			thread := b.create(newThreadRun()).Run.ThreadID
			b.create(newRun(thread, mapping.StrategyEnqueue))
			for most := 1; most <= 2; most++ {
				n, p := newRun(thread, mapping.StrategyEnqueue), mapping.PrincipalOf(b.ctx)
				limit(n, &p, most)
				_, err := b.Runs.Create(mapping.WithPrincipal(b.ctx, p), n)
				if most == 2 {
					b.ok(err)
					continue
				}
				wantClass(t, err, mapping.Limited, mapping.CodeQueueFull)
				if !strings.Contains(err.Error(), "("+name+")") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Runs of other keys do not count.
func TestQueueLimitIgnoresOtherKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		thread := b.create(newThreadRun()).Run.ThreadID
		b.create(newRun(thread, mapping.StrategyEnqueue))
		other := mapping.PrincipalOf(b.ctx)
		other.ID, other.Queue = "another", 1
		_, err := b.Runs.Create(mapping.WithPrincipal(b.ctx, other), newRun(thread, mapping.StrategyEnqueue))
		b.ok(err)
	})
}

func TestErrorNamesTheQueueLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		for i := range 3 {
			n := newThreadRun()
			n.Claim, n.Queue.Agent = false, 2
			_, err := b.Runs.Create(b.ctx, n)
			if i < 2 {
				b.ok(err)
				continue
			}
			wantClass(t, err, mapping.Limited, mapping.CodeQueueFull)
			if _, err := b.Threads.Get(b.ctx, n.Thread.ID); mapping.Classify(err).Class != mapping.NotFound {
				t.Fatal("a refused run left its thread behind")
			}
		}
		n := newThreadRun()
		n.Queue.Agent = 2
		if c := b.create(n); c.Claimed == nil {
			t.Fatal("a run that did not have to wait was counted as waiting")
		}
	})
}

// INV3 under load: many runs are created on one thread at the same time, and only one of them runs.
func TestOneActiveRunPerThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		thread := b.thread().ID
		var wg sync.WaitGroup
		var mu sync.Mutex
		claimed, refusals := 0, 0
		for range 32 {
			wg.Go(func() {
				c, err := b.Runs.Create(b.ctx, newRun(thread, mapping.StrategyReject))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && c.Claimed != nil:
					claimed++
				case mapping.Classify(err).Code == mapping.CodeThreadBusy:
					refusals++
				}
			})
		}
		wg.Wait()
		if claimed != 1 || refusals != 31 {
			t.Fatalf("%d runs claimed, %d refused", claimed, refusals)
		}
	})
}

func TestParkedRunGivesUpItsLease(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{update(`{"a":1}`)},
			End: &store.End{Outcome: mapping.Outcome{Parked: true}, Thread: mapping.ThreadInterrupted}})
		b.ok(err)
		r, err := b.Runs.Get(b.ctx, c.Run.ThreadID, c.Run.ID)
		b.ok(err)
		th, err := b.Threads.Get(b.ctx, c.Run.ThreadID)
		b.ok(err)
		if r.Status != mapping.RunRunning || !r.Parked || !r.EndedAt.IsZero() || th.Status != mapping.ThreadInterrupted {
			t.Fatalf("run %+v thread %+v", r, th)
		}
		if _, _, err = b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence}); !errors.Is(err, store.ErrFenced) {
			t.Fatal(err)
		}
		if ids, _, _ := b.claims(); len(ids) != 0 {
			t.Fatal("a parked run was claimed as an orphan")
		}
		_, err = b.Runs.Create(b.ctx, newRun(c.Run.ThreadID, mapping.StrategyReject))
		wantClass(t, err, mapping.Conflict, mapping.CodeThreadBusy)
		cl, err := b.Claims.ClaimParked(b.ctx, c.Run.ID)
		b.ok(err)
		if cl.Fence != 2 || len(cl.Logged) != 2 || cl.Run.Parked || cl.Thread.Status != mapping.ThreadBusy {
			t.Fatalf("got %+v", cl)
		}
		_, err = b.Claims.ClaimParked(b.ctx, c.Run.ID)
		wantClass(t, err, mapping.Conflict, "")
		b.end(created(cl), mapping.RunSuccess)
	})
}

// Unfinished runs are counted by agent and state, for all tenants.
func TestBacklogCountsUnfinishedWork(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &store.End{Outcome: mapping.Outcome{Parked: true}, Thread: mapping.ThreadInterrupted}})
		b.ok(err)
		for range 2 {
			b.create(newThreadRun())
		}
		for range 3 {
			waits := newThreadRun()
			waits.Claim = false
			_, err := b.as("other").Runs.Create(b.ctx, waits)
			b.ok(err)
		}
		b.end(b.create(newThreadRun()), mapping.RunSuccess)
		b.hooked("http://h/1")
		b.ok(b.Deliveries.Delivered(b.ctx, b.onlyDue()))
		b.hooked("http://h/2")
		found, err := b.Backlog(b.ctx)
		b.ok(err)
		agent := c.Run.Agent
		want := store.Backlog{Runs: []store.RunCount{{Agent: agent, State: "queued", Runs: 3}, {Agent: agent, State: "running", Runs: 2}, {Agent: agent, State: "parked", Runs: 1}}, Webhooks: 1}
		slices.SortFunc(found.Runs, func(x, y store.RunCount) int { return y.Runs - x.Runs })
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("backlog (-want +got):\n%s", diff)
		}
	})
}

func (b *harness) onlyDue() store.Delivery {
	b.t.Helper()
	list, _ := b.due(9, nil)
	if len(list) != 1 {
		b.t.Fatalf("%d deliveries due", len(list))
	}
	return list[0]
}

func TestEndInactive(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		running := b.create(newThreadRun())
		pending := b.create(newRun(running.Run.ThreadID, mapping.StrategyEnqueue))
		e := store.End{Outcome: mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}, Thread: mapping.ThreadIdle,
			Webhook: &store.Webhook{URL: "http://127.0.0.1:1/", Body: []byte(`{}`)}}
		ev := mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &e.Outcome}}
		_, err := b.Events.EndInactive(b.ctx, running.Run.ThreadID, running.Run.ID, ev, e)
		if !errors.Is(err, store.ErrFenced) {
			t.Fatal(err)
		}
		got, err := b.Events.EndInactive(b.ctx, "", pending.Run.ID, ev, e)
		b.ok(err)
		if len(got) != 1 || got[0].Seq != 2 {
			t.Fatalf("got %+v", got)
		}
		own, err := b.Events.List(b.ctx, "", pending.Run.ID, 0, 0)
		b.ok(err)
		if d := cmp.Diff(got, own); d != "" {
			t.Fatal(d)
		}
		if _, err = b.Events.EndInactive(b.ctx, "", pending.Run.ID, ev, e); !errors.Is(err, store.ErrFenced) {
			t.Fatal(err)
		}
		if th, _ := b.Threads.Get(b.ctx, running.Run.ThreadID); th.Status != mapping.ThreadBusy {
			t.Fatalf("the thread is %s while its run is active", th.Status)
		}
	})
}

// The reason for a cancellation is stored with the request, for the process that holds the run and for one that takes
// over after a crash. It is dropped if the run ends otherwise.
func TestCancelReasonIsStored(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := b.create(newThreadRun())
		n := newRun(first.Run.ThreadID, mapping.StrategyInterrupt)
		second := b.create(n)
		want := mapping.SupersededBy(second.Run)
		stops, err := b.Claims.StopRequests(b.ctx)
		b.ok(err)
		list, err := b.Runs.Displaced(b.ctx)
		b.ok(err)
		if stops[first.Run.ID].Reason != want || len(list) != 1 || list[0].CancelReason != want || second.Active[0].CancelReason != want {
			t.Errorf("requests %q, displaced %+v, active %+v; want %q", stops, list, second.Active, want)
		}
		b.end(first, mapping.RunSuccess)
		if r, err := b.Runs.Get(b.ctx, "", first.Run.ID); err != nil || r.CancelReason != "" {
			t.Errorf("a run that succeeded has reason %q, %v", r.CancelReason, err)
		}
		other := b.create(newThreadRun())
		e := store.End{Outcome: mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true, Reason: mapping.CancelledByRequest}, Thread: mapping.ThreadIdle}
		_, _, err = b.Events.Append(b.ctx, store.Append{ThreadID: other.Run.ThreadID, RunID: other.Run.ID, Fence: other.Claimed.Fence, End: &e,
			Events: []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &e.Outcome}}}})
		b.ok(err)
		if r, err := b.Runs.Get(b.ctx, "", other.Run.ID); err != nil || r.CancelReason != mapping.CancelledByRequest {
			t.Errorf("a cancelled run has reason %q, %v", r.CancelReason, err)
		}
	})
}

func TestStopRequestsReachTheHolder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		b.ok(b.Claims.RequestStop(b.ctx, c.Run.ID, mapping.CancelledAsTaken))
		stops, err := b.Claims.StopRequests(b.ctx)
		b.ok(err)
		if d := cmp.Diff(map[string]store.StopRequest{c.Run.ID: {Action: "cancel", Reason: mapping.CancelledAsTaken}}, stops); d != "" {
			t.Fatal(d)
		}
		b.end(c, mapping.RunInterrupted)
		if stops, _ = b.Claims.StopRequests(b.ctx); len(stops) != 0 {
			t.Fatal(stops)
		}
		wantClass(t, b.Claims.RequestStop(b.ctx, c.Run.ID, ""), mapping.Conflict, "")
		wantClass(t, b.Claims.RequestStop(b.ctx, id(), ""), mapping.NotFound, mapping.CodeRunNotFound)
	})
}

func TestIdempotencyKeyNamesTheFirstRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Now: clock.now})
		keyed := func(sum string) *store.CreateRun {
			n := newThreadRun()
			n.IdempotencyKey, n.IdempotencyRoute, n.IdempotencySum = "k", "POST /runs", []byte(sum)
			return n
		}
		first := b.create(keyed("one"))
		again := b.create(keyed("one"))
		if !again.Replayed || again.Run.ID != first.Run.ID || again.Run.ThreadID != first.Run.ThreadID {
			t.Fatalf("got %+v", again)
		}
		_, err := b.Runs.Create(b.ctx, keyed("two"))
		wantClass(t, err, mapping.Invalid, "idempotency_key_reused")
		if c := b.as("other").create(keyed("two")); c.Replayed {
			t.Fatal("the key of one tenant returned a run of another")
		}
		clock.at = clock.at.Add(25 * time.Hour)
		if c := b.create(keyed("two")); c.Replayed {
			t.Fatal("the key is still known after a day")
		}
	})
}

// A key without a sum and a webhook without a body: empty bytes are not NULL.
func TestEmptyBytesAreNotNull(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		n := newThreadRun()
		n.IdempotencyKey = "k"
		c := b.create(n)
		e := ending(mapping.RunSuccess)
		e.Webhook = &store.Webhook{URL: "http://127.0.0.1:1/"}
		_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &e, Events: []mapping.Event{{Kind: mapping.KindEnd}}})
		b.ok(err)
		if again := b.create(n); !again.Replayed {
			t.Fatal("the run was not replayed")
		}
	})
}

func TestInterruptStaysWithTheThreadUntilTheNextRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		o := mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: []mapping.Interrupt{{ID: "q", Value: []byte(`{"q":"<why>"}`)}}}
		_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &store.End{Outcome: o, Thread: o.Thread()},
			Events: []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}}})
		b.ok(err)
		th, err := b.Threads.Get(b.ctx, c.Run.ThreadID)
		b.ok(err)
		asked := []mapping.Interrupt{{ID: "q", Value: []byte(`{"q":"<why>"}`), Run: c.Run.ID}}
		if d := cmp.Diff(asked, th.Interrupts); d != "" || th.Status != mapping.ThreadInterrupted {
			t.Fatal(d, th.Status)
		}
		next := newRun(c.Run.ThreadID, mapping.StrategyReject)
		next.Task, next.Run.TaskID = nil, c.Run.TaskID
		r := b.create(next)
		if th, err = b.Threads.Get(b.ctx, c.Run.ThreadID); err != nil || th.Interrupts != nil || th.Status != mapping.ThreadBusy || r.Claimed.Thread.Interrupts != nil {
			t.Fatalf("got %+v, %v", th, err)
		}
		b.end(r, mapping.RunSuccess)
		evs, err := b.Events.ListOfTask(b.ctx, c.Run.TaskID, 0, 0)
		b.ok(err)
		if len(evs) != 4 || evs[0].RunID != c.Run.ID || evs[3].RunID != r.Run.ID {
			t.Fatalf("got %+v", evs)
		}
	})
}
