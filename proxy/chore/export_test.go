package chore

import "time"

// RestFor sets how long nothing is asked of an endpoint that has failed.
func (w *Embeddings) RestFor(d time.Duration) { w.after = d }
