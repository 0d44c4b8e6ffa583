package engine

import (
	"context"
	"sync"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/store"
)

// resumeGrace is the minimum time that a client has, after a start, to request the next step of its run. Timers of
// other processes are taken over at the same interval.
const resumeGrace = time.Minute

// StartIdleTimer cancels an active run if no step of it is requested within the agent's stepping.idle. Each call
// restarts the timer.
func (e *Engine) StartIdleTimer(r mapping.Run) {
	if agent := e.agent(r.Agent); agent != nil {
		e.restartIdleTimer(&r, agent)
	}
}

// StopIdleTimer stops the timer of a run because one of its steps is requested.
func (e *Engine) StopIdleTimer(runID string) { e.idle.cancel(runID) }

func (e *Engine) restartIdleTimer(r *mapping.Run, agent *Agent) {
	e.cancelIn(agent.Config.Stepping.Idle, store.PolledRun{ID: r.ID, ThreadID: r.ThreadID, Agent: r.Agent, Tenant: r.Tenant, Owner: r.Owner})
}

// cancelIn cancels the run after d, unless one of its steps is requested first. A d of 0 means never.
func (e *Engine) cancelIn(d time.Duration, r store.PolledRun) {
	e.idle.set(r.ID, d, func() { e.runs.spawn(func() { e.idleOver(r) }) })
}

// startIdleTimers starts timers for runs that other or earlier processes served, if they have none here. The time that
// has passed counts, but each client gets at least resumeGrace.
func (e *Engine) startIdleTimers(ctx context.Context, parkedOnly bool) error {
	for r, err := range e.store.Claims.Pulled(ctx, parkedOnly) {
		if err != nil {
			return err
		}
		if !e.idle.has(r.ID) {
			e.cancelIn(max(e.maxIdle(r.Agent)-e.store.Now().Sub(r.UpdatedAt), min(e.maxIdle(r.Agent), resumeGrace)), r)
		}
	}
	return nil
}

// watchIdle starts timers for runs that other processes have parked, since those processes may have stopped. All
// running processes check whether the run continued elsewhere (idleElsewhere).
func (e *Engine) watchIdle(ctx context.Context) {
	for pause.For(ctx, resumeGrace) == nil {
		if err := e.startIdleTimers(ctx, true); err != nil && ctx.Err() == nil {
			e.logger.Warn("parked runs could not be listed", errField(err))
		}
	}
}

// idleOver cancels a run whose timer has fired. If that fails it retries later.
func (e *Engine) idleOver(r store.PolledRun) {
	ctx, stop := context.WithTimeout(mapping.WithPrincipal(e.root, mapping.Principal{ID: r.Owner, Tenant: r.Tenant}), cancelGrace)
	defer stop()
	rest, err := e.cancelIdle(ctx, r)
	switch {
	case rest > 0:
		e.cancelIn(rest, r)
	case err != nil && !alreadyGone(err):
		e.logger.Warn("could not cancel an idle run; retrying", errField(err), runField(r.ID))
		e.cancelIn(min(e.maxIdle(r.Agent), resumeGrace), r)
	}
}

// cancelIdle cancels a run whose client has been idle for too long. Otherwise it returns the time that remains.
func (e *Engine) cancelIdle(ctx context.Context, p store.PolledRun) (rest time.Duration, err error) {
	r, err := e.store.Runs.Get(ctx, p.ThreadID, p.ID)
	if err != nil {
		return 0, err
	}
	rest, idle, err := e.clientIdle(ctx, r, e.maxIdle(r.Agent))
	if err != nil || !idle {
		return rest, err
	}
	return 0, e.Cancel(e.runContext(ctx, r), r, Cancellation{Reason: mapping.CancelledAsIdle})
}

// maxIdle returns how long the client of a run of an agent may be idle.
func (e *Engine) maxIdle(name string) time.Duration {
	if agent := e.agent(name); agent != nil {
		return agent.Config.Stepping.Idle
	}
	return config.DefaultAgent().Stepping.Idle // as for a missing agent
}

// clientIdle reports whether the client of an active run has been idle for longer than most. Otherwise rest is the time
// that remains.
func (e *Engine) clientIdle(ctx context.Context, r *mapping.Run, most time.Duration) (rest time.Duration, idle bool, err error) {
	if r.Options.Stepping == mapping.SteppingLockstep && e.runs.find(r.ID) != nil {
		return min(most, resumeGrace), false, nil // the client has requested a step, or the run is being parked
	}
	rest, err = e.idleElsewhere(ctx, r, most)
	return rest, err == nil && rest == 0, err
}

// idleElsewhere returns how long the client may still be idle because the run continued in another process or one of
// its steps was handed out there. The timers of other processes are not known here.
func (e *Engine) idleElsewhere(ctx context.Context, r *mapping.Run, most time.Duration) (rest time.Duration, err error) {
	if !e.store.Shared() || !r.Status.Active() {
		return 0, nil
	}
	if r.Options.Stepping == mapping.SteppingLockstep && !r.Parked {
		return max(most, time.Second), nil // one of its steps is requested
	}
	task, err := e.store.Tasks.Get(ctx, r.TaskID)
	if err != nil {
		return 0, err
	}
	since := r.UpdatedAt
	if task.UpdatedAt.After(since) {
		since = task.UpdatedAt
	}
	if rest := most - e.store.Now().Sub(since); rest > most/10 { // a shorter rest is left for this process's own timer
		return rest, nil
	}
	return 0, nil
}

// idleTimers are timers by run. Safe for concurrent use.
type idleTimers struct {
	mu      sync.Mutex
	byRun   map[string]*idleTimer
	stopped bool
}

// idleTimer is one timer of a run. It is compared by address with the timer that replaces it.
type idleTimer struct{ *time.Timer }

// set calls f once after d and replaces the run's earlier timer. A d of 0 means never. It does nothing after stop.
func (t *idleTimers) set(runID string, d time.Duration, f func()) {
	if d <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	if old := t.byRun[runID]; old != nil {
		old.Stop()
	}
	one := &idleTimer{}
	one.Timer = time.AfterFunc(d, func() {
		if t.take(runID, one) {
			f()
		}
	})
	if t.byRun == nil {
		t.byRun = map[string]*idleTimer{}
	}
	t.byRun[runID] = one
}

// take removes a timer that has fired. It returns false if the timer was cancelled or replaced just before.
func (t *idleTimers) take(runID string, one *idleTimer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byRun[runID] != one {
		return false
	}
	delete(t.byRun, runID)
	return true
}

func (t *idleTimers) has(runID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byRun[runID] != nil
}

func (t *idleTimers) cancel(runID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.byRun[runID]; one != nil {
		one.Stop()
		delete(t.byRun, runID)
	}
}

// stop cancels all timers, and all that are set later.
func (t *idleTimers) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for _, one := range t.byRun {
		one.Stop()
	}
	clear(t.byRun)
}
