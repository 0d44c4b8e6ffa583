package store_test

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// A run that may run beside others is removed after a client changed the state, also
// when it began at an older checkpoint: what stands on it stays readable, and the run
// is gone.
func TestSharedRunIsRemovedFromUnderAChange(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]bool{"at the head": false, "at an older checkpoint": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, open opener) {
				b := open(t)
				n := newThreadRun()
				n.Run.Options.Shared = true
				first := b.create(n)
				th := first.Thread.ID
				at := b.append(first, update(`{"list":[1]}`), update(`{"list":[1,2]}`))
				b.end(first, mapping.RunSuccess)
				next := newRun(th, mapping.StrategyReject)
				next.Run.Options.Shared = true
				if elsewhere {
					next.Run.Base = at[0].Head.Checkpoint.ID
				}
				second := b.create(next)
				list := b.append(second, update(`{"list":[1,2,3]}`))
				b.end(second, mapping.RunSuccess)
				change := mapping.Event{Kind: mapping.KindState, Data: []byte(`{"list":{"list":{"keep":3,"add":[4]}}}`), Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: id(), Source: "update"}}}
				_, err := b.AppendState(b.ctx, th, list[0].Head.Checkpoint.ID, []mapping.Event{change}, store.StateOptions{})
				b.ok(err)
				before := b.state(th, "")
				b.ok(b.DeleteRun(b.ctx, th, second.Run.ID))
				if diff := cmp.Diff(before, b.state(th, "")); diff != "" {
					t.Errorf("the state that a client made (-was +is):\n%s", diff)
				}
			})
		})
	}
}
