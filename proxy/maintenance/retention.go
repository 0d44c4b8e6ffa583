package maintenance

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"go.uber.org/zap"
)

const (
	// passEvery is the minimum time between two passes, so that threads are deleted in batches. passLatest is the
	// maximum, so that the clock is checked regularly.
	passEvery  = time.Second
	passLatest = time.Minute
	// keepingEvery is the interval at which config.Retention is applied.
	keepingEvery = time.Hour
	// readersGrace is how long the thread of a temporary run is kept after its expiry for a reader that has not
	// received the run's end.
	readersGrace  = 10 * time.Second
	deletedAtOnce = 4096
)

// Holders have data of threads and runs outside the store. engine.Engine implements it for all of them.
type Holders interface {
	// ThreadsDeleted reports deleted threads to the holders. It does not wait for agents.
	ThreadsDeleted(gone []store.Gone)
}

// Retention deletes data that is no longer kept: expired threads, and the data specified by config.Retention.
type Retention struct {
	removals *store.Retention
	runs     *store.Runs
	log      *eventlog.Log
	holders  Holders
	keep     func() config.Retention
	zap      *zap.Logger

	kept time.Time // when keep was last applied
	said logthrottle.Limiter
}

// NewRetention returns a Retention. keep returns the current settings.
func NewRetention(removals *store.Retention, runs *store.Runs, log *eventlog.Log, holders Holders, keep func() config.Retention, logger *zap.Logger) *Retention {
	return &Retention{removals: removals, runs: runs, log: log, holders: holders, keep: keep, zap: logger.Named("retention")}
}

// Run deletes until ctx ends.
func (w *Retention) Run(ctx context.Context) {
	for {
		next := w.pass(ctx)
		if pause.For(ctx, passEvery) != nil {
			return
		}
		w.wait(ctx, next)
	}
}

// wait waits until the next thread is due or a thread is given an expiry.
func (w *Retention) wait(ctx context.Context, next time.Time) {
	d := passLatest
	if !next.IsZero() {
		d = min(d, next.Sub(at(w.removals.Clock().Now)))
	}
	if d <= 0 {
		return
	}
	_ = pause.Until(ctx, d, w.removals.Expiries())
}

// pass deletes once and returns when the next thread is due.
func (w *Retention) pass(ctx context.Context) time.Time {
	now := w.removals.Clock()
	next, err := w.expired(ctx, now)
	if err == nil && time.Since(w.kept) >= keepingEvery {
		err = w.retain(ctx, at(now.Horizon))
		w.kept = time.Now()
	}
	if err == nil {
		w.said.Reset()
	} else if ctx.Err() == nil && w.said.Allow() {
		w.zap.Error("expired data could not be deleted", zap.Error(err), w.said.Suppressed())
	}
	return next
}

// expired deletes expired threads without readers, or all but their newest state.
func (w *Retention) expired(ctx context.Context, now clock.Reading) (time.Time, error) {
	list, next, err := w.removals.OverdueThreads(ctx, now, deletedAtOnce)
	if err != nil {
		return next, err
	}
	free, held := w.unread(ctx, list, at(now.Now))
	if held || len(list) == deletedAtOnce {
		next = at(now.Now)
	}
	for _, o := range free {
		if o.KeepLatest {
			err = errors.Join(err, w.removals.KeepLatest(ctx, o))
		}
	}
	free = slices.DeleteFunc(free, func(o store.Overdue) bool { return o.KeepLatest })
	return next, errors.Join(err, w.delete(ctx, free))
}

// unread removes threads with a run that is being read from the list.
func (w *Retention) unread(ctx context.Context, list []store.Overdue, now time.Time) (free []store.Overdue, held bool) {
	for _, o := range list {
		if w.log.Reading(o.ThreadID) && (now.Before(o.Due.Add(readersGrace)) || !w.passing(ctx, o)) {
			held = true
		} else {
			free = append(free, o)
		}
	}
	return free, held
}

// passing reports whether the thread was created for one run only.
func (w *Retention) passing(ctx context.Context, o store.Overdue) bool {
	ctx = mapping.WithPrincipal(ctx, mapping.Principal{Tenant: o.Tenant})
	list, err := w.runs.List(ctx, mapping.RunQuery{ThreadID: o.ThreadID, Limit: 1})
	return err == nil && len(list) == 1 && (list[0].Options.Temporary || list[0].Options.DeleteAfter)
}

// at converts a time of a clock.Reading.
func at(micros int64) time.Time { return time.UnixMicro(micros) }

// delete removes threads and notifies all holders of their data.
func (w *Retention) delete(ctx context.Context, list []store.Overdue) error {
	gone, err := w.removals.DeleteThreads(ctx, list)
	w.holders.ThreadsDeleted(gone)
	return err
}

// retain deletes the data that config.Retention no longer keeps at that time.
func (w *Retention) retain(ctx context.Context, now time.Time) error {
	keep := w.keep()
	if keep.Threads > 0 {
		if err := w.idle(ctx, now.Add(-keep.Threads)); err != nil {
			return err
		}
	}
	if keep.Checkpoints > 0 {
		if err := w.compact(ctx, now.Add(-keep.Checkpoints)); err != nil {
			return err
		}
	}
	for more := keep.Events > 0; more; {
		var err error
		if more, err = w.removals.DeleteTokenEvents(ctx, now.Add(-keep.Events)); err != nil {
			return err
		}
	}
	return nil
}

// compact drops checkpoints created at before or earlier.
func (w *Retention) compact(ctx context.Context, before time.Time) error {
	var from store.Overdue
	for {
		list, err := w.removals.OldHistories(ctx, before, from, deletedAtOnce)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, from = range list {
			if _, err := w.removals.ForgetHistory(ctx, from, before); err != nil {
				return err
			}
		}
	}
}

// idle deletes threads that have not changed since before.
func (w *Retention) idle(ctx context.Context, before time.Time) error {
	var from store.Overdue
	for {
		list, err := w.removals.IdleThreads(ctx, before, from, deletedAtOnce)
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
