package auth

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Pass is the principal of a request with its expiry.
type Pass struct {
	mapping.Principal
	life  context.Context // ends when the configuration removes it; nil means never
	until time.Time       // wall-clock time; zero means never
}

// errOver is the cause of requests whose credentials have expired.
var errOver error = mapping.Errorf(mapping.Unauthorized, codeExpired,
	"The credentials of this request expired before the response was complete. Send the request again with new ones.")

const codeExpired = "expired"

// look is the interval at which a running request checks the clock. A timer alone would not notice a changed clock or a
// suspended machine.
const look = 5 * time.Second

// Within returns a context that ends with ctx, or when the pass is no longer valid. done must be called at the end of
// the request.
func (p Pass) Within(ctx context.Context) (_ context.Context, done func()) {
	if p.life == nil && p.until.IsZero() {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	forget := func() bool { return true }
	if p.life != nil {
		forget = context.AfterFunc(p.life, func() { end(context.Cause(p.life)) })
	}
	if !p.until.IsZero() {
		go p.watch(ctx, end)
	}
	return ctx, func() { forget(); end(nil) }
}

// watch ends a request whose credentials expire, within look of a change of the clock.
func (p Pass) watch(ctx context.Context, end context.CancelCauseFunc) {
	for !expired(p.until) {
		next := time.NewTimer(min(look, time.Until(p.until)+time.Millisecond))
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		}
	}
	end(errOver)
}

// expired reports whether a wall-clock time has passed. Zero never has.
func expired(at time.Time) bool { return !at.IsZero() && !time.Now().Round(0).Before(at) }
