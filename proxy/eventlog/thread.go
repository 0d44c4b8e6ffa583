package eventlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/mapping/state"
)

const (
	// pollThread limits the time for which changes by other processes can go unnoticed by waiters of a thread. The
	// start of a run and a deletion are not announced, and notices may be lost.
	pollThread = 2 * time.Second
	// pollAlone is used instead of pollThread for a database to which no other process writes, since each write
	// notifies the thread's waiters.
	pollAlone = time.Minute
)

// pollOf returns the interval at which waiters of a thread query the store without a notification. shared means that
// other processes may write to it.
func pollOf(shared bool) time.Duration {
	if shared {
		return pollThread
	}
	return pollAlone
}

// AwaitThread returns when a thread exists, or with ctx's error when ctx ends. It notices the creation at once in this
// process, and within pollThread in another one.
func (l *Log) AwaitThread(ctx context.Context, threadID string) error {
	w := l.Watch(threadID)
	defer w.Leave()
	for {
		ch := w.Next()
		_, err := l.events.LastSeq(ctx, threadID)
		if err == nil || mapping.Classify(err).Class != mapping.NotFound {
			return err
		}
		if err := w.Wait(ctx, ch); err != nil {
			return err
		}
	}
}

// FollowThread yields the entries of a thread with Seq > after, of all its runs and of updates between them, in order,
// and waits for more. It ends with ctx's error when ctx ends, and with NotFound if the thread is deleted. It yields
// nothing more of a run that is deleted. idle is as in Follow.
func (l *Log) FollowThread(ctx context.Context, threadID string, after int64, idle func()) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		r := &threadReader{Log: l, thread: threadID, seq: after, signal: l.signals.enter(threadID), idle: idle}
		defer l.signals.leave(threadID)
		for {
			ch := l.signals.next(r.signal)
			more, err := r.advance(ctx, yield)
			if r.left {
				return
			}
			if err == nil && !more {
				if idle != nil {
					idle()
				}
				err = pause.Until(ctx, l.threadPoll, ch)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// errLeft stops a reader that wants no more. No caller sees it.
var errLeft = errors.New("no more is wanted")

// threadReader follows a thread. Not safe for concurrent use.
type threadReader struct {
	*Log
	thread string
	signal *threadSignal
	seq    int64       // everything up to here was yielded or not requested
	fold   *state.Fold // the state at seq; nil if not known
	left   bool        // no more is wanted
	idle   func()      // as in reader

	heard  <-chan struct{} // taken before the last query, which found no events of others; closed by the next notification
	looked time.Time       // time of that query
}

// advance yields the next event and everything that belongs to it: an update, or a run up to its end. more is false if
// there is none yet.
func (r *threadReader) advance(ctx context.Context, yield yielder) (more bool, err error) {
	evs, err := r.events.List(ctx, r.thread, "", r.seq, 1)
	if err != nil || len(evs) == 0 {
		return false, err
	}
	if evs[0].RunID == "" {
		return true, r.between(ctx, evs[0], yield)
	}
	rd, err := r.reading(ctx, evs[0].RunID)
	if rd == nil || err != nil {
		return rd == nil && err == nil, err
	}
	defer rd.leave()
	return true, r.through(ctx, rd, yield)
}

// reading starts to read a run. It returns nil if the run was deleted with its events.
func (r *threadReader) reading(ctx context.Context, runID string) (*reader, error) {
	run, err := r.runs.Get(ctx, r.thread, runID)
	if mapping.Classify(err).Class == mapping.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.reader(run, r.seq, r.idle), nil
}

// through yields a run up to its end, with events of others in their places between its own: a queued run that was
// cancelled, or an update.
func (r *threadReader) through(ctx context.Context, rd *reader, yield yielder) error {
	var failed error
	rd.pollOthers = func() (<-chan struct{}, error) { return r.pollOthers(ctx, rd.buffer.run.ID, yield) }
	rd.follow(ctx, func(e *state.Entry, err error) bool {
		if failed = err; err == nil && e.Seq > r.seq+1 {
			failed = r.gap(ctx, e, yield)
		}
		if failed != nil || r.left {
			return false
		}
		r.give(e, yield)
		return !r.left
	})
	if ctx.Err() == nil && mapping.Classify(failed).Code == mapping.CodeRunNotFound {
		return nil // the run was deleted, but the thread continues
	}
	return failed
}

// pollOthers yields events of others than the followed run after the position, if it was notified or the last query is
// older than threadPoll (pollOf). It returns the channel that the next notification closes. It stops before an event of
// the run itself, which is about to be published. Later events follow after that.
func (r *threadReader) pollOthers(ctx context.Context, runID string, yield yielder) (<-chan struct{}, error) {
	ch := r.signals.nextOfOthers(r.signal, runID)
	if ch == r.heard && time.Since(r.looked) < r.threadPoll {
		return ch, nil
	}
	for !r.left {
		evs, err := r.events.List(ctx, r.thread, "", r.seq, 1)
		if err != nil || len(evs) > 0 && evs[0].RunID == runID {
			return ch, err
		}
		if len(evs) == 0 {
			r.heard, r.looked = ch, time.Now()
			return ch, nil
		}
		if err := r.between(ctx, evs[0], yield); err != nil {
			return ch, err
		}
	}
	return nil, errLeft
}

// gap yields the events between the position and an entry of a run. Usually there are none, because missing numbers are
// mostly those of deleted runs.
func (r *threadReader) gap(ctx context.Context, until *state.Entry, yield yielder) error {
	for !r.left {
		evs, err := r.events.List(ctx, r.thread, "", r.seq, 1)
		if err != nil || len(evs) == 0 || evs[0].Seq >= until.Seq {
			return err
		}
		if err := r.between(ctx, evs[0], yield); err != nil {
			return err
		}
	}
	return nil
}

// between yields an event that does not belong to the followed run.
func (r *threadReader) between(ctx context.Context, ev mapping.Event, yield yielder) error {
	e, err := r.entry(ctx, ev)
	if err == nil {
		r.give(e, yield)
	}
	return err
}

// entry folds a single event, as its run does if the run has begun.
func (r *threadReader) entry(ctx context.Context, ev mapping.Event) (*state.Entry, error) {
	if ev.RunID != "" {
		run, err := r.runs.Get(ctx, r.thread, ev.RunID)
		if err == nil {
			var list []*state.Entry
			if list, err = r.Read(ctx, run, ev.Seq-1); err == nil && len(list) > 0 && list[0].Seq == ev.Seq {
				return list[0], nil
			}
		}
		if err != nil && mapping.Classify(err).Class != mapping.NotFound {
			return nil, err
		}
	}
	before := r.fold
	if before == nil {
		var err error
		if before, err = state.NewFold(nil); err != nil {
			return nil, err
		}
	}
	after := before
	if c := ev.Head.Checkpoint; c != nil {
		switch f, err := r.Base(ctx, r.thread, c.ID); {
		case err == nil:
			after = f
		case mapping.Classify(err).Class != mapping.NotFound: // otherwise it is no longer kept
			return nil, err
		}
	}
	return &state.Entry{Event: ev, Before: before, After: after}, nil
}

func (r *threadReader) give(e *state.Entry, yield yielder) {
	r.seq, r.fold = e.Seq, e.After
	r.left = !yield(e, nil)
}
