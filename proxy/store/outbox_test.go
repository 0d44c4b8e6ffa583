package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// hooked ends a new run that has a webhook.
func (b *harness) hooked(url string) *store.CreateRunResult {
	b.t.Helper()
	c := b.create(newThreadRun())
	e := ending(mapping.RunSuccess)
	e.Webhook = &store.Webhook{URL: url, Body: []byte(`{"run_id":"` + c.Run.ID + `"}`)}
	_, _, err := b.Events.Append(b.ctx, store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &e,
		Events: []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &e.Outcome}}}})
	b.ok(err)
	return c
}

func (b *harness) due(limit int, accept func(string) bool) ([]store.Delivery, time.Duration) {
	b.t.Helper()
	take := func(_, url string) bool { return accept == nil || accept(url) }
	list, wait, err := b.Deliveries.Claim(b.ctx, limit, time.Minute, take)
	b.ok(err)
	return list, wait
}

func clocked(t *testing.T, open opener) (*harness, *later) {
	clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
	return open(t, store.Options{Now: clock.now, Synchronous: "normal"}), clock
}

func TestDeliveryIsClaimedOnceAndDueAgainLater(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		c := b.as("a").hooked("http://h/1")
		select {
		case <-b.Deliveries.Changed():
		default:
			t.Error("the sender was not notified")
		}
		list, _ := b.due(9, nil)
		if len(list) != 1 || list[0].Attempts != 1 || list[0].Tenant != "a" || list[0].RunID != c.Run.ID || !strings.Contains(string(list[0].Body), c.Run.ID) {
			t.Fatalf("got %+v", list)
		}
		first := list[0]
		list, wait := b.due(9, nil)
		if len(list) != 0 || wait != time.Minute {
			t.Fatalf("claimed twice: %v, %s", list, wait)
		}
		clock.at = clock.at.Add(time.Minute) // the sender that claimed it did not finish
		list, _ = b.due(9, nil)
		if len(list) != 1 || list[0].ID != first.ID || list[0].Attempts != 2 {
			t.Fatalf("got %+v", list)
		}
		b.ok(b.Deliveries.Failed(b.ctx, list[0], "HTTP 500", 10*time.Second))
		if list, wait = b.due(9, nil); len(list) != 0 || wait != 10*time.Second {
			t.Fatalf("got %v, %s", list, wait)
		}
		clock.at = clock.at.Add(10 * time.Second)
		list, _ = b.due(9, nil)
		b.ok(b.Deliveries.Returned(b.ctx, list[0]))
		list, _ = b.due(9, nil)
		if len(list) != 1 || list[0].Attempts != 3 || list[0].Error != "HTTP 500" {
			t.Fatalf("got %+v", list)
		}
		b.ok(b.Deliveries.Delivered(b.ctx, list[0]))
		b.ok(b.Deliveries.Failed(b.ctx, list[0], "too late", 0))
		if list, wait = b.due(9, nil); len(list) != 0 || wait != 0 {
			t.Fatalf("got %v, %s", list, wait)
		}
		got, err := b.Deliveries.List(b.as("a").ctx, c.Run.ID, 0)
		b.ok(err)
		if len(got) != 1 || got[0].Error != "" || got[0].Done.IsZero() || got[0].Dead() || got[0].Attempts != 3 {
			t.Fatalf("got %+v", got)
		}
		if other, _ := b.Deliveries.List(b.as("b").ctx, c.Run.ID, 0); len(other) != 0 {
			t.Errorf("another tenant sees %+v", other)
		}
	})
}

func TestDeliveriesToASlowReceiverDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, _ := clocked(t, open)
		for _, u := range []string{"http://slow/", "http://slow/", "http://quick/", "http://slow/"} {
			b.hooked(u)
		}
		list, _ := b.due(2, func(url string) bool { return url != "http://slow/" })
		if len(list) != 1 || list[0].URL != "http://quick/" {
			t.Fatalf("got %+v", list)
		}
	})
}

func TestTheOutboxIsSwept(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		for _, u := range []string{"http://good/", "http://bad/", "http://open/"} {
			b.hooked(u)
		}
		list, _ := b.due(9, nil)
		b.ok(b.Deliveries.Delivered(b.ctx, list[0]))
		b.ok(b.Deliveries.Dead(b.ctx, list[1], "gave up"))
		left := func() (urls []string) {
			list, err := b.Deliveries.List(b.ctx, "", 0)
			b.ok(err)
			for _, d := range list {
				urls = append(urls, d.URL)
			}
			return urls
		}
		b.ok(b.Deliveries.Sweep(b.ctx, time.Hour, 2*time.Hour))
		if d := cmp.Diff([]string{"http://open/", "http://bad/", "http://good/"}, left()); d != "" {
			t.Error(d)
		}
		clock.at = clock.at.Add(time.Hour)
		b.ok(b.Deliveries.Sweep(b.ctx, time.Hour, 2*time.Hour))
		if d := cmp.Diff([]string{"http://open/", "http://bad/"}, left()); d != "" {
			t.Error(d)
		}
		clock.at = clock.at.Add(time.Hour)
		b.ok(b.Deliveries.Sweep(b.ctx, time.Hour, 2*time.Hour))
		if d := cmp.Diff([]string{"http://open/"}, left()); d != "" {
			t.Error(d)
		}
	})
}
