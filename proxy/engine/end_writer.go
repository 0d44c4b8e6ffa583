package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const (
	// wholeTries is the number of attempts to write the end together with all queued events. After that it is written
	// alone.
	wholeTries = 4
	firstPause = 50 * time.Millisecond
	longPause  = 5 * time.Second
	// If writing the end alone has also failed, waiting readers get an error after tellAfter. In any case they get one
	// after tellAnyway.
	tellAfter  = 3 * time.Second
	tellAnyway = 10 * time.Second
)

// endWriter writes the end of a run. It retries until it succeeds or the process stops. A disk may be full for a while,
// and a run without an end would occupy its thread until the next start.
type endWriter struct {
	x        *execution
	out      mapping.Outcome // to be written; may change when the queued events are dropped
	began    time.Time
	tries    int
	pause    time.Duration // before the next attempt
	unknown  bool          // an attempt may have been committed
	alone    bool          // the queued events were dropped
	failures logthrottle.Limiter
}

// write retries until the end is written, the process stops, or giveUp returns true. over reports whether the end is
// written or, with ErrFenced, the run belongs to another process.
func (w *endWriter) write(ctx context.Context, giveUp func() bool) (over bool, err error) {
	for {
		if over, err = w.try(ctx); over || giveUp() {
			return over, err
		}
		wait := w.pause
		w.pause = min(2*w.pause, longPause)
		if pause.For(w.x.e.root, wait) != nil {
			return over, err
		}
	}
}

// overdue reports whether waiting readers should get an error because the end is not written yet.
func (w *endWriter) overdue() bool {
	since := time.Since(w.began)
	return since > tellAnyway || since > tellAfter && w.tries > wholeTries
}

// try makes one attempt.
func (w *endWriter) try(ctx context.Context) (over bool, err error) {
	x := w.x
	if x.rec != nil {
		err = x.rec.writeEnd(ctx, w.out)
	} else {
		err = w.writeBare(ctx)
	}
	if w.unknown && errors.Is(err, store.ErrFenced) && w.committed(ctx) {
		return true, nil
	}
	if err == nil || errors.Is(err, store.ErrFenced) {
		return true, err
	}
	w.tries++
	w.unknown = w.unknown || errors.Is(err, store.ErrUnknown)
	if w.failures.Allow() {
		x.e.logger.Error("could not write the end of a run; retrying", errField(err), runField(x.Run.ID), zap.Int("tries", w.tries), w.failures.Suppressed())
	}
	if !w.alone && w.tries >= wholeTries && x.rec != nil && !x.rec.writer.unsure() {
		w.out, w.alone = x.rec.giveUp(w.out, err), true
	}
	return false, err
}

// writeBare writes the end of a run whose state could not be read.
func (w *endWriter) writeBare(ctx context.Context) error {
	x := w.x
	ev := mapping.Event{RunID: x.Run.ID, Kind: mapping.KindEnd, At: x.store.Now(), Head: mapping.Head{Outcome: &w.out}}
	_, _, err := x.store.Events.Append(ctx, store.Append{
		ThreadID: x.Run.ThreadID, RunID: x.Run.ID, Fence: x.Fence,
		Events: []mapping.Event{ev},
		End:    &store.End{Outcome: w.out, Thread: w.out.Thread(), Hook: x.e.hookWriter(&x.Run, w.out, x.store.Now(), nil)},
	})
	x.e.log.Wake(x.Run.ID)
	x.e.log.WakeThread(x.Run.ThreadID)
	return err
}

// committed reports whether the run has left this process as intended in a commit whose result was never received.
func (w *endWriter) committed(ctx context.Context) bool {
	x := w.x
	r, err := x.store.Runs.Get(ctx, x.Run.ThreadID, x.Run.ID)
	if err != nil {
		return false
	}
	if w.out.Parked {
		return r.Status == mapping.RunRunning && r.Parked
	}
	return r.Status == w.out.Status
}
