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
	var ledger limit.Ledger // nil counts in memory
	if st.Shared() {
		ledger = st.Rates
	}
	limiter, err := limit.New(allowed, ledger, limited)
	if err != nil {
		return nil, err
	}
	l := &limits{allowed, limiter, st, log}
	l.recount()
	return l, nil
}

// reconfigure changes the limits. Objects are recounted, because they are not counted while there is no quota.
func (l *limits) reconfigure(cfg *config.Config) {
	l.allowed.Reconfigure(cfg)
	l.recount()
}

// countingTimeout bounds the deletion of a few rows.
const countingTimeout = 10 * time.Second

func (l *limits) recount() {
	if !l.allowed.HasQuotas() {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), countingTimeout)
	defer stop()
	if err := l.store.RecountQuotas(ctx); err != nil {
		l.log.Warn("quota usage could not be recounted; quotas may allow too much until the next start", zap.Error(err))
	}
}

// Limits returns the limits of the caller. It implements adapter.Limits.
func (l *limits) Limits(ctx context.Context) ([]adapter.Limit, error) {
	return l.limiter.Report(ctx, mapping.PrincipalOf(ctx), l.store)
}
