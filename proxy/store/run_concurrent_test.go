package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// A run that allows concurrent runs is removed after a client changed the state, also if it began at an older
// checkpoint. Data that depends on it remains readable.
func TestConcurrentRunIsRemovedBelowAChange(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]bool{"at the head": false, "at an older checkpoint": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, open opener) {
				b := open(t)
				n := newThreadRun()
				n.Run.Options.MayOverlap = true
				first := b.create(n)
				th := first.Run.ThreadID
				at := b.append(first, update(`{"list":[1]}`), update(`{"list":[1,2]}`))
				b.end(first, mapping.RunSuccess)
				next := newRun(th, mapping.StrategyReject)
				next.Run.Options.MayOverlap = true
				if elsewhere {
					next.Run.Base = at[0].Head.Checkpoint.ID
				}
				second := b.create(next)
				list := b.append(second, update(`{"list":[1,2,3]}`))
				b.end(second, mapping.RunSuccess)
				change := mapping.Event{Kind: mapping.KindState, Data: []byte(`{"list":{"list":{"keep":3,"add":[4]}}}`), Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: id(), Source: "update"}}}
				_, err := b.States.Append(b.ctx, th, list[0].Head.Checkpoint.ID, []mapping.Event{change}, store.StateOptions{})
				b.ok(err)
				before := b.state(th, "")
				b.ok(b.Runs.Delete(b.ctx, th, second.Run.ID))
				if diff := cmp.Diff(before, b.state(th, "")); diff != "" {
					t.Errorf("state after a client's update (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// Concurrent runs are removed one at a time, in any order. The state is always that of the remaining runs, whichever
// wrote last.
func TestConcurrentRunsAreRemovedInAnyOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		for _, did := range [][]int{{0, 1, 2}, {0, 1, 2, 0}, {0, 1, 0, 2, 1}} {
			for _, gone := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
				n := newThreadRun()
				n.Run.Options.MayOverlap = true
				runs := []*store.CreateRunResult{b.create(n)}
				th := runs[0].Run.ThreadID
				for range 2 {
					runs = append(runs, b.create(newRun(th, mapping.StrategyConcurrent)))
				}
				for i, run := range did {
					ev := update(fmt.Sprintf(`{"last":%d,"of%d":%d}`, i, run%2, i))
					ev.Head.Checkpoint.RunID = runs[run].Run.ID
					b.append(runs[run], ev)
				}
				for _, c := range runs {
					b.end(c, mapping.RunSuccess)
				}
				for n, run := range gone {
					b.ok(b.Runs.Delete(b.ctx, th, runs[run].Run.ID))
					want := map[string]any{}
					for i, doer := range did {
						if !slices.Contains(gone[:n+1], doer) {
							want["last"], want[fmt.Sprintf("of%d", doer%2)] = float64(i), float64(i)
						}
					}
					got := map[string]any{}
					b.ok(json.Unmarshal(b.values(th), &got))
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("runs %v, after deleting %v (-want +got):\n%s", did, gone[:n+1], diff)
					}
				}
			}
		}
	})
}

// values returns the whole state of a thread.
func (b *harness) values(thread string) json.RawMessage {
	b.t.Helper()
	st, err := b.States.At(b.ctx, thread, "")
	b.ok(err)
	fold, err := state.NewFold(st.Snapshot)
	for i := 0; i < len(st.Events) && err == nil; i++ {
		fold, err = fold.Apply(&st.Events[i])
	}
	b.ok(err)
	return fold.JSON()
}
