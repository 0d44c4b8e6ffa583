package maintenance

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store/item"
	"go.uber.org/zap"
)

// Items removes expired items of the long-term store and indexes those written by an older version.
type Items struct {
	items *item.Maintenance
	every time.Duration
	zap   *zap.Logger
}

// NewItems returns Items that works at the given interval. Removal is not urgent, since readers do not see expired
// items.
func NewItems(items *item.Maintenance, every time.Duration, logger *zap.Logger) *Items {
	return &Items{items: items, every: every, zap: logger.Named("items")}
}

// Run works until ctx ends.
func (w *Items) Run(ctx context.Context) {
	var said logthrottle.Limiter
	for {
		if err := w.pass(ctx); err == nil {
			said.Reset()
		} else if ctx.Err() == nil && said.Allow() {
			w.zap.Error("store items could not be maintained", zap.Error(err), said.Suppressed())
		}
		if pause.For(ctx, w.every) != nil {
			return
		}
	}
}

func (w *Items) pass(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = w.items.Sweep(ctx); err != nil {
			return err
		}
	}
	return w.tellIndex(ctx)
}

// tellIndex indexes items of an older version in batches, so that other writes can run in between.
func (w *Items) tellIndex(ctx context.Context) error {
	for done := 0; ; {
		n, err := w.items.Reindex(ctx)
		switch {
		case err != nil:
			return err
		case n > 0 && done == 0:
			w.zap.Info("indexing items of an older version")
		case n == 0 && done > 0:
			w.zap.Info("items of an older version indexed for searches by text and by filter", zap.Int("items", done))
		}
		if done += n; n == 0 {
			return nil
		}
	}
}
