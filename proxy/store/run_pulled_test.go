package store_test

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

func (b *harness) pulled(parkedOnly bool) (ids []string) {
	b.t.Helper()
	for r, err := range b.Claims.Pulled(b.ctx, parkedOnly) {
		b.ok(err)
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

func sorted(ids ...string) []string {
	slices.Sort(ids)
	return ids
}

func stepped(s mapping.Stepping) *store.CreateRun {
	o := newThreadRun()
	o.Run.Options.Stepping = s
	return o
}

func (b *harness) park(c *store.CreateRunResult) {
	b.t.Helper()
	_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &store.End{Outcome: mapping.Outcome{Parked: true}, Thread: mapping.ThreadInterrupted}})
	b.ok(err)
}

func TestPulledRunsAreThoseWithPollingClients(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		parked, free := b.create(stepped(mapping.SteppingLockstep)), b.as("other").create(stepped(mapping.SteppingFree))
		b.park(parked)
		b.create(stepped(mapping.SteppingLockstep)) // its step is running
		b.create(newThreadRun())
		b.end(b.create(stepped(mapping.SteppingFree)), mapping.RunSuccess)
		if got := b.pulled(true); !slices.Equal(got, sorted(parked.Run.ID)) {
			t.Errorf("parked: %v", got)
		}
		if got := b.pulled(false); !slices.Equal(got, sorted(parked.Run.ID, free.Run.ID)) {
			t.Errorf("pulled: %v", got)
		}
		for r, err := range b.Claims.Pulled(b.ctx, true) {
			b.ok(err)
			fresh, err := b.Runs.Get(b.ctx, "", parked.Run.ID)
			b.ok(err)
			want := store.PolledRun{ID: fresh.ID, ThreadID: fresh.ThreadID, Agent: fresh.Agent, Tenant: fresh.Tenant, Owner: fresh.Owner, UpdatedAt: fresh.UpdatedAt}
			if r != want {
				t.Errorf("got %+v, want %+v", r, want)
			}
		}
	})
}

// There may be more runs than a page holds.
func TestPulledRunsAreReadByPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		var many []*store.CreateRun
		var want []string
		for range 1001 { // two full pages and one run
			o := stepped(mapping.SteppingFree)
			o.Claim = false
			many, want = append(many, o), append(want, o.Run.ID)
		}
		_, err := b.Runs.CreateAll(b.ctx, many)
		b.ok(err)
		if got := b.pulled(false); !slices.Equal(got, sorted(want...)) {
			t.Errorf("%d runs, want %d", len(got), len(want))
		}
	})
}
