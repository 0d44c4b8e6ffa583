// Package pause waits for a duration or until a context ends, and reads Retry-After. The whole program uses it for
// retries and periodic work. It imports nothing of ours.
package pause

import (
	"context"
	"time"
)

// For returns nil after d, or the cause of ctx as soon as ctx ends.
func For(ctx context.Context, d time.Duration) error { return Until(ctx, d, nil) }

// Until is like For, but also returns nil when rung receives a value or is closed. A nil channel is ignored.
func Until(ctx context.Context, d time.Duration, rung <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-rung:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
