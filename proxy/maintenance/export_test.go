package maintenance

import (
	"context"
	"time"
)

// RestFor sets the pause after the endpoint has failed.
func (w *Embeddings) RestFor(d time.Duration) { w.after = d }

// Look serves the crons once, like the first look of a process.
func (w *Crons) Look(ctx context.Context) error {
	w.looked = time.Time{}
	_, err := w.look(ctx)
	return err
}
