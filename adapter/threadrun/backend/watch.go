package backend

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

// errRunEnded is the cause of a stream that was closed here: its run had ended, or the server said that the stream is
// over.
var errRunEnded = errors.New("the run has ended, though its stream was still open")

// When a watch asks how the run stands: so long after the frames of an end, and then after each answer that it goes on.
// A server that closes its streams at the end is not asked.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = time.Second
)

// quietFor is how long a stream is read on after its run has ended, at the least.
const quietFor = 20 * time.Millisecond

// endWaiter closes a stream whose run has ended. Servers may keep it open: version 1.4.6 of the JavaScript one does so
// for half a second, in which the thread would be busy though its question is asked. It begins to ask when the frames
// told an end. Frames may still be on their way when the server says that the run has ended, so the stream is left when
// it has been quiet for as long as that answer took.
type endWaiter struct {
	b      *backend
	ctx    context.Context // of the stream
	leave  context.CancelCauseFunc
	frames atomic.Int64
	told   atomic.Bool
	asking chan struct{} // closed when the goroutine has ended; nil: not begun
	soon   *time.Timer   // closes a stream that is over; nil: not begun
}

// watch watches the stream that was opened last. It must be closed.
func (st *stream) watch() *endWaiter {
	return &endWaiter{b: st.b, ctx: st.ctx, leave: st.leave}
}

// noted notes that a frame was read; told: it and those before it tell an end.
func (w *endWaiter) noted(told bool) {
	w.frames.Add(1)
	w.told.Store(told)
}

// watchRun asks from now on how the run at a path stands.
func (w *endWaiter) watchRun(run string) {
	if w.asking == nil {
		w.asking = make(chan struct{})
		go w.pollRun(run)
	}
}

// leaveSoon closes the stream unless the server does.
func (w *endWaiter) leaveSoon() {
	if w.soon == nil {
		w.soon = time.AfterFunc(quietFor, func() { w.leave(errRunEnded) })
	}
}

// ended reports whether the watch closed the stream.
func (w *endWaiter) ended() bool { return errors.Is(context.Cause(w.ctx), errRunEnded) }

func (w *endWaiter) close() {
	w.leave(nil)
	if w.soon != nil {
		w.soon.Stop()
	}
	if w.asking != nil {
		<-w.asking
	}
}

func (w *endWaiter) pollRun(run string) {
	defer close(w.asking)
	for wait := firstLook; pause.For(w.ctx, wait) == nil; wait = min(2*wait, lastLook) {
		if !w.told.Load() {
			continue
		}
		asked := time.Now()
		var r runWire
		if err := w.b.http.getJSON(w.ctx, run, &r); err != nil || r.Status == "" || r.active() {
			continue
		}
		if w.quiet(max(time.Since(asked), quietFor)) {
			w.leave(errRunEnded)
		}
		return
	}
}

// quiet waits until no frame has come for so long; false when the stream was closed before.
func (w *endWaiter) quiet(d time.Duration) bool {
	for {
		before := w.frames.Load()
		if pause.For(w.ctx, d) != nil {
			return false
		}
		if w.frames.Load() == before {
			return true
		}
	}
}
