package metrics

import "sync"

// mostCodes limits the number of error codes. The program has fewer, but codes from elsewhere must not create a time
// series for each value.
const mostCodes = 200

// few limits the number of values of a label. Safe for concurrent use.
type few struct {
	mu   sync.RWMutex
	seen map[string]bool
}

func newFew() *few { return &few{seen: map[string]bool{}} }

// label returns the value, or "other" if there are too many.
func (f *few) label(value string) string {
	f.mu.RLock()
	known, full := f.seen[value], len(f.seen) >= mostCodes
	f.mu.RUnlock()
	switch {
	case known:
		return value
	case full:
		return "other"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) >= mostCodes && !f.seen[value] {
		return "other"
	}
	f.seen[value] = true
	return value
}
