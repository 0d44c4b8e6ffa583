package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/complaint"
	"github.com/apbridge/apbridge/proxy/store"
)

const (
	// sweepEvery is the least time between two sweeps, so that threads go in
	// batches; sweepLatest the longest, so that the clock is looked at.
	sweepEvery  = time.Second
	sweepLatest = time.Minute
	// keepingEvery is how often what retention says is looked for.
	keepingEvery = time.Hour
	// readersGrace is how long the thread of a run with on_completion: delete
	// outlives its time for a reader that has not had the run's end.
	readersGrace = 10 * time.Second
	sweptAtOnce  = 4096
)

// sweeper deletes what is no longer kept: threads whose time is over, and what
// config.Retention says. One goroutine of the engine.
type sweeper struct {
	e     *Engine
	guard *guard
	kept  time.Time // when retention was looked at last
	said  complaint.Complaint
}

func (e *Engine) newSweeper() *sweeper { return &sweeper{e: e, guard: newGuard()} }

func (w *sweeper) run(ctx context.Context) {
	for {
		next := w.pass(ctx)
		if pause(ctx, sweepEvery) != nil {
			return
		}
		w.wait(ctx, next)
	}
}

// wait returns when the next thread is due, or when one was given a time.
func (w *sweeper) wait(ctx context.Context, next time.Time) {
	d := sweepLatest
	if !next.IsZero() {
		d = min(d, time.Until(next))
	}
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.e.st.Expiries():
	case <-ctx.Done():
	}
}

// pass sweeps once, and says when the next thread is due.
func (w *sweeper) pass(ctx context.Context) time.Time {
	x := w.guard.look()
	next, err := w.expired(ctx, x)
	if err == nil && time.Since(w.kept) >= keepingEvery {
		err = w.retain(ctx, x)
		w.kept = time.Now()
	}
	if err == nil {
		w.said.Over()
	} else if ctx.Err() == nil && w.said.Due() {
		w.e.zap.Error("what is no longer kept could not be deleted", errField(err))
	}
	return next
}

// expired deletes the unused threads whose time is over, or all but their newest
// state.
func (w *sweeper) expired(ctx context.Context, x store.Expiry) (time.Time, error) {
	list, next, err := w.e.st.OverdueThreads(ctx, x, sweptAtOnce)
	if err != nil {
		return next, err
	}
	free, held := w.unread(ctx, list, x.Now)
	if held || len(list) == sweptAtOnce {
		next = x.Now
	}
	for _, o := range free {
		if o.KeepLatest {
			err = errors.Join(err, w.e.st.KeepLatest(ctx, o))
		}
	}
	free = slices.DeleteFunc(free, func(o store.Overdue) bool { return o.KeepLatest })
	return next, errors.Join(err, w.delete(ctx, free))
}

// unread leaves out threads of which a run is being read.
func (w *sweeper) unread(ctx context.Context, list []store.Overdue, now time.Time) (free []store.Overdue, held bool) {
	for _, o := range list {
		if w.e.log.Reading(o.ThreadID) && (now.Before(o.Due.Add(readersGrace)) || !w.passing(ctx, o)) {
			held = true
		} else {
			free = append(free, o)
		}
	}
	return free, held
}

// passing reports whether the thread was only made for a run with on_completion:
// delete.
func (w *sweeper) passing(ctx context.Context, o store.Overdue) bool {
	ctx = mapping.WithPrincipal(ctx, mapping.Principal{Tenant: o.Tenant})
	list, err := w.e.st.Runs(ctx, store.RunQuery{ThreadID: o.ThreadID, Limit: 1})
	return err == nil && len(list) == 1 && list[0].Options.DeleteAfter
}

// delete removes threads, and tells all holders of their data.
func (w *sweeper) delete(ctx context.Context, list []store.Overdue) error {
	gone, err := w.e.st.DeleteThreads(ctx, list)
	var told []store.Gone
	for _, g := range gone {
		for _, r := range g.Runs {
			w.e.forgotten(r)
		}
		if w.e.forgets(g.Links) {
			told = append(told, g)
		}
	}
	if len(told) > 0 {
		w.e.forgetLater(told)
	}
	return err
}

// retain deletes what config.Retention no longer keeps.
func (w *sweeper) retain(ctx context.Context, x store.Expiry) error {
	keep := w.e.cfg.Retention
	if keep.Threads > 0 {
		if err := w.idle(ctx, x.Before.Add(-keep.Threads)); err != nil {
			return err
		}
	}
	if keep.Checkpoints > 0 {
		if err := w.compact(ctx, x.Before.Add(-keep.Checkpoints)); err != nil {
			return err
		}
	}
	for more := keep.Events > 0; more; {
		var err error
		if more, err = w.e.st.TrimTokens(ctx, x.Before.Add(-keep.Events)); err != nil {
			return err
		}
	}
	return nil
}

// compact forgets checkpoints made before.
func (w *sweeper) compact(ctx context.Context, before time.Time) error {
	var from store.Overdue
	for {
		list, err := w.e.st.OldHistories(ctx, before, from, sweptAtOnce)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, from = range list {
			if _, err := w.e.st.ForgetHistory(ctx, from, before); err != nil {
				return err
			}
		}
	}
}

// idle deletes threads that were not changed since before.
func (w *sweeper) idle(ctx context.Context, before time.Time) error {
	var from store.Overdue
	for {
		list, err := w.e.st.IdleThreads(ctx, before, from, sweptAtOnce)
		if err != nil || len(list) == 0 {
			return err
		}
		from = list[len(list)-1]
		free, _ := w.unread(ctx, list, before)
		if err := w.delete(ctx, free); err != nil {
			return err
		}
	}
}
