package bridge

import (
	"context"
	"reflect"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// ledger is where rates are counted for all bridges: the database, which is opened after the limiter that asks it was
// made.
type ledger struct{ app *App }

func (l ledger) TakeRate(ctx context.Context, name string, cost, span time.Duration) (time.Duration, error) {
	return l.app.store.Rates.Take(ctx, name, cost, span)
}

func (l ledger) RateLeft(ctx context.Context, name string, span time.Duration) (time.Duration, error) {
	return l.app.store.Rates.Left(ctx, name, span)
}

// Shared reports whether there can be other bridges.
func (l ledger) Shared() bool { return l.app.store.Shared() }

// relimit puts other limits in force. What they count is counted anew, as it was not while none held.
func (a *App) relimit(cfg *config.Config) {
	a.limits.Reconfigure(cfg)
	a.countAnew()
}

// countingTimeout bounds the deletion of a few rows.
const countingTimeout = 10 * time.Second

func (a *App) countAnew() {
	if !a.limits.HasQuotas() {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), countingTimeout)
	defer stop()
	if err := a.store.Counts.CountAnew(ctx); err != nil {
		a.log.Warn("what quotas count could not be counted anew: they may allow too much until the next start", zap.Error(err))
	}
}

// sameForAgents reports whether agents are called by the same limits.
func sameForAgents(a, b config.Limits) bool {
	a.Tenant, a.Tenants, b.Tenant, b.Tenants = config.Allowance{}, nil, config.Allowance{}, nil
	return reflect.DeepEqual(a, b)
}

// Limits returns the limits of the caller: it implements adapter.Limits.
func (a *App) Limits(ctx context.Context) ([]adapter.Limit, error) {
	return a.limits.Report(ctx, mapping.PrincipalOf(ctx), a.store.Counts)
}
