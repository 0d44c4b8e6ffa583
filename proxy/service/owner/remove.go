package owner

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

const codeRemoving = "removal_running"

// passesMost limits the number of passes, since the owner may create data during the removal.
const passesMost = 5

// removal is one removal of an owner's data. Its methods report the outcome for each object. Not safe for concurrent
// use.
type removal struct {
	*Owners
	ctx   context.Context
	owner string
	how   adapter.Removing
	tell  func(adapter.Removed) error
	went  int                 // number of objects removed in this pass
	stays map[string]struct{} // threads and runs that could not be removed
}

// RemoveOwner deletes in an order that makes it possible to continue after an interruption: objects that create others
// come first, and a thread comes after its copies, since only the thread records them.
func (s *Owners) RemoveOwner(ctx context.Context, who adapter.OwnerRef, how adapter.Removing, tell func(adapter.Removed) error) error {
	ctx, tenant, err := reach(ctx, who)
	if err != nil {
		return err
	}
	mapping.AddAuditObject(ctx, "owner", who.ID)
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		return mapping.Errorf(mapping.Conflict, codeRemoving, "Another removal of an owner's data is running. Try again when it has ended.")
	}
	r := &removal{Owners: s, ctx: ctx, owner: who.ID, how: how, tell: tell, stays: map[string]struct{}{}}
	if err := r.store.Owners.Overwriting(ctx, r.passes); err != nil {
		return err
	}
	if err := r.left(tenant); err != nil {
		return err
	}
	return r.rewrite()
}

// passes removes everything. It repeats until a pass finds nothing, since the owner may create new objects in between.
func (r *removal) passes() error {
	for range passesMost {
		r.went = 0
		for _, remove := range []func() error{
			r.removeCrons, r.removeThreads, r.removeGuestRuns, r.removeGuestTasks, r.removeAssistants, r.removeItems, r.removeRest,
		} {
			if err := remove(); err != nil {
				return err
			}
		}
		if r.went == 0 {
			break
		}
	}
	return r.store.Owners.EraseCounts(r.ctx, r.owner)
}

// left reports what remains.
func (r *removal) left(tenant string) error {
	held, err := r.held(r.ctx, tenant, r.owner)
	if err != nil || len(held.Kinds) == 0 {
		return err
	}
	for _, k := range held.Kinds {
		why := "they still exist: see above, or the owner keeps creating new ones. Revoke its key first"
		if err := r.tell(adapter.Removed{Outcome: adapter.IsFailed, Kind: k.Kind, Count: int(k.Count), Why: why}); err != nil {
			return err
		}
	}
	return nil
}

// rewrite removes all traces of deleted or replaced data from a SQLite file.
func (r *removal) rewrite() error {
	done := adapter.Removed{Outcome: adapter.IsRemoved, Kind: "database"}
	if r.how.KeepFile {
		done.Outcome = adapter.IsKept
		done.Why = "the file was not rewritten, as requested: it may contain bytes that were replaced earlier, and so may its log until that is rewritten"
		return r.tell(done)
	}
	ours, err := r.store.Owners.Rewrite(r.ctx)
	switch {
	case err != nil:
		done.Outcome, done.Why = adapter.IsFailed, "the file could not be rewritten: "+r.reason(err)
	case !ours:
		done.Outcome, done.Why = adapter.IsKept, "PostgreSQL keeps deleted rows until its VACUUM, and its write-ahead log for as long as it is configured to"
	}
	return r.tell(done)
}
