package eventlog

import (
	"context"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

const (
	readBatch = 512
	// pollEvery is how often a reader of a run that is not executed here looks
	// at the store when nothing rang.
	pollEvery = time.Second
)

// Follow yields the entries of a run with Seq > after, then waits for more,
// until the end event, which is the last. It ends with ctx's error when ctx
// ends, and with NotFound when the run is deleted meanwhile.
func (l *Log) Follow(ctx context.Context, run mapping.Run, after int64) iter.Seq2[*mapping.Entry, error] {
	return func(yield func(*mapping.Entry, error) bool) {
		l.readers.enter(run.ThreadID)
		defer l.readers.leave(run.ThreadID)
		t, err := l.open(ctx, run)
		if err != nil {
			yield(nil, err)
			return
		}
		l.follow(ctx, t, run, after, yield)
	}
}

func (l *Log) follow(ctx context.Context, t *Tail, run mapping.Run, after int64, yield func(*mapping.Entry, error) bool) {
	for {
		v := t.after(after)
		if v.gap {
			var ok bool
			if after, ok = l.readGap(ctx, run, after, yield); !ok {
				return
			}
			continue
		}
		for _, e := range v.entries {
			after = e.Seq
			if !yield(e, nil) || e.Kind == mapping.KindEnd {
				return
			}
		}
		if done, err := l.settled(ctx, t, run, v); done || err != nil {
			if err != nil {
				yield(nil, err)
			}
			return
		}
	}
}

// Read returns what is logged of a run after a position now, without waiting.
func (l *Log) Read(ctx context.Context, run mapping.Run, after int64) ([]*mapping.Entry, error) {
	t, err := l.open(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := l.fill(ctx, t, run); err != nil {
		return nil, err
	}
	v := t.after(after)
	if !v.gap {
		return v.entries, nil
	}
	var list []*mapping.Entry
	l.readGap(ctx, run, after, func(e *mapping.Entry, failed error) bool {
		list, err = append(list, e), failed
		return failed == nil
	})
	return list, err
}

// settled waits until there may be more to read. done: there never will be.
func (l *Log) settled(ctx context.Context, t *Tail, run mapping.Run, v view) (done bool, err error) {
	switch {
	case v.gone:
		return true, errDeleted(run.ID)
	case v.ended:
		return true, nil
	case v.owned:
		select {
		case <-v.changed:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-v.changed:
	case <-timer.C:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return false, l.fill(ctx, t, run)
}

// open returns the run's tail, filled from the store when no execution of this
// process fills it.
func (l *Log) open(ctx context.Context, run mapping.Run) (*Tail, error) {
	if t := l.known(run.ID); t != nil {
		return t, nil
	}
	if !run.Status.Active() {
		t := newTail(run)
		if err := l.fill(ctx, t, run); err != nil {
			return nil, err
		}
		l.ended.Add(run.ID, t)
		return t, nil
	}
	t := l.tail(run)
	return t, l.fill(ctx, t, run)
}

// fill publishes what the store has beyond the tail. A no-op while an
// execution of this process publishes.
func (l *Log) fill(ctx context.Context, t *Tail, run mapping.Run) error {
	if t.after(0).owned {
		return nil
	}
	fold, last := t.newest()
	if fold == nil {
		var err error
		if fold, err = l.runBase(ctx, run); err != nil {
			return err
		}
		t.setBase(fold)
	}
	for {
		entries, err := l.read(ctx, run, fold, last)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return l.retire(ctx, t, run)
		}
		t.Publish(entries)
		newest := entries[len(entries)-1]
		fold, last = newest.After, newest.Seq
	}
}

// runBase reads the state a run starts from. A pending run's base is only
// fixed when it starts, so the row is read anew.
func (l *Log) runBase(ctx context.Context, run mapping.Run) (*mapping.Fold, error) {
	fresh, err := l.st.Run(ctx, run.ThreadID, run.ID)
	if err != nil {
		return nil, err
	}
	if fresh.Status == mapping.RunPending {
		return nil, nil
	}
	return l.Base(ctx, run.ThreadID, fresh.Base)
}

// retire moves a tail that turned out to be of an ended run to the cache.
func (l *Log) retire(ctx context.Context, t *Tail, run mapping.Run) error {
	if v := t.after(0); v.ended {
		l.Ended(t)
		return nil
	}
	_, err := l.st.Run(ctx, run.ThreadID, run.ID)
	if err != nil {
		l.Removed(run.ID)
	}
	return err
}

// read returns the next entries from the store, folded on from fold.
func (l *Log) read(ctx context.Context, run mapping.Run, fold *mapping.Fold, after int64) ([]*mapping.Entry, error) {
	if fold == nil {
		return nil, nil
	}
	evs, err := l.st.Events(ctx, run.ThreadID, run.ID, after, readBatch)
	if err != nil {
		return nil, err
	}
	return Fold(fold, evs)
}

// Fold makes entries of events, starting from the state before them.
func Fold(before *mapping.Fold, evs []mapping.Event) ([]*mapping.Entry, error) {
	entries := make([]*mapping.Entry, 0, len(evs))
	for _, ev := range evs {
		after, err := before.Apply(ev)
		if err != nil {
			return nil, err
		}
		entries = append(entries, &mapping.Entry{Event: ev, Before: before, After: after})
		before = after
	}
	return entries, nil
}

// readGap yields entries that the tail has dropped. It folds from the run's
// start, since the state at the position is not kept.
func (l *Log) readGap(ctx context.Context, run mapping.Run, after int64, yield func(*mapping.Entry, error) bool) (int64, bool) {
	fold, err := l.runBase(ctx, run)
	if err != nil {
		yield(nil, err)
		return after, false
	}
	for seq := int64(0); ; {
		entries, err := l.read(ctx, run, fold, seq)
		if err != nil {
			yield(nil, err)
			return after, false
		}
		for _, e := range entries {
			if e.Seq > after {
				after = e.Seq
				if !yield(e, nil) || e.Kind == mapping.KindEnd {
					return after, false
				}
			}
		}
		if len(entries) < readBatch {
			return after, true
		}
		newest := entries[len(entries)-1]
		fold, seq = newest.After, newest.Seq
	}
}

func errDeleted(runID string) error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeRunNotFound, "Run %s was deleted while it was being read.", runID)
}
