package bridge

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/limit"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// limits are those of callers and tenants, and what is counted of them in the database for all bridges. The limiter is
// made first, as the database asks it; store is filled in before anything is asked of either.
type limits struct {
	limiter *limit.Limiter
	store   *store.Store
	log     *zap.Logger
}

func newLimits(cfg *config.Config, limited func(limit, of string), log *zap.Logger) (l *limits, err error) {
	l = &limits{log: log}
	l.limiter, err = limit.New(cfg, l, limited)
	return l, err
}

// TakeRate implements limit.Ledger, as RateLeft and Shared do.
func (l *limits) TakeRate(ctx context.Context, name string, cost, span time.Duration) (time.Duration, error) {
	return l.store.Rates.Take(ctx, name, cost, span)
}

func (l *limits) RateLeft(ctx context.Context, name string, span time.Duration) (time.Duration, error) {
	return l.store.Rates.Left(ctx, name, span)
}

// Shared reports whether there can be other bridges.
func (l *limits) Shared() bool { return l.store.Shared() }

// reconfigure puts other limits in force. What they count is counted anew, as it was not while none held.
func (l *limits) reconfigure(cfg *config.Config) {
	l.limiter.Reconfigure(cfg)
	l.countAnew()
}

// countingTimeout bounds the deletion of a few rows.
const countingTimeout = 10 * time.Second

func (l *limits) countAnew() {
	if !l.limiter.HasQuotas() {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), countingTimeout)
	defer stop()
	if err := l.store.Counts.CountAnew(ctx); err != nil {
		l.log.Warn("what quotas count could not be counted anew: they may allow too much until the next start", zap.Error(err))
	}
}

// Limits returns the limits of the caller: it implements adapter.Limits.
func (l *limits) Limits(ctx context.Context) ([]adapter.Limit, error) {
	return l.limiter.Report(ctx, mapping.PrincipalOf(ctx), l.store.Counts)
}
