package maintenance

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store/item"
	"go.uber.org/zap"
)

// Items removes items of the long-term store that have expired, and has searches find those that an older version has
// written.
type Items struct {
	items *item.Chores
	every time.Duration
	zap   *zap.Logger
}

// NewItems returns Items over the chores of a table, which looks at items so often: no reader is shown one that has
// expired, so that its removal is not urgent.
func NewItems(items *item.Chores, every time.Duration, logger *zap.Logger) *Items {
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

// tellIndex tells the indexes of new items in batches, and lets other writes come between them.
func (w *Items) tellIndex(ctx context.Context) error {
	for done := 0; ; {
		n, err := w.items.Reindex(ctx)
		switch {
		case err != nil:
			return err
		case n > 0 && done == 0:
			w.zap.Info("items of an older version are made ready for searches by text and by filter")
		case n == 0 && done > 0:
			w.zap.Info("items of an older version are ready for searches by text and by filter", zap.Int("items", done))
		}
		if done += n; n == 0 {
			return nil
		}
	}
}
