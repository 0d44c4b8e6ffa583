package backend

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

// errRunEnded is the cancellation cause of a stream that the bridge closed because the run had ended or the server had
// announced the end.
var errRunEnded = errors.New("the run has ended although its stream was still open")

// The shortest and longest pause before a watch asks for the run: first after the frames show an end, then after each
// response that the run is active. The server is not asked if it closes the stream before that.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = time.Second
)

// quietFor is the minimum time to read a stream after its run has ended.
const quietFor = 20 * time.Millisecond

// endWaiter closes a stream whose run has ended. Servers may keep it open: version 1.4.6 of the JavaScript server does
// so for half a second, during which the thread would be busy although its question is open. endWaiter starts to ask
// for the run when the frames show an end. Frames may still be in transit when the server reports the end, so the
// stream is closed once it has been silent for as long as that request took.
type endWaiter struct {
	b      *backend
	ctx    context.Context // of the stream
	leave  context.CancelCauseFunc
	frames atomic.Int64
	told   atomic.Bool
	asking chan struct{} // closed when the goroutine has ended; nil if not started
	soon   *time.Timer   // closes a stream that is over; nil if not started
}

// watch returns an endWaiter for the newest stream. The caller must close it.
func (st *stream) watch() *endWaiter {
	return &endWaiter{b: st.b, ctx: st.ctx, leave: st.leave}
}

// noted records a frame. told is true if the frames so far show an end.
func (w *endWaiter) noted(told bool) {
	w.frames.Add(1)
	w.told.Store(told)
}

// watchRun starts polling the run at a path.
func (w *endWaiter) watchRun(run string) {
	if w.asking == nil {
		w.asking = make(chan struct{})
		go w.pollRun(run)
	}
}

// leaveSoon closes the stream unless the server does so first.
func (w *endWaiter) leaveSoon() {
	if w.soon == nil {
		w.soon = time.AfterFunc(quietFor, func() { w.leave(errRunEnded) })
	}
}

// ended reports whether the endWaiter closed the stream.
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

// quiet waits until no frame has arrived for d. It returns false if the stream is closed first.
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
