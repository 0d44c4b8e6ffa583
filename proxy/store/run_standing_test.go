package store_test

import (
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// For an ended run only its newest event is read, measured in allocations. For a running one its steps are counted,
// without those of subgraphs.
func TestCostOfStandingIsIndependentOfTheRunsLength(t *testing.T) { // not parallel: it counts allocations
	b := openAt(t, filepath.Join(t.TempDir(), "a.db"), store.Options{})
	cost := func(steps int) float64 {
		c := b.create(newThreadRun())
		events := []mapping.Event{{Kind: mapping.KindUpdate, Head: mapping.Head{Node: "ns", NS: []string{"sub:1"}}, Data: []byte(`{}`)}}
		for range steps {
			events = append(events, mapping.Event{Kind: mapping.KindUpdate, Head: mapping.Head{Node: "ns"}, Data: []byte(`{}`)})
		}
		b.append(c, events...)
		st, err := b.Runs.Standing(b.ctx, "", c.Run.ID)
		if err != nil || st.Steps != steps {
			t.Fatalf("%d steps of %d, %v", st.Steps, steps, err)
		}
		b.end(c, mapping.RunSuccess)
		return testing.AllocsPerRun(5, func() {
			if st, err = b.Runs.Standing(b.ctx, "", c.Run.ID); err != nil || st.Last.Kind != mapping.KindEnd {
				t.Fatalf("got %+v, %v", st.Last, err)
			}
		})
	}
	if short, long := cost(1), cost(2000); long > 2*short {
		t.Errorf("a run of 2,000 steps takes %.0f allocations, one of a single step %.0f", long, short)
	}
}
