package store

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// overlapped reports whether others have changed the thread's state since the run began. What the run knows as its
// state is not the thread's then: its snapshots are not kept, and no link of it says that an agent has the same state.
// Asked only where that matters.
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

// stripAgreement takes from links what they say about states.
func stripAgreement(links []mapping.Link) []mapping.Link {
	links = slices.Clone(links)
	for i := range links {
		links[i].LocalCheckpoint = ""
	}
	return links
}

// withdraw takes out of the newest state what a run has done beside others that go on, or have: what they did is folded
// again without it. A run that another began after, or a client changed the state after, is not taken out (false): they
// had what it did for their start.
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
	// Made also where nothing changes now: it records that the run is out, when what hid its doing goes, too.
	made := mapping.Checkpoint{ID: mapping.NewID(), Source: withdrawn, RunID: row.ID, CreatedAt: sqldb.TimeOf(t.Now)}
	batch := eventBatch{thread: row.thread, events: []mapping.Event{{Kind: mapping.KindState, Data: diff, Head: mapping.Head{Checkpoint: &made}}}}
	from, _, err := batch.takeNumbers(t, advanceFree)
	if err == nil {
		_, err = batch.write(t, from)
	}
	return err == nil, err
}

// ranConcurrently reports whether a run has changed the state beside another that is still there.
func ranConcurrently(t *sqldb.Tx, row *runRow) (yes bool, err error) {
	err = t.Get(`SELECT EXISTS (SELECT 1 FROM events WHERE thread = $1 AND run = $2 AND seq > $3 AND seq <= $4 AND line IS NOT NULL) AND EXISTS (SELECT 1 FROM runs n WHERE n.thread = $1 AND n.id <> $2 AND n.started_us > 0
 AND n.from_seq < $4 AND (n.ended_us = 0 OR n.last_seq > $3))`, sqldb.In{row.thread, row.key, row.from, row.to()}, sqldb.Out{&yes})
	return yes, err
}

// changedAfter reports whether a client changed the state after a run. What takes out another run (withdraw) names that
// one, and is none.
func changedAfter(t *sqldb.Tx, row *runRow, until int64) (bool, error) {
	events, err := readEvents(t, row.thread, row.to(), 0, stateOnly, until)
	return slices.ContainsFunc(events, func(e mapping.Event) bool {
		return e.RunID == "" && e.Head.Checkpoint != nil && e.Head.Checkpoint.RunID == ""
	}), err
}

// foldWithout is the state at a checkpoint without what one run of its line did, nor those that were taken out before
// it. A run that began at an older checkpoint began the line: what lies between the two is none of its history.
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

// doerOf is the run that an event is of, also when that is removed; "" for a client.
func doerOf(e *mapping.Event) string {
	if e.RunID == "" && e.Head.Checkpoint != nil {
		return e.Head.Checkpoint.RunID
	}
	return e.RunID
}

// takenOut are the runs that withdraw has taken out of the state.
func takenOut(events []mapping.Event) map[string]bool {
	out := map[string]bool{}
	for _, e := range events {
		if c := e.Head.Checkpoint; e.RunID == "" && c != nil && c.RunID != "" && c.Source == withdrawn {
			out[c.RunID], out[""] = true, true // what such a run logged between its checkpoints counts for no run
		}
	}
	return out
}

// withdrawn is the source of the checkpoint that takes a run out: to clients it is an update.
const withdrawn = "update"

// baseCheckpoint is a checkpoint that a run stands on.
type baseCheckpoint struct {
	checkpointPos
	run, parent string
}

func baseOf(t *sqldb.Tx, row *runRow) (baseCheckpoint, error) {
	return baseCheckpoint{parent: row.Base}.before(t, row.thread)
}

// before is the checkpoint before one; without any it is zero: the empty state.
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
