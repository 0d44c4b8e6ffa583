package maintenance

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store/item"
	"go.uber.org/zap"
)

const (
	// embedEvery is the interval at which it checks for items written by other processes.
	embedEvery = 2 * time.Second
	// embedAfter is the pause after the endpoint has failed.
	embedAfter = 5 * time.Second
	// embedTold is the number of items between two progress messages in the log.
	embedTold = 1000
)

// Embeddings computes the vectors of items in the long-term store: of new and changed items, and of all items after a
// change of the index.
type Embeddings struct {
	items *item.Maintenance
	zap   *zap.Logger
	after time.Duration // embedAfter
	said  logthrottle.Limiter
}

// NewEmbeddings returns Embeddings of items.
func NewEmbeddings(items *item.Maintenance, logger *zap.Logger) *Embeddings {
	return &Embeddings{items: items, zap: logger.Named("embeddings"), after: embedAfter}
}

// Run works until ctx ends.
func (w *Embeddings) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if w.pass(ctx) {
			w.wait(ctx)
		} else {
			_ = pause.For(ctx, w.after)
		}
	}
}

// pass computes missing vectors until there are none, and reports whether it succeeded.
func (w *Embeddings) pass(ctx context.Context) (ok bool) {
	began := time.Now()
	for done := 0; ; {
		n, aside, err := w.items.Embed(ctx)
		for _, it := range aside {
			w.tell(it)
		}
		if err != nil {
			if ctx.Err() == nil && w.said.Allow() {
				w.zap.Error("store items could not be embedded; searches find them by words only", zap.Error(err), w.said.Suppressed())
			}
			return false
		}
		w.said.Reset()
		if done/embedTold != (done+n)/embedTold {
			w.zap.Info("embedding store items", zap.Int("items", done+n), zap.Duration("for", time.Since(began)))
		}
		if done += n; n == 0 {
			return true
		}
	}
}

// tell logs an item that was set aside. The first refusal of its value is a warning.
func (w *Embeddings) tell(it item.SetAside) {
	level := zap.DebugLevel
	if it.Tries == 1 {
		level = zap.WarnLevel
	}
	w.zap.Log(level, "item set aside: the embeddings endpoint refuses it but accepts others; searches find it by words only", zap.Error(it.Err),
		zap.String("tenant", it.Tenant), zap.Strings("namespace", it.Namespace), zap.String("key", it.Key), zap.Int("tries", it.Tries), zap.Duration("again_in", it.For))
}

func (w *Embeddings) wait(ctx context.Context) {
	_ = pause.Until(ctx, embedEvery, w.items.Unseen())
}
