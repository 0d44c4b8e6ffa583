package store

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// beside tells whether others have changed the thread's state since the run
// began. What the run knows as its state is not the thread's then: its snapshots
// are not kept, and no link of it says that an agent has the same state. Asked
// only where that matters.
func (s *stretch) beside(t *tx, at runKey, a Append) (others bool, err error) {
	if !at.shared || len(a.Snapshots) == 0 && len(a.Links) == 0 {
		return false, nil
	}
	err = t.get(`SELECT EXISTS (SELECT 1 FROM events WHERE thread = $1 AND line IS NOT NULL AND (run IS NULL OR run <> $2)
 AND seq > coalesce((SELECT b.seq FROM events b JOIN runs r ON r.base = b.checkpoint WHERE r.id = $2 AND b.thread = $1), 0)
 AND seq >= (SELECT line FROM thread_seq WHERE thread = $1))`,
		in{at.thread, at.run}, out{&others})
	if others {
		s.snapshots = nil
	}
	return others, err
}

// apart takes from links what they say about states.
func apart(links []mapping.Link) []mapping.Link {
	links = slices.Clone(links)
	for i := range links {
		links[i].LocalCheckpoint = ""
	}
	return links
}

// openQuestions adds to an end what other runs of the thread have asked
// meanwhile: a run that ends does not answer their questions.
func openQuestions(t *tx, thread int64, e *End) error {
	var body []byte
	if err := t.get(`SELECT interrupts FROM threads WHERE id = $1`, in{thread}, out{&body}); err != nil || len(body) == 0 {
		return err
	}
	var open []mapping.Interrupt
	if err := decode(body, &open); err != nil {
		return err
	}
	for _, q := range e.Outcome.Interrupts {
		if !slices.ContainsFunc(open, func(o mapping.Interrupt) bool { return o.ID == q.ID }) {
			open = append(open, q)
		}
	}
	e.Outcome.Interrupts, e.Thread = open, mapping.ThreadInterrupted
	return nil
}

// withdraw takes out of the newest state what a run has done beside others that
// go on, or have: what they did is folded again without it. A run that another
// began after is not taken out (false): that one had what it did for its start.
func withdraw(t *tx, row runRow) (taken bool, err error) {
	var at spot
	var follows bool
	if err := t.get(`SELECT q.seq, q.line, q.base, q.line > r.from_seq + 1 OR EXISTS (SELECT 1 FROM runs n WHERE n.thread = r.thread AND n.from_seq >= r.last_seq AND n.started_us > 0 AND n.id <> r.id)
 FROM thread_seq q JOIN runs r ON r.thread = q.thread WHERE r.id = $1`, in{row.key}, out{&at.seq, &at.line, &at.base, &follows}); err != nil || follows {
		return false, err
	}
	now, err := foldAt(t, row.thread, at)
	if err != nil {
		return false, err
	}
	without, err := foldWithout(t, row, at.seq)
	if err != nil {
		return false, err
	}
	diff, _, err := now.DiffTo(without.JSON())
	if err != nil || diff == nil {
		return err == nil, err
	}
	made := mapping.Checkpoint{ID: mapping.NewID(), Source: "update", CreatedAt: timeOf(t.now)}
	part := stretch{thread: row.thread, events: []mapping.Event{{Kind: mapping.KindState, Data: diff, Head: mapping.Head{Checkpoint: &made}}}}
	from, _, err := part.take(t, advanceFree)
	if err == nil {
		_, err = part.write(t, from)
	}
	return err == nil, err
}

// foldWithout is the state at a number without what one run did.
func foldWithout(t *tx, row runRow, seq int64) (*mapping.Fold, error) {
	fold, err := mapping.NewFold(nil)
	var base spot
	if row.Base != "" && err == nil {
		if base, err = findSpot(t, row.thread, row.Base); err == nil {
			fold, err = foldAt(t, row.thread, base)
		}
	}
	if err != nil {
		return nil, err
	}
	events, err := readEvents(t, row.thread, base.seq, 0, stateOnly, seq)
	for i := 0; i < len(events) && err == nil; i++ {
		if events[i].RunID != row.ID {
			fold, err = fold.Apply(events[i])
		}
	}
	return fold, err
}
