package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/complaint"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const (
	// wholeTries is how often the end is tried together with everything that still waits to be written. After that it
	// is tried alone.
	wholeTries = 4
	firstPause = 50 * time.Millisecond
	longPause  = 5 * time.Second
	// Readers that wait for the end are told that it cannot be written when that has lasted for tellAfter, and it was
	// tried alone as well; after tellAnyway in any case.
	tellAfter  = 3 * time.Second
	tellAnyway = 10 * time.Second
)

// pendingEnd is a run's end on its way into the store. It is tried until that works or the process stops: a disk may be
// full for a while, and a run that never ended would hold its thread until the next start.
type pendingEnd struct {
	x       *execution
	out     mapping.Outcome // that is to be written, in the end the one that was
	began   time.Time
	tries   int
	wait    time.Duration
	unknown bool // a try may have been committed
	alone   bool // without what waits to be written
	said    complaint.Complaint
}

func newPendingEnd(x *execution, out mapping.Outcome) *pendingEnd {
	return &pendingEnd{x: x, out: out, began: time.Now(), wait: firstPause}
}

// try writes the end once. over: it is written, or (ErrFenced) the run is not this process's any more.
func (s *pendingEnd) try(ctx context.Context) (over bool, err error) {
	err = s.x.writeEnd(ctx, s.out)
	if s.unknown && errors.Is(err, store.ErrFenced) && s.x.departed(ctx, s.out) {
		return true, nil
	}
	if err == nil || errors.Is(err, store.ErrFenced) {
		return true, err
	}
	s.tries++
	s.unknown = s.unknown || errors.Is(err, store.ErrUnknown)
	if s.said.Due() {
		s.x.works.reports.zap.Error("the end of a run cannot be written; it is tried again", errField(err), runField(s.x.Run.ID), zap.Int("tries", s.tries), s.said.Times())
	}
	if !s.alone && s.tries >= wholeTries && s.x.rec != nil && s.x.rec.certain() {
		s.out, s.alone = s.x.rec.giveUp(s.out, err), true
	}
	return false, err
}

// overdue reports whether readers that wait for the end should hear why it does not come.
func (s *pendingEnd) overdue() bool {
	since := time.Since(s.began)
	return since > tellAnyway || since > tellAfter && s.tries > wholeTries
}

// rest is the pause before the next try; false: the process stops.
func (s *pendingEnd) rest() bool {
	wait := s.wait
	s.wait = min(2*s.wait, longPause)
	return pause.For(s.x.works.background.root, wait) == nil
}

// until tries until the end is written, the process stops, or giveUp says so. over means the same as in try.
func (s *pendingEnd) until(ctx context.Context, giveUp func() bool) (over bool, err error) {
	for {
		if over, err = s.try(ctx); over || giveUp() || !s.rest() {
			return over, err
		}
	}
}

// departed reports whether the run has left this process as intended, by a commit that was never answered.
func (d *departure) departed(ctx context.Context, out mapping.Outcome) bool {
	r, err := d.x.works.exits.runs.Get(ctx, d.x.Run.ThreadID, d.x.Run.ID)
	if err != nil {
		return false
	}
	if out.Parked {
		return r.Status == mapping.RunRunning && r.Parked
	}
	return r.Status == out.Status
}

func (d *departure) writeEnd(ctx context.Context, out mapping.Outcome) error {
	if d.x.rec != nil {
		return d.x.rec.writeEnd(ctx, out)
	}
	// The state the run starts from could not be read, so that there is nothing to fold: the end is written as it is.
	ev := mapping.Event{RunID: d.x.Run.ID, Kind: mapping.KindEnd, At: d.x.works.now(), Head: mapping.Head{Outcome: &out}}
	_, _, err := d.x.works.events.Append(ctx, store.Append{
		ThreadID: d.x.Run.ThreadID, RunID: d.x.Run.ID, Fence: d.x.Fence,
		Events: []mapping.Event{ev}, End: &store.End{Outcome: out, Thread: out.Thread()},
	})
	d.x.works.log.Wake(d.x.Run.ID)
	d.x.works.log.WakeThread(d.x.Run.ThreadID)
	return err
}

// certain reports whether the durable events are known.
func (r *recorder) certain() bool { return !r.app.unsure() }

// giveUp goes back to what is durable: the events that follow it cannot be written. The run has failed then, if it had
// not anyway.
func (r *recorder) giveUp(out mapping.Outcome, err error) mapping.Outcome {
	r.statePoint = r.app.giveUp()
	if out.Parked || out.Status == mapping.RunSuccess || out.Status == mapping.RunInterrupted && !out.Cancelled {
		return mapping.Outcome{Status: mapping.RunError, Fault: mapping.FaultOf(err)}
	}
	return out
}
