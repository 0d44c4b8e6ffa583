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
	// pollThread bounds how long what other processes did goes unnoticed by those that wait for something on a thread:
	// no notice tells of a run that begins or of a deletion, and notices may be lost.
	pollThread = 2 * time.Second
	// pollAlone is pollThread of a thread that no other process writes to: each write rings its signal.
	pollAlone = time.Minute
)

// pollOf is how often those that wait for something on a thread look at the store when nothing rings. shared: other
// processes may write to it.
func pollOf(shared bool) time.Duration {
	if shared {
		return pollThread
	}
	return pollAlone
}

// AwaitThread returns when a thread is there, with ctx's error when ctx ends. It hears at once of one that this process
// makes, and within pollThread of one that another does.
func (l *Log) AwaitThread(ctx context.Context, threadID string) error {
	w := l.Watch(threadID)
	defer w.Leave()
	for {
		rung := w.Next()
		_, err := l.events.LastSeq(ctx, threadID)
		if err == nil || mapping.Classify(err).Class != mapping.NotFound {
			return err
		}
		if err := w.Wait(ctx, rung); err != nil {
			return err
		}
	}
}

// FollowThread yields the entries of a thread with Seq > after, of all its runs and of updates between them, in order,
// and waits for more. It ends with ctx's error when ctx ends, and with NotFound when the thread is deleted. Of a run
// that is deleted meanwhile nothing more is yielded. idle means the same as in Follow.
func (l *Log) FollowThread(ctx context.Context, threadID string, after int64, idle func()) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		r := &threadReader{Log: l, thread: threadID, seq: after, signal: l.signals.enter(threadID), idle: idle}
		defer l.signals.leave(threadID)
		for {
			rung := l.signals.next(r.signal)
			more, err := r.advance(ctx, yield)
			if r.left {
				return
			}
			if err == nil && !more {
				if idle != nil {
					idle()
				}
				err = pause.Until(ctx, l.threadPoll, rung)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// errLeft stops a reader that is not wanted any more; no caller sees it.
var errLeft = errors.New("no more is wanted")

// threadReader is one that follows a thread. Used by one goroutine.
type threadReader struct {
	*Log
	thread string
	signal *threadSignal
	seq    int64       // everything up to here was yielded or not asked for
	fold   *state.Fold // the state at seq; nil: not known
	left   bool        // no more is wanted
	idle   func()      // as in reader

	heard  <-chan struct{} // nothing of others was there when it had not rung yet,
	looked time.Time       // at that time
}

// advance yields what begins with the next event: an update, or a run to its end. more is false when there is none yet.
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

// reading begins to read a run; nil where it was deleted, with its events.
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

// through yields a run to its end, and in their places events of others that lie between its own: a run that was
// cancelled while it waited, an update.
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
	return r.unlessGone(ctx, failed)
}

// unlessGone is err, unless it says that a run was deleted: the thread goes on.
func (r *threadReader) unlessGone(ctx context.Context, err error) error {
	if ctx.Err() == nil && err != nil && mapping.Classify(err).Code == mapping.CodeRunNotFound {
		return nil
	}
	return err
}

// pollOthers yields what was logged after the position by others than the run that is followed, when the signal rang
// for them or long after the last look (pollOf), and returns the channel that their next ring closes. It stops before
// an event of the run itself: that is about to be published, and what follows it has its turn afterwards.
func (r *threadReader) pollOthers(ctx context.Context, runID string, yield yielder) (<-chan struct{}, error) {
	rung := r.signals.beside(r.signal, runID)
	if rung == r.heard && time.Since(r.looked) < r.threadPoll {
		return rung, nil
	}
	for !r.left {
		evs, err := r.events.List(ctx, r.thread, "", r.seq, 1)
		if err != nil || len(evs) > 0 && evs[0].RunID == runID {
			return rung, err
		}
		if len(evs) == 0 {
			r.heard, r.looked = rung, time.Now()
			return rung, nil
		}
		if err := r.between(ctx, evs[0], yield); err != nil {
			return rung, err
		}
	}
	return nil, errLeft
}

// gap yields what lies between the position and an entry of a run. It is seldom anything: what a number is missing for
// is mostly gone.
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

// between yields an event that is not of the run that is followed.
func (r *threadReader) between(ctx context.Context, ev mapping.Event, yield yielder) error {
	e, err := r.entry(ctx, ev)
	if err == nil {
		r.give(e, yield)
	}
	return err
}

// entry folds an event by itself: as its run does, where it has one that began.
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
		case mapping.Classify(err).Class != mapping.NotFound: // else it is not kept any more
			return nil, err
		}
	}
	return &state.Entry{Event: ev, Before: before, After: after}, nil
}

func (r *threadReader) give(e *state.Entry, yield yielder) {
	r.seq, r.fold = e.Seq, e.After
	r.left = !yield(e, nil)
}
