package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// inactiveRuns are the active runs that no process executes: pending and parked ones. Safe for concurrent use.
type inactiveRuns struct {
	events   *store.Events
	now      func() time.Time // store.Store.Now
	endings  *endings
	settings *configured
	relay    *cancelRelay
	idle     *idleClocks
	log      *eventlog.Log
	bell     *doorbell
	reports  *reports
}

// cancel ends a run; ErrFenced where it is executed by now.
func (c *inactiveRuns) cancel(ctx context.Context, r *mapping.Run, how Cancellation) error {
	out := how.outcome()
	now := c.now()
	ev := mapping.Event{RunID: r.ID, Kind: mapping.KindEnd, At: now, Head: mapping.Head{Outcome: &out}}
	_, err := c.events.EndInactive(ctx, r.ThreadID, r.ID, ev, *c.endings.of(r, out, now, nil))
	if err != nil {
		return err
	}
	c.reports.logEnd(r, &out)
	c.reports.tracer.Unexecuted(mapping.WithTrace(ctx, traceOf(r)), r, endedAs(r, out, out.Status, 0))
	c.idle.StopIdleClock(r.ID)
	c.log.Wake(r.ID)
	c.log.WakeThread(r.ThreadID)
	c.bell.wake()
	if r.Parked { // of one that never began the agent knows nothing: what it does is another's
		c.relay.pass(c.settings.agent(r.Agent), r)
	}
	return nil
}
