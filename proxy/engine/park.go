package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// parked notes that a lockstep run waits for its next step, and cancels it when
// nobody asks for one in time.
func (e *Engine) parked(r mapping.Run, agent *Agent) {
	e.cancelIn(r, agent.Config.Stepping.Idle)
}

// cancelIn cancels the run after d, unless somebody asks for a step of it before.
func (e *Engine) cancelIn(r mapping.Run, d time.Duration) {
	e.timers.set(idleOf(r.ID), d, func() {
		ctx, stop := context.WithTimeout(e.scope(e.root, r), cancelGrace)
		defer stop()
		if rest := e.pulledElsewhere(ctx, r); rest > 0 {
			e.cancelIn(r, rest)
			return
		}
		if err := e.Cancel(ctx, r, false); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			e.zap.Warn("an idle run could not be cancelled", errField(err), runField(r.ID))
		}
	})
}

// pulledElsewhere is how long an active run may still be left alone when it went
// on, or a step of it was handed out, in another process, whose clocks this one
// does not know of; 0: no longer.
func (e *Engine) pulledElsewhere(ctx context.Context, r mapping.Run) time.Duration {
	agent := e.agents[r.Agent]
	if agent == nil || !e.st.Shared() {
		return 0
	}
	fresh, err := e.st.Run(ctx, r.ThreadID, r.ID)
	if err != nil || !fresh.Status.Active() {
		return 0
	}
	since := fresh.UpdatedAt
	if task, err := e.st.Task(ctx, r.TaskID); err == nil && task.UpdatedAt.After(since) {
		since = task.UpdatedAt
	}
	idle := agent.Config.Stepping.Idle
	if rest := idle - time.Since(since); rest > idle/10 { // less is what this process knew itself
		return rest
	}
	return 0
}

func idleOf(runID string) string { return "idle " + runID }

// returning is how long a client has at least, after a start, to come back for the
// steps of its run.
const returning = time.Minute

// watchUnpulled starts the clocks of the runs whose clients an earlier process
// served. The time it was gone counts, but for a little to come back in.
func (e *Engine) watchUnpulled(ctx context.Context) error {
	runs, err := e.st.Unpulled(ctx)
	for _, r := range runs {
		agent := e.agents[r.Agent]
		if agent == nil {
			agent = missing(r.Agent)
		}
		idle := agent.Config.Stepping.Idle
		e.cancelIn(r, max(idle-time.Since(r.UpdatedAt), min(idle, returning)))
	}
	return err
}

// Next is what the next step of a parked run is to begin with.
type Next struct {
	Say      *string          // the client's words, verbatim; nil for none
	Update   json.RawMessage  // of the state of a thread/run agent; nil for none
	Uploaded mapping.Uploaded // up to where Update brings the uploads along
}

// Continue does the next step of a parked run.
func (e *Engine) Continue(ctx context.Context, r mapping.Run, n Next) error {
	agent := e.agents[r.Agent]
	if agent == nil {
		return mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound, "Agent %s is not in the configuration any more.", r.Agent)
	}
	select {
	case agent.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.root.Done():
		return errDraining
	}
	claimed := e.claims.begin()
	defer claimed()
	c, err := e.st.ClaimParked(ctx, r.ID)
	if err != nil {
		e.release(agent)
		return err
	}
	e.timers.cancel(idleOf(r.ID))
	e.launch(agent, c, StartRequest{Say: n.Say, OneStep: true, New: store.NewRun{}, further: &n})
	return nil
}

// Settled waits until an active run is parked or has ended, and returns it.
func (e *Engine) Settled(ctx context.Context, r mapping.Run) (mapping.Run, error) {
	for {
		if x := e.executing(r.ID); x != nil {
			select {
			case <-x.done:
			case <-x.stalled:
				return r, x.fault
			case <-ctx.Done():
				return r, context.Cause(ctx)
			}
		}
		fresh, err := e.st.Run(ctx, r.ThreadID, r.ID)
		if err != nil || fresh.Parked || !fresh.Status.Active() {
			return fresh, err
		}
		if err := pause(ctx, settlePoll); err != nil {
			return fresh, err
		}
	}
}

// settlePoll is how often a run is looked at that is queued or runs elsewhere.
const settlePoll = 20 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// CancelIdle cancels an active run when nobody pulls a step of it for as long
// as its agent's stepping.idle; each call begins anew. Pulled stops that clock.
func (e *Engine) CancelIdle(r mapping.Run) {
	if agent := e.agents[r.Agent]; agent != nil {
		e.parked(r, agent)
	}
}

// Pulled stops the clock of CancelIdle: a step of the run is asked for.
func (e *Engine) Pulled(runID string) { e.timers.cancel(idleOf(runID)) }
