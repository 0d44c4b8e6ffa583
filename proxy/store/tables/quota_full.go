package tables

import (
	"sync"
	"time"
)

// longCount is the longest count that is repeated at every refusal. Tests change it.
var longCount = 5 * time.Millisecond

// recountRest limits the share of time spent on counting. After a long count, the quota is not counted again for this
// many times as long. A client that keeps retrying at a full quota takes at most a twentieth of the writer's time.
const recountRest = 20

// fullness remembers the quotas that were recently full and are slow to count.
type fullness struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func newFullness() *fullness { return &fullness{until: map[string]time.Time{}} }

func (f *fullness) note(row string, took time.Duration) {
	if took < longCount {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until[row] = time.Now().Add(recountRest * took)
}

// wait returns the time for which the row must not be counted again, or 0 if it may be counted now.
func (f *fullness) wait(row string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := time.Until(f.until[row])
	if left <= 0 {
		delete(f.until, row)
		return 0
	}
	return left
}
