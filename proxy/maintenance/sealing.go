package maintenance

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"go.uber.org/zap"
)

const (
	// sealEvery is the interval at which it checks for bodies that must be rewritten: after a start, and when other
	// bridges of the database have started or stopped.
	sealEvery = time.Minute
	// sealTold is the interval of progress messages in the log.
	sealTold = 30 * time.Second
)

const othersFirst = "bodies of the database must be rewritten, but another bridge that uses it has different keys or writes with another key: " +
	"restart that bridge with the same configuration first"

// Sealing rewrites bodies of a database that are not in the form this bridge writes: plain ones from before there was a
// key, those under an older key, and sealed ones that should be plain. It is complete when the log reports which keys
// are no longer needed. The next process continues interrupted work.
type Sealing struct {
	bodies *store.Sealing
	items  *item.Maintenance
	zap    *zap.Logger
	said   logthrottle.Limiter // of failures
	wait   logthrottle.Limiter // of other bridges
}

// NewSealing returns Sealing for bodies and for the index of items.
func NewSealing(bodies *store.Sealing, items *item.Maintenance, logger *zap.Logger) *Sealing {
	return &Sealing{bodies: bodies, items: items, zap: logger.Named("encryption")}
}

// Run works until ctx ends.
func (w *Sealing) Run(ctx context.Context) {
	for {
		err := w.pass(ctx)
		switch {
		case err == nil:
			w.said.Reset()
			w.wait.Reset()
		case errors.Is(err, store.ErrOthers):
			if w.wait.Allow() {
				w.zap.Warn(othersFirst, zap.String("key", w.bodies.WritesAs()))
			}
		case ctx.Err() == nil && w.said.Allow():
			w.zap.Error("database bodies could not be rewritten", zap.Error(err), w.said.Suppressed())
		}
		if pause.For(ctx, sealEvery) != nil {
			return
		}
	}
}

func (w *Sealing) pass(ctx context.Context) error {
	left, err := w.bodies.Unsealed(ctx)
	switch {
	case err != nil || !left.Some:
		return err
	case left.Others:
		return store.ErrOthers
	}
	return w.all(ctx)
}

// all rewrites the database until nothing is left to rewrite.
func (w *Sealing) all(ctx context.Context) error {
	w.zap.Info("rewriting database bodies that are not in the current format", zap.String("key", w.bodies.WritesAs()))
	began, told, all := time.Now(), time.Now(), int64(0)
	for again := true; again; {
		n, err := w.bodies.Reseal(ctx, func(n int64) {
			if time.Since(told) > sealTold {
				told = time.Now()
				w.zap.Info("rewriting database bodies", zap.Int64("rows", all+n), zap.Duration("for", time.Since(began)))
			}
		})
		all += n
		if err == nil {
			err = w.reindex(ctx)
		}
		if err != nil {
			return err
		}
		again = n > 0
	}
	forgotten, err := w.bodies.Resealed(ctx)
	if err == nil {
		w.zap.Info("all database bodies are in the current format", zap.String("key", w.bodies.WritesAs()), zap.Int64("rows", all),
			zap.Duration("for", time.Since(began)), zap.String("needed_no_longer", strings.Join(forgotten, ", ")))
	}
	return err
}

// reindex rebuilds the indexes of items whose bodies were sealed or unsealed.
func (w *Sealing) reindex(ctx context.Context) error {
	for {
		if n, err := w.items.Reindex(ctx); n == 0 || err != nil {
			return err
		}
	}
}
