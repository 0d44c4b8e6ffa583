package maintenance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const (
	// cronsAtOnce limits the number of crons that are served concurrently.
	cronsAtOnce = 8
	cronsRead   = 256
	// cronLatest is the longest time between two readings of the clock, which may be set.
	cronLatest = time.Minute
	// cronTimeout limits the creation of one run. It may be slow if the agent's dialect must be queried first.
	cronTimeout = 30 * time.Second
	// cronRetry is the delay after a failure.
	cronRetry = time.Second
)

// Crons creates the runs of crons when they are due.
type Crons struct {
	crons   *store.Crons
	callers func() config.Auth
	tick    func(context.Context, mapping.Cron) error
	looked  time.Time // when ticks were last corrected
	zap     *zap.Logger
}

// NewCrons returns Crons for a table. callers returns the currently configured callers. tick creates the run of a
// cron's tick, under the principal of ctx. It must create the run only once, even if it is called several times for one
// tick.
func NewCrons(table *store.Crons, callers func() config.Auth, tick func(ctx context.Context, c mapping.Cron) error, logger *zap.Logger) *Crons {
	return &Crons{crons: table, callers: callers, tick: tick, zap: logger.Named("crons")}
}

// NextTick returns the first tick of a cron after a time. It returns zero if the cron is disabled or has ended.
func NextTick(c mapping.Cron, after time.Time) (time.Time, error) {
	s, err := ParseSchedule(c.Schedule, c.Timezone)
	if err != nil || !c.Enabled {
		return time.Time{}, err
	}
	next := s.After(after)
	if !c.End.IsZero() && next.After(c.End) {
		return time.Time{}, nil
	}
	return next, nil
}

// Run creates runs until ctx ends. If several ticks were missed because no process was running or the clock was set,
// they create one run together.
func (w *Crons) Run(ctx context.Context) {
	var said logthrottle.Limiter
	for ctx.Err() == nil {
		wait, err := w.look(ctx)
		if err == nil {
			said.Reset()
		} else if ctx.Err() == nil && said.Allow() {
			w.zap.Error("crons could not be processed", zap.Error(err), said.Suppressed())
		}
		_ = pause.Until(ctx, wait, w.crons.Changed())
	}
}

// look serves due crons and returns the time until the next look.
func (w *Crons) look(ctx context.Context) (wait time.Duration, err error) {
	if time.Since(w.looked) >= cronLatest {
		if err := w.takeBack(ctx); err != nil {
			return cronRetry, err
		}
		w.looked = time.Now()
	}
	return w.serve(ctx)
}

// takeBack corrects ticks that are later than scheduled, or missing before the cron's end, because they were computed
// while the clock was ahead. It tolerates small differences between the clocks of several processes.
func (w *Crons) takeBack(ctx context.Context) error {
	list, now, err := w.crons.Later(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		latest, err := NextTick(c, now.Add(cronLatest))
		if err != nil || !c.Next.IsZero() && (latest.IsZero() || !c.Next.After(latest)) {
			continue // an invalid schedule is reported at its tick
		}
		next, err := NextTick(c, now)
		if err != nil || next.Equal(c.Next) {
			continue
		}
		w.zap.Warn("cron rescheduled; its next run was computed while the clock was ahead", zap.String("cron", c.ID), zap.Time("was", c.Next), zap.Time("is", next))
		if err := w.crons.Ticked(ctx, c, next, c.Error); err != nil {
			return err
		}
	}
	return nil
}

// serve serves due crons and returns the time until the next look.
func (w *Crons) serve(ctx context.Context) (wait time.Duration, err error) {
	due, now, next, err := w.crons.Due(ctx, cronsRead)
	switch {
	case err != nil:
		return cronRetry, err
	case len(due) == 0 && next.IsZero():
		return cronLatest, nil
	case len(due) == 0:
		return min(cronLatest, next.Sub(now)), nil
	}
	var all sync.WaitGroup
	var failed atomic.Bool
	room := make(chan struct{}, cronsAtOnce)
	for _, c := range due {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if !w.serveOne(ctx, c, now) {
				failed.Store(true)
			}
		})
	}
	all.Wait()
	if failed.Load() {
		return cronRetry, nil
	}
	return 0, nil
}

// serveOne creates the run of a tick and advances the cron. It returns false if that must be retried later.
func (w *Crons) serveOne(ctx context.Context, c mapping.Cron, now time.Time) bool {
	one, stop := context.WithTimeout(mapping.WithPrincipal(ctx, w.ownerOf(c)), cronTimeout)
	defer stop()
	why := ""
	one, done := mapping.BeginAudited(one, "run")
	mapping.SetAuditVerb(one, mapping.Created)
	mapping.AddAuditObject(one, "cron", c.ID)
	err := w.tick(one, c)
	if err != nil {
		failed := mapping.Classify(err)
		if passes(failed.Class) || ctx.Err() != nil {
			return false
		}
		why = failed.Message
		w.zap.Warn("cron could not start a run", zap.String("cron", c.ID), zap.String("code", failed.Code), zap.Error(failed.Err))
	}
	done(err)
	next, err := NextTick(c, now)
	if err != nil {
		why = mapping.Classify(err).Message
	}
	if err := w.crons.Ticked(one, c, next, why); err != nil {
		w.zap.Error("cron could not be rescheduled", zap.String("cron", c.ID), zap.Error(err))
		return false
	}
	return true
}

// ownerOf returns the principal for a cron's runs: the key that created it, with the agents it may use now. The agents
// of a key that is no longer configured or has expired are unknown, so its cron may use only its own agent. Without
// keys there are no restrictions.
func (w *Crons) ownerOf(c mapping.Cron) mapping.Principal {
	p, callers := mapping.Principal{ID: c.Owner, Tenant: c.Tenant}, w.callers()
	if who, known := callers.Principal(c.Owner, c.Tenant, time.Now()); known {
		p.Agents, p.Namespaces, p.Own = who.Agents, who.Namespaces, who.Own
		return p
	}
	if callers.On() {
		p.Agents = []string{c.Agent}
	}
	return p
}

// passes reports whether an error is temporary, so that the same tick should be retried.
func passes(c mapping.Class) bool { return c == mapping.Unavailable || c == mapping.StorageFull }
