package auth

import (
	"context"
	"reflect"

	"github.com/apbridge/apbridge/mapping"
)

// errGone is the cause of requests that end because their key is good no more.
var errGone error = mapping.Errorf(mapping.Unauthorized, codeUnauthorized,
	"The configuration of the bridge has changed, and the key of this request is not good for it any more. Use one of auth.keys.")

// life is the time for which a key is good as it is. It ends with errGone.
type life struct {
	context.Context
	end context.CancelCauseFunc
}

func newLife() life {
	ctx, end := context.WithCancelCause(context.Background())
	return life{ctx, end}
}

// Succeed has keys that are the same in an earlier configuration live on, and ends what goes on for
// the others of that one. Before k is used.
func (k *Keys) Succeed(before *Keys) {
	for id, was := range before.byID {
		if now, ok := k.byID[id]; ok && now.sum == was.sum && same(now.who, was.who) {
			k.byID[id] = known{now.sum, now.who, was.life}
		} else {
			was.life.end(errGone)
		}
	}
	if k.Required() == before.Required() {
		k.anyone = before.anyone
	} else {
		before.anyone.end(errGone)
	}
}

// same reports whether what goes on for one principal may go on for the other. How many runs may
// wait says nothing of that.
func same(a, b mapping.Principal) bool {
	a.Queue, b.Queue = 0, 0
	return reflect.DeepEqual(a, b)
}

// Life ends when a principal that Authenticate returned may not go on with what it does; nil: only
// its request ends it.
func (g *Gate) Life(who mapping.Principal) context.Context {
	if !g.keys.Required() {
		return g.keys.anyone
	}
	if k, ok := g.keys.byID[who.ID]; ok {
		return k.life
	}
	return nil // the token of a run
}
