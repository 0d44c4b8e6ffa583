package owner

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const codeRemoving = "removal_running"

// passesMost is how often all is looked through again for what an owner has made meanwhile.
const passesMost = 5

// removals removes what is kept of owners.
type removals struct {
	parts    Parts
	holdings holdings
	busy     chan struct{} // full while a removal goes on: one at a time
	zap      *zap.Logger
}

// removal is one removal of an owner's data. Not for concurrent use.
type removal struct {
	*ledger
	owned    *store.Owners
	holdings holdings
	keepFile bool           // see adapter.Removing
	kinds    []func() error // each removes all there is of a kind, or of several
}

// Remove deletes in an order in which whatever is left when it is stopped can be found again: what would make more
// comes first, and a thread comes after its copies, since nothing else knows of these.
func (s removals) RemoveOwner(ctx context.Context, who adapter.OwnerRef, how adapter.Removing, tell func(adapter.Removed) error) error {
	ctx, tenant, err := reach(ctx, who)
	if err != nil {
		return err
	}
	mapping.NoteObject(ctx, "owner", who.ID)
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		return mapping.Errorf(mapping.Conflict, codeRemoving, "The data of an owner is being removed already. Try again when that has ended.")
	}
	r := s.removal(&ledger{ctx: ctx, owner: who.ID, tell: tell, stays: map[string]struct{}{}, zap: s.zap}, how)
	if err := r.owned.Overwriting(ctx, r.passes); err != nil {
		return err
	}
	if err := r.left(tenant); err != nil {
		return err
	}
	return r.rewrite()
}

// removal lays out what is removed, in its order.
func (s removals) removal(l *ledger, how adapter.Removing) *removal {
	p := s.parts
	rows := ownRows{ledger: l, owned: p.Owned, crons: p.Crons, assistants: p.Assistants, items: p.Items}
	threads := ownThreads{ledger: l, owned: p.Owned, remover: p.Remover, engine: p.Engine, leaveCopies: how.LeaveCopies}
	guest := guests{ledger: l, owned: p.Owned, runs: p.Runs, remover: p.Remover, engine: p.Engine}
	return &removal{ledger: l, owned: p.Owned, holdings: s.holdings, keepFile: how.KeepFile, kinds: []func() error{
		rows.removeCrons, threads.remove, guest.removeRuns, guest.removeTasks, rows.removeAssistants, rows.removeItems, rows.removeRest,
	}}
}

// passes looks through all until nothing more goes: what was made meanwhile goes, too.
func (r *removal) passes() error {
	for range passesMost {
		r.went = 0
		for _, remove := range r.kinds {
			if err := remove(); err != nil {
				return err
			}
		}
		if r.went == 0 {
			break
		}
	}
	return r.owned.EraseCounts(r.ctx, r.owner)
}

// left tells what there still is.
func (r *removal) left(tenant string) error {
	held, err := r.holdings.held(r.ctx, tenant, r.owner)
	if err != nil || len(held.Kinds) == 0 {
		return err
	}
	for _, k := range held.Kinds {
		why := "they are still there: see above, or the owner makes new ones. Take its key away first"
		if err := r.tell(adapter.Removed{Outcome: adapter.IsFailed, Kind: k.Kind, Count: int(k.Count), Why: why}); err != nil {
			return err
		}
	}
	return nil
}

// rewrite leaves no byte in a SQLite file of what was deleted or replaced.
func (r *removal) rewrite() error {
	done := adapter.Removed{Outcome: adapter.IsRemoved, Kind: "database"}
	if r.keepFile {
		done.Outcome = adapter.IsKept
		done.Why = "the file was not made anew, as was asked for: bytes that were replaced earlier may be in it, and in its log until that is written anew"
		return r.tell(done)
	}
	ours, err := r.owned.Rewrite(r.ctx)
	switch {
	case err != nil:
		done.Outcome, done.Why = adapter.IsFailed, "the file could not be made anew: "+r.reason(err)
	case !ours:
		done.Outcome, done.Why = adapter.IsKept, "PostgreSQL keeps deleted rows until its VACUUM, and its write-ahead log as long as it is told to"
	}
	return r.tell(done)
}
