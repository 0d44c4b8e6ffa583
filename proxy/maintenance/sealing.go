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
	// sealEvery is how often it is looked whether there is something to be sealed anew: after a start, and where other
	// bridges of the database have come and gone.
	sealEvery = time.Minute
	// sealTold is how often the log tells how far it is.
	sealTold = 30 * time.Second
)

const othersFirst = "bodies of the database are to be written anew, but another bridge that uses it has other keys, or writes under another: " +
	"it has to be restarted with the same first"

// Sealing writes the bodies of a database anew that are not as this bridge writes them: plain ones from before there
// was a key, those under an older key, and sealed ones where they are to be plain. It is done when the log says which
// keys are needed no longer; the next process goes on where one was ended.
type Sealing struct {
	bodies *store.Sealing
	items  *item.Chores
	zap    *zap.Logger
	said   logthrottle.Limiter // of what failed
	wait   logthrottle.Limiter // of other bridges
}

// NewSealing returns Sealing of bodies, and of what searches read of items.
func NewSealing(bodies *store.Sealing, items *item.Chores, logger *zap.Logger) *Sealing {
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

// all goes over the database until there is nothing to be written anew.
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

// reindex makes the indexes of items whose bodies were sealed or made plain.
func (w *Sealing) reindex(ctx context.Context) error {
	for {
		if n, err := w.items.Reindex(ctx); n == 0 || err != nil {
			return err
		}
	}
}
