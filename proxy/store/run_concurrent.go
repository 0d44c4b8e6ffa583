package store

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// overlapped reports whether others have changed the thread's state since the run began. If so, the run's view of the
// state differs from the thread's. Its snapshots are then dropped, and none of its links may claim that an agent has
// the same state. overlapped makes a query only if the result matters.
func (b *eventBatch) overlapped(t *sqldb.Tx, at runKey, a Append) (others bool, err error) {
	if !at.Overlaps || len(a.Snapshots) == 0 && len(a.Links) == 0 {
		return false, nil
	}
	err = t.Get(`SELECT EXISTS (SELECT 1 FROM events WHERE thread = $1 AND line IS NOT NULL AND (run IS NULL OR run <> $2)
 AND seq > coalesce((SELECT b.seq FROM events b JOIN runs r ON r.base = b.checkpoint WHERE r.id = $2 AND b.thread = $1), 0)
 AND seq >= (SELECT line FROM thread_seq WHERE thread = $1))`,
		sqldb.In{at.Thread, at.Run}, sqldb.Out{&others})
	if others {
		b.snapshots = nil
	}
	return others, err
}

// stripAgreement removes from links all claims about states.
func stripAgreement(links []mapping.Link) []mapping.Link {
	links = slices.Clone(links)
	for i := range links {
		links[i].LocalCheckpoint = ""
	}
	return links
}

// withdraw removes the changes of a run from the newest state. It keeps the changes of concurrent runs by folding them
// again without those of the run. It returns false if another run began after this one, or a client changed the state
// after it, because they started from its changes.
func withdraw(t *sqldb.Tx, row *runRow) (taken bool, err error) {
	var at checkpointPos
	var follows bool
	if err := t.Get(`SELECT q.seq, q.line, q.base, q.line > r.from_seq + 1 OR EXISTS (SELECT 1 FROM runs n WHERE n.thread = r.thread AND n.from_seq >= r.last_seq AND n.started_us > 0 AND n.id <> r.id)
 FROM thread_seq q JOIN runs r ON r.thread = q.thread WHERE r.id = $1`, sqldb.In{row.key}, sqldb.Out{&at.seq, &at.line, &at.base, &follows}); err != nil || follows {
		return false, err
	}
	if changed, err := changedAfter(t, row, at.seq); err != nil || changed {
		return false, err
	}
	now, err := foldAt(t, row.thread, at)
	if err != nil {
		return false, err
	}
	without, err := foldWithout(t, row, at)
	if err != nil {
		return false, err
	}
	diff, _, err := now.DiffTo(without.JSON())
	if err != nil {
		return false, err
	}
	// The checkpoint is created even if it changes nothing now. It records that the run was removed, which matters if a
	// run that hides its changes is also removed later.
	made := mapping.Checkpoint{ID: mapping.NewID(), Source: withdrawn, RunID: row.ID, CreatedAt: sqldb.TimeOf(t.Now)}
	batch := eventBatch{thread: row.thread, events: []mapping.Event{{Kind: mapping.KindState, Data: diff, Head: mapping.Head{Checkpoint: &made}}}}
	from, _, err := batch.takeNumbers(t, advanceFree)
	if err == nil {
		_, err = batch.write(t, from)
	}
	return err == nil, err
}

// ranConcurrently reports whether a run changed the state while another run that still exists was active.
func ranConcurrently(t *sqldb.Tx, row *runRow) (yes bool, err error) {
	err = t.Get(`SELECT EXISTS (SELECT 1 FROM events WHERE thread = $1 AND run = $2 AND seq > $3 AND seq <= $4 AND line IS NOT NULL) AND EXISTS (SELECT 1 FROM runs n WHERE n.thread = $1 AND n.id <> $2 AND n.started_us > 0
 AND n.from_seq < $4 AND (n.ended_us = 0 OR n.last_seq > $3))`, sqldb.In{row.thread, row.key, row.from, row.to()}, sqldb.Out{&yes})
	return yes, err
}

// changedAfter reports whether a client changed the state after a run. Checkpoints of withdraw name the removed run and
// do not count.
func changedAfter(t *sqldb.Tx, row *runRow, until int64) (bool, error) {
	events, err := readEvents(t, row.thread, row.to(), 0, stateOnly, until)
	return slices.ContainsFunc(events, func(e mapping.Event) bool {
		return e.RunID == "" && e.Head.Checkpoint != nil && e.Head.Checkpoint.RunID == ""
	}), err
}

// foldWithout returns the state at a checkpoint without the changes of one run of its line and of the runs removed
// before. A run that began at an older checkpoint started the line. Events between the two are not part of its history.
func foldWithout(t *sqldb.Tx, row *runRow, at checkpointPos) (*state.Fold, error) {
	base, err := baseOf(t, row)
	if err != nil {
		return nil, err
	}
	events, err := readEvents(t, row.thread, max(base.seq, at.line-1), 0, stateOnly, at.seq)
	if err != nil {
		return nil, err
	}
	out := takenOut(events)
	for err == nil && base.seq > 0 && out[base.run] {
		base, err = base.before(t, row.thread)
	}
	if err == nil {
		events, err = readEvents(t, row.thread, max(base.seq, at.line-1), 0, stateOnly, at.seq)
	}
	if err != nil {
		return nil, err
	}
	fold, err := base.fold(t, row.thread)
	for i := 0; i < len(events) && err == nil; i++ {
		if doer := doerOf(&events[i]); doer != row.ID && !out[doer] {
			fold, err = fold.Apply(&events[i])
		}
	}
	return fold, err
}

// doerOf returns the run that an event belongs to or that it removes, or "" for a client.
func doerOf(e *mapping.Event) string {
	if e.RunID == "" && e.Head.Checkpoint != nil {
		return e.Head.Checkpoint.RunID
	}
	return e.RunID
}

// takenOut returns the runs that withdraw has removed from the state.
func takenOut(events []mapping.Event) map[string]bool {
	out := map[string]bool{}
	for _, e := range events {
		if c := e.Head.Checkpoint; e.RunID == "" && c != nil && c.RunID != "" && c.Source == withdrawn {
			out[c.RunID], out[""] = true, true // events that such a run logged between its checkpoints belong to no run
		}
	}
	return out
}

// withdrawn is the source of the checkpoint that removes a run. Clients see it as an update.
const withdrawn = "update"

// baseCheckpoint is a checkpoint that a run builds on.
type baseCheckpoint struct {
	checkpointPos
	run, parent string
}

func baseOf(t *sqldb.Tx, row *runRow) (baseCheckpoint, error) {
	return baseCheckpoint{parent: row.Base}.before(t, row.thread)
}

// before returns the preceding checkpoint, or zero, the empty state, if there is none.
func (f baseCheckpoint) before(t *sqldb.Tx, thread int64) (baseCheckpoint, error) {
	if f.parent == "" {
		return baseCheckpoint{}, nil
	}
	at, err := findCheckpoint(t, thread, f.parent)
	if err != nil {
		return baseCheckpoint{}, err
	}
	made, err := readEvents(t, thread, at.seq-1, 1, everything)
	if err != nil || len(made) == 0 || made[0].Head.Checkpoint == nil {
		return baseCheckpoint{checkpointPos: at}, err
	}
	return baseCheckpoint{at, doerOf(&made[0]), made[0].Head.Checkpoint.Parent}, nil
}

func (f baseCheckpoint) fold(t *sqldb.Tx, thread int64) (*state.Fold, error) {
	if f.seq == 0 {
		return state.NewFold(nil)
	}
	return foldAt(t, thread, f.checkpointPos)
}
