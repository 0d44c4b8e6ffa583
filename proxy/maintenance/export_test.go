package maintenance

import (
	"context"
	"time"
)

// RestFor sets how long nothing is asked of an endpoint that has failed.
func (w *Embeddings) RestFor(d time.Duration) { w.after = d }

// Look serves the crons once, as the first look of a process does.
func (w *Crons) Look(ctx context.Context) error {
	w.looked = time.Time{}
	_, err := w.look(ctx)
	return err
}
