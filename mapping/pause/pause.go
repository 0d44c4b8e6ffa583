// Package pause waits for time to pass: a wait ends with its context, and Retry-After says how long. Retries and
// regular looks of the whole program call it. It imports nothing of ours, and knows nothing of the reason for a wait.
package pause

import (
	"context"
	"time"
)

// For returns after d, with nil, or as soon as ctx ends, with its cause.
func For(ctx context.Context, d time.Duration) error { return Until(ctx, d, nil) }

// Until is For that also returns, with nil, when something comes from rung, or rung is closed. A nil channel never
// rings.
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
