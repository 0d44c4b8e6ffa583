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
	wait := firstPause
	for try := 1; ; try++ {
		err := x.writeEnd(ctx, out)
		if err == nil || errors.Is(err, store.ErrFenced) {
			return out, err
		}
		if try == 1 {
			x.e.zap.Error("the end of a run could not be written; it is tried again", errField(err), runField(x.run.ID))
		}
		if try == wholeTries && x.rec != nil {
			out = x.rec.giveUp(out, err)
		}
		if pause(x.e.root, wait) != nil {
			return out, err
		}
		wait = min(2*wait, longPause)
	}
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

// giveUp goes back to what is durable: the events that follow it cannot be
// written. The run has failed then, if it had not anyway.
func (r *recorder) giveUp(out mapping.Outcome, err error) mapping.Outcome {
	r.mark = r.app.giveUp()
	if out.Parked || out.Status == mapping.RunSuccess || out.Status == mapping.RunInterrupted && !out.Cancelled {
		return mapping.Outcome{Status: mapping.RunError, Fault: mapping.FaultOf(err)}
	}
	return out
}
