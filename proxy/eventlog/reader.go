package eventlog

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// reader follows a run. Used by one goroutine.
type reader struct {
	*Log
	buffer *RunBuffer
	seq    int64         // everything up to here was yielded or not asked for
	place  *cursor       // nil: it does not follow
	seen   view          // of the buffer, when it was looked at last: what to wait for next
	fold   *state.Fold   // the state at seq; nil: not known
	poll   time.Duration // until the next look at the store
	idle   func()        // called before every wait; nil: nothing
	woken  time.Time     // when what is delivered next was published; zero: it was there before the reader came

	// pollOthers is asked before every wait, if there is one, and may say what else ends the wait. It is asked again
	// after Log.threadPoll at the latest.
	pollOthers func() (<-chan struct{}, error)
}

// reader begins to follow a run after a position; leave must follow.
func (l *Log) reader(run *mapping.Run, after int64, idle func()) *reader {
	l.readers.enter(run.ThreadID)
	return &reader{Log: l, buffer: l.use(run), seq: after, poll: pollFirst, idle: idle}
}

func (r *reader) leave() {
	r.Log.leave(r.buffer)
	r.readers.leave(r.buffer.run.ThreadID)
}

type yielder = func(*state.Entry, error) bool

func (r *reader) follow(ctx context.Context, yield yielder) {
	r.place = r.buffer.follow(r.seq)
	defer r.buffer.unfollow(r.place)
	if err := r.join(ctx); err != nil {
		yield(nil, err)
		return
	}
	for {
		before := r.seq
		ok := r.deliver(ctx, yield)
		if ok {
			r.rest()
		}
		r.noteLatency(r.seq > before)
		if !ok {
			return
		}
		done, err := r.pause(ctx)
		if err != nil {
			yield(nil, err)
		}
		if done || err != nil {
			return
		}
	}
}

// join flushes the entries that were published without a follower. Any later commit is flushed before it is published:
// see eventWriter.commit.
func (r *reader) join(ctx context.Context) error {
	if err := r.flush(); err != nil {
		return err
	}
	return r.fill(ctx, r.buffer)
}

// deliver yields the present entries. ok means the same as in readGap.
func (r *reader) deliver(ctx context.Context, yield yielder) (ok bool) {
	ok = r.look(ctx, yield)
	for i := 0; ok && i < len(r.seen.entries); i++ {
		ok = r.give(r.seen.entries[i], yield)
	}
	r.seen.entries = nil
	return ok
}

// look sees what of the buffer follows the reader's position, yielding from the store what the buffer has dropped. ok
// means the same as in readGap.
func (r *reader) look(ctx context.Context, yield yielder) (ok bool) {
	for {
		from := r.seq
		r.seen = r.buffer.after(from, r.place)
		if !r.seen.gap {
			return true
		}
		if !r.readGap(ctx, yield) {
			return false
		}
		if r.seq == from { // the store has nothing in between (any more): the view, which is older, does follow
			return true
		}
	}
}

// give yields an entry; false: no more is wanted, or the run has ended.
func (r *reader) give(e *state.Entry, yield yielder) bool {
	r.seq, r.fold, r.poll = e.Seq, e.After, pollFirst
	return yield(e, nil) && e.Kind != mapping.KindEnd
}

// pause waits, after pollOthers has looked.
func (r *reader) pause(ctx context.Context) (done bool, err error) {
	var rung <-chan struct{}
	if r.pollOthers != nil {
		if rung, err = r.pollOthers(); err != nil {
			return false, err
		}
		r.rest() // it may have yielded something
	}
	return r.wait(ctx, rung)
}

// noteLatency notes how late entries were delivered that the reader has waited for.
func (r *reader) noteLatency(some bool) {
	if some && !r.woken.IsZero() && r.lag != nil {
		r.lag(time.Since(r.woken))
	}
	r.woken = time.Time{}
}

// rest reports to idle that a wait begins.
func (r *reader) rest() {
	if r.idle != nil {
		r.idle()
	}
}

// wait returns when there may be more to read. done: there never will be. rung, which may be nil, ends it too.
func (r *reader) wait(ctx context.Context, rung <-chan struct{}) (done bool, err error) {
	v := &r.seen
	switch {
	case v.gone:
		return true, errDeleted(r.buffer.run.ID)
	case v.ended:
		return true, nil
	case v.stalled != nil:
		return false, v.stalled
	case v.owned && rung == nil:
		err = attend(ctx, v.changed)
	default:
		err = r.watch(ctx, rung)
	}
	r.wake()
	return false, err
}

// wake notes when the reader was rung for; of what it found by looking the time is not known.
func (r *reader) wake() {
	select {
	case <-r.seen.ring.done:
		r.woken = r.seen.ring.at
	default:
	}
}

// attend waits for a publication.
func attend(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch looks into the store from time to time, too. What is published here is rung for, so that of a run which this
// process executes only what lies beside it is looked for.
func (r *reader) watch(ctx context.Context, rung <-chan struct{}) error {
	poll := r.poll
	switch {
	case r.seen.owned:
		poll = r.threadPoll
	case rung != nil:
		poll = min(poll, r.threadPoll)
	}
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-r.seen.changed:
	case <-rung:
	case <-timer.C:
		r.poll = min(2*r.poll, pollMost)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return r.fill(ctx, r.buffer)
}

// readGap yields from the store what the buffer has dropped, and all that follows there. Where the state at the
// position is not known it folds from the run's start. false: no more is wanted, or it failed and said so.
func (r *reader) readGap(ctx context.Context, yield yielder) bool {
	fold, seq := r.fold, r.seq
	if fold == nil {
		var err error
		if fold, err = r.runBase(ctx, &r.buffer.run); err != nil {
			yield(nil, err)
		}
		if fold == nil {
			return err == nil
		}
		seq = 0
	}
	for {
		entries, err := r.read(ctx, &r.buffer.run, fold, seq)
		if err != nil {
			yield(nil, err)
			return false
		}
		for _, e := range entries {
			if e.Seq > r.seq && !r.give(e, yield) {
				return false
			}
		}
		if len(entries) < readBatch {
			return true
		}
		newest := entries[len(entries)-1]
		fold, seq = newest.After, newest.Seq
	}
}
