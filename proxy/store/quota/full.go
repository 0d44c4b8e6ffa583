package quota

import (
	"strings"
	"sync"
	"time"
)

func with(text, narrow string) string { return strings.Replace(text, "{of}", narrow, 1) }

const (
	// longCount is what may be counted at each refusal.
	longCount = 10 * time.Millisecond
	// rest is how many times as long as a count took nothing is counted again: who goes on asking at a
	// full quota takes at most a twentieth of the writer's time.
	rest = 20
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
	f.until[row] = time.Now().Add(rest * took)
}

func (f *fullness) lately(row string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	until, ok := f.until[row]
	if ok && time.Now().After(until) {
		delete(f.until, row)
		return false
	}
	return ok
}
