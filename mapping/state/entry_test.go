package state

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// TestEntryEncodesAtMostTwice checks that an entry is encoded for the first reader, and once for all others.
func TestEntryEncodesAtMostTwice(t *testing.T) {
	t.Parallel()
	var e Entry
	var renders atomic.Int32
	var wait sync.WaitGroup
	for i := range 20 {
		key := fmt.Sprint("mode", i%2)
		wait.Go(func() {
			got := e.Encoded(key, func() []byte { renders.Add(1); return []byte(key) })
			if string(got) != key {
				t.Errorf("key %s gave %s", key, got)
			}
		})
	}
	wait.Wait()
	if renders.Load() != 4 {
		t.Errorf("rendered %d times, want twice for each of 2 keys", renders.Load())
	}
}
