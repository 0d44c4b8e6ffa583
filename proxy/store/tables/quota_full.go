package tables

import (
	"strings"
	"sync"
	"time"
)

func withOwner(text, narrow string) string { return strings.Replace(text, "{of}", narrow, 1) }

const (
	// longCount is what may be counted at each refusal.
	longCount = 5 * time.Millisecond
	// recountRest is how many times as long as a count took nothing is counted again: a client that goes on asking at a
	// full quota takes at most a twentieth of the writer's time.
	recountRest = 20
)

// fullness knows the quotas that were full lately and take long to count.
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

// wait is how long the row is not counted again; 0: it may be counted now.
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
