package engine

import (
	"context"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/complaint"
	"go.uber.org/zap"
)

const (
	// cronsAtOnce bounds the crons that are served together.
	cronsAtOnce = 8
	cronsRead   = 256
	// cronLatest is how long the clock goes unlooked at: it may be set meanwhile.
	cronLatest = time.Minute
	// cronTimeout bounds the making of one run; an agent that has to be asked for
	// its dialect first may be slow.
	cronTimeout = 30 * time.Second
)

// OnTick has make make the run of a cron's tick. It must make it once however
// often it is called for one tick. To be called before Start.
func (e *Engine) OnTick(make func(ctx context.Context, c mapping.Cron) error) { e.tick = make }

// NextTick is when a cron ticks after a time; zero when it is off or over.
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

// watchCrons makes the runs of crons as they are due. Ticks that were missed,
// while no process ran or because the clock was set, make one run together.
func (e *Engine) watchCrons(ctx context.Context) {
	var said complaint.Complaint
	for ctx.Err() == nil {
		next, err := e.serveCrons(ctx)
		if err == nil {
			said.Over()
		} else if ctx.Err() == nil {
			if said.Due() {
				e.zap.Error("crons could not be served", errField(err))
			}
			next = time.Now().Add(retryDispatch)
		}
		e.awaitCron(ctx, next)
	}
}

func (e *Engine) awaitCron(ctx context.Context, next time.Time) {
	d := cronLatest
	if !next.IsZero() {
		d = min(d, time.Until(next))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.st.CronsChanged():
	case <-ctx.Done():
	}
}

// serveCrons serves what is due and says when to look again.
func (e *Engine) serveCrons(ctx context.Context) (time.Time, error) {
	now := time.Now()
	due, next, err := e.st.DueCrons(ctx, now, cronsRead)
	if err != nil || len(due) == 0 {
		return next, err
	}
	var all sync.WaitGroup
	room := make(chan struct{}, cronsAtOnce)
	again := time.Now()
	var mu sync.Mutex
	for _, c := range due {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if !e.serveCron(ctx, c, now) {
				mu.Lock()
				again = time.Now().Add(retryDispatch)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return again, nil
}

// serveCron makes the run of a tick and moves the cron on. false: neither could be
// done for now.
func (e *Engine) serveCron(ctx context.Context, c mapping.Cron, now time.Time) bool {
	ctx, stop := context.WithTimeout(mapping.WithPrincipal(ctx, e.ownerOf(c)), cronTimeout)
	defer stop()
	why := ""
	if err := e.tick(ctx, c); err != nil {
		failed := mapping.Classify(err)
		if passes(failed.Class) || e.root.Err() != nil {
			return false
		}
		why = failed.Message
		e.zap.Warn("a cron made no run", zap.String("cron", c.ID), zap.String("code", failed.Code), errField(failed.Err))
	}
	next, err := NextTick(c, now)
	if err != nil {
		why = mapping.Classify(err).Message
	}
	if err := e.st.CronTicked(ctx, c, next, why); err != nil {
		e.zap.Error("a cron could not be moved on", zap.String("cron", c.ID), errField(err))
		return false
	}
	return true
}

// ownerOf is for whom a cron's runs are made: the key that made it, with the agents it may use
// now. The agents of a key that is not configured any more are unknown, so that its cron
// has its own agent alone. Without keys no caller is confined.
func (e *Engine) ownerOf(c mapping.Cron) mapping.Principal {
	p := mapping.Principal{ID: c.Owner, Tenant: c.Tenant}
	for _, k := range e.cfg.Auth.Keys {
		if k.ID == c.Owner && k.Tenant == c.Tenant {
			p.Agents = append(p.Agents, k.Agents...) // nil for none: all
			return p
		}
	}
	if len(e.cfg.Auth.Keys) > 0 {
		p.Agents = []string{c.Agent}
	}
	return p
}

// passes reports whether a refusal is temporary, so that the same tick is worth
// another try.
func passes(c mapping.Class) bool { return c == mapping.Unavailable || c == mapping.StorageFull }
