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

// limits holds the limits of callers and tenants, with their counts in the database.
type limits struct {
	allowed *limit.Allowances
	limiter *limit.Limiter
	store   *store.Store
	log     *zap.Logger
}

// newLimits creates the limits and recounts the stored objects of quotas.
func newLimits(allowed *limit.Allowances, st *store.Store, limited func(limit, of string), log *zap.Logger) (*limits, error) {
	limiter, err := limit.New(allowed, ledger{st}, limited)
	if err != nil {
		return nil, err
	}
	l := &limits{allowed, limiter, st, log}
	l.countAnew()
	return l, nil
}

// ledger counts the requests of all bridges that share a database. It implements limit.Ledger.
type ledger struct{ *store.Store }

func (l ledger) TakeRate(ctx context.Context, name string, cost, span time.Duration) (time.Duration, error) {
	return l.Rates.Take(ctx, name, cost, span)
}

func (l ledger) RateLeft(ctx context.Context, name string, span time.Duration) (time.Duration, error) {
	return l.Rates.Left(ctx, name, span)
}

// reconfigure changes the limits. Objects are recounted, because they are not counted while there is no quota.
func (l *limits) reconfigure(cfg *config.Config) {
	l.allowed.Reconfigure(cfg)
	l.countAnew()
}

// countingTimeout bounds the deletion of a few rows.
const countingTimeout = 10 * time.Second

func (l *limits) countAnew() {
	if !l.allowed.HasQuotas() {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), countingTimeout)
	defer stop()
	if err := l.store.CountAnew(ctx); err != nil {
		l.log.Warn("quota usage could not be recounted; quotas may allow too much until the next start", zap.Error(err))
	}
}

// Limits returns the limits of the caller. It implements adapter.Limits.
func (l *limits) Limits(ctx context.Context) ([]adapter.Limit, error) {
	return l.limiter.Report(ctx, mapping.PrincipalOf(ctx), l.store)
}
