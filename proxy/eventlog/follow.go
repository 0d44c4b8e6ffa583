package eventlog

import (
	"context"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

const (
	readBatch = 512
	// pollFirst is the time after which a reader of a run that is not executed here queries the store without a
	// notification. Each query without a result doubles the interval, up to pollMost.
	pollFirst = time.Second
	pollMost  = 16 * time.Second
)

// Follow yields the entries of a run with Seq > after and waits for more, until the end event, which is the last. It
// ends with ctx's error when ctx ends, and with NotFound if the run is deleted. idle, which may be nil, is called
// whenever all present entries have been yielded.
func (l *Log) Follow(ctx context.Context, run *mapping.Run, after int64, idle func()) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		r := l.reader(run, after, idle)
		defer r.leave()
		r.follow(ctx, yield)
	}
}

// End waits until the run has ended and returns its end entry. Unlike Follow it is not woken by earlier entries.
func (l *Log) End(ctx context.Context, run *mapping.Run) (*state.Entry, error) {
	r := l.reader(run, 0, nil)
	defer r.leave()
	if err := l.fill(ctx, r.buffer); err != nil {
		return nil, err
	}
	for {
		v := r.buffer.after(-1, nil)
		if v.ended {
			return v.entries[len(v.entries)-1], nil
		}
		v.entries, v.changed = nil, v.settled
		r.seen = v
		if _, err := r.wait(ctx, nil); err != nil {
			return nil, err
		}
	}
}

// Read returns the entries of a run after a position. It waits only until a newly started execution of this process has
// published the entries logged earlier. Entries that it reads from the store are returned directly, even if the buffer
// has dropped them, as it does with long entries and those that all followers have read.
func (l *Log) Read(ctx context.Context, run *mapping.Run, after int64) (list []*state.Entry, err error) {
	r := &reader{Log: l, buffer: l.use(run), seq: after}
	defer l.leave(r.buffer)
	if err := r.buffer.awaitBegin(ctx); err != nil {
		return nil, err
	}
	whole := false // list contains everything after the position
	err = l.fillWith(ctx, r.buffer, func(from int64, entries []*state.Entry) {
		whole = whole || from <= after
		for _, e := range entries {
			if whole && e.Seq > after {
				list = append(list, e)
			}
		}
	})
	if err == nil && !whole {
		list, err = r.held(ctx)
	}
	if err != nil {
		return list, err
	}
	return list, l.flush()
}

// held returns all current entries after the reader's position.
func (r *reader) held(ctx context.Context) (list []*state.Entry, err error) {
	ok := r.look(ctx, func(e *state.Entry, failed error) bool {
		if err = failed; err == nil {
			list = append(list, e)
		}
		return err == nil
	})
	if !ok {
		return list, err
	}
	return append(list, r.seen.entries...), nil
}

// fill publishes entries that are in the store but not in the buffer. It does nothing while an execution of this
// process publishes, or after the run has ended.
func (l *Log) fill(ctx context.Context, t *RunBuffer) error {
	return l.fillWith(ctx, t, func(int64, []*state.Entry) {})
}

// fillWith is like fill, but also passes the entries that it read, and the position before them, to took.
func (l *Log) fillWith(ctx context.Context, t *RunBuffer, took func(from int64, entries []*state.Entry)) error {
	fold, last, needed := t.newest()
	if !needed {
		return nil
	}
	if fold == nil {
		base, err := l.runBase(ctx, &t.run)
		if err != nil || base == nil {
			return err
		}
		fold = t.setBase(base)
	}
	for {
		entries, err := l.read(ctx, &t.run, fold, last)
		if err != nil || len(entries) == 0 {
			return err
		}
		t.Publish(entries)
		took(last, entries)
		newest := entries[len(entries)-1]
		fold, last = newest.After, newest.Seq
	}
}

// runBase reads the state a run starts from. It returns nil while the run is pending, since the base is not fixed
// before it starts.
func (l *Log) runBase(ctx context.Context, run *mapping.Run) (*state.Fold, error) {
	fresh, err := l.runs.State(ctx, run.ThreadID, run.ID)
	if err != nil {
		return nil, l.lost(run, err)
	}
	if fresh.Status == mapping.RunPending {
		return nil, nil
	}
	base, err := l.Base(ctx, run.ThreadID, fresh.Base)
	if err != nil && mapping.Classify(err).Code == mapping.CodeCheckpointNotFound {
		err = mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
			"Run %s cannot be replayed: the state from which it began is no longer kept (retention.checkpoints).", run.ID)
	}
	return base, err
}

// read returns the next entries from the store, folded onto fold.
func (l *Log) read(ctx context.Context, run *mapping.Run, fold *state.Fold, after int64) ([]*state.Entry, error) {
	evs, err := l.events.List(ctx, run.ThreadID, run.ID, after, readBatch)
	if err != nil {
		return nil, l.lost(run, err)
	}
	return Fold(fold, evs)
}

// lost notifies every reader of a run that was deleted.
func (l *Log) lost(run *mapping.Run, err error) error {
	if mapping.Classify(err).Class != mapping.NotFound {
		return err
	}
	l.Evict(run.ID)
	return errDeleted(run.ID)
}

// Fold returns the entries of events, folded onto the state before them.
func Fold(before *state.Fold, evs []mapping.Event) ([]*state.Entry, error) {
	entries := make([]*state.Entry, 0, len(evs))
	for _, ev := range evs {
		after, err := before.Apply(&ev)
		if err != nil {
			return nil, err
		}
		entries = append(entries, &state.Entry{Event: ev, Before: before, After: after})
		before = after
	}
	return entries, nil
}

func errDeleted(runID string) error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeRunNotFound, "Run %s was deleted while it was being read.", runID)
}
