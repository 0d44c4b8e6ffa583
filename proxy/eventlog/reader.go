package eventlog

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// reader follows a run. Not safe for concurrent use.
type reader struct {
	*Log
	buffer *RunBuffer
	seq    int64         // everything up to here was yielded or not requested
	cursor *cursor       // nil if it does not follow
	seen   view          // the last view of the buffer; determines what to wait for next
	fold   *state.Fold   // the state at seq; nil if not known
	poll   time.Duration // until the next query of the store
	idle   func()        // called before every wait; may be nil
	woken  time.Time     // when the next entries were published; zero if that was before the reader started

	// pollOthers, if set, is called before every wait and may return another channel that ends the wait. It is called
	// again after Log.threadPoll at the latest.
	pollOthers func() (<-chan struct{}, error)
}

// reader starts to follow a run after a position. The caller must call leave.
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
	r.cursor = r.buffer.follow(r.seq)
	defer r.buffer.unfollow(r.cursor)
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

// join flushes entries that were published without a follower. Later commits are flushed before they are published: see
// eventWriter.commit.
func (r *reader) join(ctx context.Context) error {
	if err := r.flush(); err != nil {
		return err
	}
	return r.fill(ctx, r.buffer)
}

// deliver yields the current entries. ok is as in readGap.
func (r *reader) deliver(ctx context.Context, yield yielder) (ok bool) {
	ok = r.look(ctx, yield)
	for i := 0; ok && i < len(r.seen.entries); i++ {
		ok = r.give(r.seen.entries[i], yield)
	}
	r.seen.entries = nil
	return ok
}

// look updates the view of the buffer after the reader's position. Entries that the buffer has dropped are yielded from
// the store. ok is as in readGap.
func (r *reader) look(ctx context.Context, yield yielder) (ok bool) {
	for {
		from := r.seq
		r.seen = r.buffer.after(from, r.cursor)
		if !r.seen.gap {
			return true
		}
		if !r.readGap(ctx, yield) {
			return false
		}
		if r.seq == from { // the store has nothing (more) in between, so the older view does follow
			return true
		}
	}
}

// give yields an entry. It returns false if no more is wanted or the run has ended.
func (r *reader) give(e *state.Entry, yield yielder) bool {
	r.seq, r.fold, r.poll = e.Seq, e.After, pollFirst
	return yield(e, nil) && e.Kind != mapping.KindEnd
}

// pause calls pollOthers and waits.
func (r *reader) pause(ctx context.Context) (done bool, err error) {
	var signal <-chan struct{}
	if r.pollOthers != nil {
		if signal, err = r.pollOthers(); err != nil {
			return false, err
		}
		r.rest() // pollOthers may have yielded something
	}
	return r.wait(ctx, signal)
}

// noteLatency reports the delay of entries for which the reader had waited.
func (r *reader) noteLatency(some bool) {
	if some && !r.woken.IsZero() && r.lag != nil {
		r.lag(time.Since(r.woken))
	}
	r.woken = time.Time{}
}

// rest calls idle before a wait.
func (r *reader) rest() {
	if r.idle != nil {
		r.idle()
	}
}

// wait returns when there may be more to read. done reports that there never will be any. signal, which may be nil, also
// ends the wait.
func (r *reader) wait(ctx context.Context, signal <-chan struct{}) (done bool, err error) {
	v := &r.seen
	switch {
	case v.gone:
		return true, errDeleted(r.buffer.run.ID)
	case v.ended:
		return true, nil
	case v.stalled != nil:
		return false, v.stalled
	case v.owned && signal == nil:
		err = attend(ctx, v.changed)
	default:
		err = r.watch(ctx, signal)
	}
	r.wake()
	return false, err
}

// wake records when the reader was notified. For entries found by polling that time is not known.
func (r *reader) wake() {
	select {
	case <-r.seen.ring.done:
		r.woken = r.seen.ring.at
	default:
	}
}

func attend(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch waits for a notification and also polls the store. If this process executes the run, its own entries are always
// announced, so only other events of the thread are polled.
func (r *reader) watch(ctx context.Context, signal <-chan struct{}) error {
	poll := r.poll
	switch {
	case r.seen.owned:
		poll = r.threadPoll
	case signal != nil:
		poll = min(poll, r.threadPoll)
	}
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-r.seen.changed:
	case <-signal:
	case <-timer.C:
		r.poll = min(2*r.poll, pollMost)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return r.fill(ctx, r.buffer)
}

// readGap yields from the store the entries that the buffer has dropped, and all later ones there. If the state at the
// position is not known, it folds from the run's start. It returns false if no more is wanted or after an error, which
// it yields.
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
