package auth

import (
	"context"
	"reflect"
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// errGone is the cause of requests that end because their key is no longer valid.
var errGone error = mapping.Errorf(mapping.Unauthorized, codeUnauthorized,
	"The configuration of the bridge has changed, and the credentials of this request are no longer valid. Use others from auth.")

// life is the time during which a key is valid and unchanged. It ends with errGone.
type life struct {
	context.Context
	end context.CancelCauseFunc
}

func newLife() life {
	ctx, end := context.WithCancelCause(context.Background())
	return life{ctx, end}
}

// Succeed takes over the addresses of an earlier gate, and its callers as in Callers.Succeed. It must be called before
// g is used.
func (g *Gate) Succeed(before *Gate) {
	g.wrong, g.right = before.wrong, before.right
	g.callers.Succeed(before.callers)
}

// Replaceable calls Callers.Replaceable for the gates' callers.
func (g *Gate) Replaceable(ctx context.Context, next *Gate) error {
	return g.callers.Replaceable(ctx, next.callers)
}

// same reports whether the running requests of one principal may continue as the other. The limit of waiting runs does
// not matter.
func same(a, b mapping.Principal) bool {
	a.Queue, b.Queue = 0, 0
	return reflect.DeepEqual(a, b)
}

// opens reports whether a principal has access to more than metrics.
func opens(who mapping.Principal) bool {
	return who.Rights == nil || slices.ContainsFunc(who.Rights, func(r string) bool { return r != mapping.RightMetrics })
}
