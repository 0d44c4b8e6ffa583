package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

const (
	// wholeTries is how often the end is tried together with everything that
	// still waits to be written. After that it is tried alone.
	wholeTries = 4
	firstPause = 50 * time.Millisecond
	longPause  = 5 * time.Second
)

// settle writes the run's end, and tries until that works or the process
// stops: a disk may be full for a while, and a run that never ended would hold
// its thread until the next start. It returns the outcome that was written.
func (x *execution) settle(ctx context.Context, out mapping.Outcome) (mapping.Outcome, error) {
	wait, unknown, whole := firstPause, false, true
	for try := 1; ; try++ {
		err := x.writeEnd(ctx, out)
		if unknown && errors.Is(err, store.ErrFenced) && x.hasLeft(ctx, out) {
			return out, nil
		}
		if err == nil || errors.Is(err, store.ErrFenced) {
			return out, err
		}
		unknown = unknown || errors.Is(err, store.ErrUnknown)
		if try == 1 {
			x.e.zap.Error("the end of a run could not be written; it is tried again", errField(err), runField(x.run.ID))
		}
		if whole && try >= wholeTries && x.rec != nil && x.rec.certain() {
			out, whole = x.rec.giveUp(out, err), false
		}
		if pause(x.e.root, wait) != nil {
			return out, err
		}
		wait = min(2*wait, longPause)
	}
}

// hasLeft tells whether the run left this process as it was to, by a commit that was never answered.
func (x *execution) hasLeft(ctx context.Context, out mapping.Outcome) bool {
	r, err := x.e.st.Run(ctx, x.run.ThreadID, x.run.ID)
	if err != nil {
		return false
	}
	if out.Parked {
		return r.Status == mapping.RunRunning && r.Parked
	}
	return r.Status == out.Status
}

func (x *execution) writeEnd(ctx context.Context, out mapping.Outcome) error {
	if x.rec != nil {
		return x.rec.end(ctx, out)
	}
	// The state the run starts from could not be read, so that there is nothing
	// to fold: the end is written as it is.
	ev := mapping.Event{RunID: x.run.ID, Kind: mapping.KindEnd, At: x.now(), Head: mapping.Head{Outcome: &out}}
	_, _, err := x.e.st.AppendRun(ctx, store.Append{
		ThreadID: x.run.ThreadID, RunID: x.run.ID, Fence: x.fence,
		Events: []mapping.Event{ev}, End: &store.End{Outcome: out, Thread: out.Thread()},
	})
	x.e.log.Ring(x.run.ID)
	x.e.log.RingThread(x.run.ThreadID)
	return err
}

// certain tells whether it is known what is durable.
func (r *recorder) certain() bool { return !r.app.unsure() }

// giveUp goes back to what is durable: the events that follow it cannot be
// written. The run has failed then, if it had not anyway.
func (r *recorder) giveUp(out mapping.Outcome, err error) mapping.Outcome {
	r.mark = r.app.giveUp()
	if out.Parked || out.Status == mapping.RunSuccess || out.Status == mapping.RunInterrupted && !out.Cancelled {
		return mapping.Outcome{Status: mapping.RunError, Fault: mapping.FaultOf(err)}
	}
	return out
}
