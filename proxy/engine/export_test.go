package engine

import "context"

// Compare has the engine compare what it holds with what it executes, now.
func (e *Engine) Compare(ctx context.Context) error { return e.freeUnexecuted(ctx) }
