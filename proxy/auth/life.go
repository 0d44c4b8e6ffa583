package auth

import (
	"context"
	"reflect"
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// errGone is the cause of requests that end because their key is good no more.
var errGone error = mapping.Errorf(mapping.Unauthorized, codeUnauthorized,
	"The configuration of the bridge has changed, and the credentials of this request are not good for it any more. Use others of those in auth.")

// life is the time for which a key is good as it is. It ends with errGone.
type life struct {
	context.Context
	end context.CancelCauseFunc
}

func newLife() life {
	ctx, end := context.WithCancelCause(context.Background())
	return life{ctx, end}
}

// Succeed has a gate go on with what an earlier one knows of addresses, and with its callers as Callers.Succeed says.
// It must be called before g is used.
func (g *Gate) Succeed(before *Gate) {
	g.wrong, g.right = before.wrong, before.right
	g.callers.Succeed(before.callers)
}

// Replaceable is Callers.Replaceable of the gates' callers.
func (g *Gate) Replaceable(ctx context.Context, next *Gate) error {
	return g.callers.Replaceable(ctx, next.callers)
}

// same reports whether what goes on for one principal may go on for the other. How many runs may wait says nothing of
// that.
func same(a, b mapping.Principal) bool {
	a.Queue, b.Queue = 0, 0
	return reflect.DeepEqual(a, b)
}

// opens reports whether a principal may do anything but look at metrics.
func opens(who mapping.Principal) bool {
	return who.Rights == nil || slices.ContainsFunc(who.Rights, func(r string) bool { return r != mapping.RightMetrics })
}
