package owner

import (
	"context"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// HeldBy returns the amount of an owner's data and the agents that have copies of it.
func (o *Owners) HeldBy(ctx context.Context, who adapter.OwnerRef) (adapter.Held, error) {
	ctx, tenant, err := reach(ctx, who)
	if err != nil {
		return adapter.Held{}, err
	}
	mapping.AddAuditObject(ctx, "owner", who.ID)
	return o.held(ctx, tenant, who.ID)
}

func (o *Owners) held(ctx context.Context, tenant, owner string) (adapter.Held, error) {
	held := adapter.Held{Owner: owner, Tenant: tenant, Kinds: []adapter.HeldKind{}, Copies: []adapter.HeldCopies{}, Guest: []string{}}
	list, err := o.store.Owners.Holdings(ctx, owner)
	if err != nil {
		return held, err
	}
	for _, h := range list {
		held.Kinds = append(held.Kinds, adapter.HeldKind{Kind: h.Kind, Count: h.Count, Bytes: h.Bytes, Oldest: known(h.Oldest), Newest: known(h.Newest)})
	}
	if err := eachThread(ctx, o.store.Owners, owner, func(id string) error { return o.countCopies(ctx, &held, id) }); err != nil {
		return held, err
	}
	return held, o.guestThreads(ctx, &held)
}

func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// eachThread calls do for each thread of an owner. The thread may have been deleted before do is called.
func eachThread(ctx context.Context, list *store.Owners, owner string, do func(id string) error) error {
	return each(func(behind string) ([]string, error) { return list.Threads(ctx, owner, behind) }, do)
}

// each calls do for each id in a list that is read page by page.
func each(read func(behind string) ([]string, error), do func(id string) error) error {
	return eachOf(read, func(id string) string { return id }, do)
}

// eachGuest is like each, for guests.
func eachGuest(read func(behind string) ([]store.Guest, error), do func(store.Guest) error) error {
	return eachOf(read, func(g store.Guest) string { return g.ID }, do)
}

func eachOf[T any](read func(behind string) ([]T, error), idOf func(T) string, do func(T) error) error {
	for behind := ""; ; {
		list, err := read(behind)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, one := range list {
			if err := do(one); err != nil {
				return err
			}
		}
		behind = idOf(list[len(list)-1])
	}
}

func (o *Owners) countCopies(ctx context.Context, held *adapter.Held, thread string) error {
	copies, err := o.store.Owners.Copies(ctx, thread)
	if err != nil {
		return unlessGone(err)
	}
	for _, l := range copies {
		i := slices.IndexFunc(held.Copies, func(c adapter.HeldCopies) bool { return c.Agent == l.Agent })
		if i < 0 {
			i, held.Copies = len(held.Copies), append(held.Copies, adapter.HeldCopies{Agent: l.Agent, Stays: words(o.engine.CanDeleteUpstream(l.Agent))})
		}
		at := &held.Copies[i]
		at.Count++
		if len(at.IDs) < adapter.HeldMost {
			at.IDs = append(at.IDs, l.Remote)
		}
	}
	return nil
}

// unlessGone returns nil for a NotFound error.
func unlessGone(err error) error {
	if err != nil && mapping.Classify(err).Class == mapping.NotFound {
		return nil
	}
	return err
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// guestThreads adds the threads of others on which the owner has runs or tasks.
func (o *Owners) guestThreads(ctx context.Context, held *adapter.Held) error {
	for _, read := range []func(context.Context, string, string) ([]store.Guest, error){o.store.Owners.GuestRuns, o.store.Owners.GuestTasks} {
		err := eachGuest(func(behind string) ([]store.Guest, error) { return read(ctx, held.Owner, behind) }, func(g store.Guest) error {
			if len(held.Guest) < adapter.HeldMost && !slices.Contains(held.Guest, g.ThreadID) {
				held.Guest = append(held.Guest, g.ThreadID)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
