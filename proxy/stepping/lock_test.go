package stepping

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/apbridge/apbridge/mapping"
)

// TestLocksAreAcquiredInOrder checks that the POSTs of a task are served in order, however many wait.
func TestLocksAreAcquiredInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, err := newSessions()
		if err != nil {
			t.Fatal(err)
		}
		_, release, err := all.acquire(t.Context(), emptySession(mapping.Task{ID: "t"}, nil, mapping.SteppingFree))
		if err != nil {
			t.Fatal(err)
		}
		var served []int
		for n := range 50 {
			go func() {
				_, release, err := all.acquire(t.Context(), emptySession(mapping.Task{ID: "t"}, nil, mapping.SteppingFree))
				if err != nil {
					t.Error(err)
					return
				}
				served = append(served, n)
				release()
			}()
			synctest.Wait() // it is in the queue
		}
		release()
		synctest.Wait()
		if len(served) != 50 || !slices.IsSorted(served) {
			t.Errorf("served in the order %v", served)
		}
	})
}
