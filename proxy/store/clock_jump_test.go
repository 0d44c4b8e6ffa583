package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// setClock is a database clock that can be set, with an independent elapsed time.
type setClock struct {
	at     time.Time
	passed time.Duration
}

func handled(t *testing.T, open opener) (*harness, *setClock) {
	h := &setClock{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
	return open(t, store.Options{Now: func() time.Time { return h.at }, Passed: func() time.Duration { return h.passed }, Synchronous: "normal"}), h
}

// pass advances the time while the database is in use.
func (h *setClock) pass(b *harness, d time.Duration) {
	for d > 0 {
		step := min(d, time.Minute)
		h.at, h.passed, d = h.at.Add(step), h.passed+step, d-step
		b.Now()
	}
}

// jump sets the clock and waits until that is believed.
func (h *setClock) jump(b *harness, d time.Duration) {
	h.at = h.at.Add(d)
	b.Now()
	h.pass(b, clock.Patience+time.Minute)
}

const year = 365 * 24 * time.Hour

func (b *harness) sweep() {
	b.t.Helper()
	for more := true; more; {
		var err error
		more, err = b.ItemMaintenance.Sweep(b.ctx)
		b.ok(err)
	}
}

func (b *harness) items() (keys string) {
	b.t.Helper()
	b.sweep()
	list, err := b.Items.List(b.ctx, item.Query{})
	b.ok(err)
	for _, it := range list {
		keys += it.Key + " "
	}
	return strings.TrimSpace(keys)
}

func (b *harness) putFor(key string, ttl time.Duration) {
	b.t.Helper()
	b.ok(b.Items.Put(b.ctx, item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: key, Value: []byte(`{}`)}, TTL: ttl}))
}

func TestItemIsKeptForItsTTLWhenTheClockIsSet(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		for _, jump := range []time.Duration{time.Hour, year} {
			b, h := handled(t, open)
			b.putFor("old", 30*time.Minute)
			h.jump(b, jump)
			b.putFor("young", 2*time.Minute)
			if got := b.items(); got != "old young" {
				t.Errorf("after a jump of %v: %q", jump, got)
			}
			if _, err := b.Items.Get(b.ctx, []string{"n"}, "old", false); err != nil {
				t.Errorf("after a jump of %v: %v", jump, err)
			}
			h.pass(b, 3*time.Minute)
			if got := b.items(); got != "old" {
				t.Errorf("when the younger one has expired: %q", got)
			}
			h.jump(b, -jump)
			if got := b.items(); got != "old" {
				t.Errorf("when the clock is right again: %q", got)
			}
			h.pass(b, 30*time.Minute)
			if got := b.items(); got != "" {
				t.Errorf("when it has expired: %q", got)
			}
			h.jump(b, -jump)
			b.putFor("back", 30*time.Minute)
			h.jump(b, jump)
			if got := b.items(); got != "back" {
				t.Errorf("created before the clock was corrected: %q", got)
			}
		}
	})
}

func TestIdempotencyKeyIsRememberedWhenTheClockIsSet(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, h := handled(t, open)
		make := func(key string) mapping.Thread {
			th, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: id()}, Key: store.NewIdempotencyKey(key, "POST /threads", 1)})
			b.ok(err)
			return th
		}
		first := make("a")
		for _, jump := range []time.Duration{time.Hour, -time.Hour, year, -year} {
			h.jump(b, jump)
			make("of " + jump.String()) // drops expired keys
			if again := make("a"); again.ID != first.ID {
				t.Errorf("after a jump of %v the request was repeated", jump)
			}
		}
		h.pass(b, 25*time.Hour)
		if again := make("a"); again.ID == first.ID {
			t.Error("the request is still remembered after a day")
		}
	})
}

// begun returns the runs that may start.
func (b *harness) begun() (ids []string, next time.Time) {
	b.t.Helper()
	ids, _, next = b.claims()
	return ids, next
}

func TestDelayedRunWaitsAsLongAsRequestedIfTheClockWasAhead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		for _, ahead := range []time.Duration{time.Hour, year} {
			b, h := handled(t, open)
			h.jump(b, ahead)
			n := newThreadRun()
			n.Claim, n.Events, n.Run.RunAfter = false, nil, b.Now().Add(20*time.Minute)
			b.create(n)
			h.jump(b, -ahead)
			if ids, next := b.begun(); len(ids) > 0 || !next.Equal(b.Now().Add(20*time.Minute)) {
				t.Errorf("when the clock is right again: %v, due %v at %v", ids, next, b.Now())
			}
			h.pass(b, 19*time.Minute)
			if ids, _ := b.begun(); len(ids) > 0 {
				t.Error("the run starts early")
			}
			h.pass(b, time.Minute)
			if ids, _ := b.begun(); !cmp.Equal(ids, []string{n.Run.ID}) {
				t.Errorf("at its start time: %v", ids)
			}
		}
	})
}

func TestDeliveryIsRetriedIfTheClockWasAhead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, h := handled(t, open)
		h.jump(b, year)
		c := b.create(newThreadRun())
		e := ending(mapping.RunSuccess)
		e.Webhook = &store.Webhook{URL: "http://127.0.0.1:1/", Body: []byte(`{}`)}
		_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &e, Events: []mapping.Event{{Kind: mapping.KindEnd}}})
		b.ok(err)
		list, _, err := b.Deliveries.Claim(b.ctx, 9, time.Minute, nil)
		b.ok(err)
		b.ok(b.Deliveries.Failed(b.ctx, list[0], "away", 10*time.Minute))
		h.jump(b, -year)
		if list, wait, err := b.Deliveries.Claim(b.ctx, 9, time.Minute, nil); len(list) != 1 || err != nil {
			t.Errorf("%v, in %v (%v)", list, wait, err)
		}
	})
}

// If a process creates a run while its clock is ahead, other processes correct the delay, too.
func TestDelayedRunOfAProcessThatWasAheadWaitsAsLongAsRequested(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	for _, ahead := range []time.Duration{time.Hour, year} {
		h, away := &setClock{at: time.UnixMicro(1_700_000_000_000_000).UTC()}, ahead
		passed := func() time.Duration { return h.passed }
		a := openAt(t, dsn, store.Options{Now: func() time.Time { return h.at.Add(away) }, Passed: passed})
		b := openAt(t, dsn, store.Options{Now: func() time.Time { return h.at }, Passed: passed})
		n := newThreadRun()
		n.Claim, n.Events, n.Run.RunAfter = false, nil, a.Now().Add(20*time.Minute)
		a.create(n)
		if ids, next := b.begun(); len(ids) > 0 || !next.Equal(b.Now().Add(20*time.Minute)) {
			t.Errorf("%v, due %v at %v", ids, next, b.Now())
		}
		away = 0
		h.pass(a, 21*time.Minute)
		if ids, _ := b.begun(); !cmp.Equal(ids, []string{n.Run.ID}) {
			t.Errorf("at its start time: %v", ids)
		}
	}
}
