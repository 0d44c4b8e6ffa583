package metrics

import "sync"

// mostCodes is how many codes of errors are told apart. The program has fewer; a code that came from elsewhere must not
// make a time series for each of its values.
const mostCodes = 200

// few bounds the values of a label. Safe for concurrent use.
type few struct {
	mu   sync.RWMutex
	seen map[string]bool
}

func newFew() *few { return &few{seen: map[string]bool{}} }

// label is the value, or "other" when there are too many already.
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
