package state

import (
	"sync"

	"github.com/apbridge/apbridge/mapping"
)

// Entry is an event as readers get it: with the state before and after it, and
// a memo of the bytes it was encoded to, so that many readers of one run share
// one encoding. Safe for concurrent use.
type Entry struct {
	mapping.Event
	Before, After *Fold

	mu      sync.Mutex
	encoded []encoding
}

type encoding struct {
	key   string
	bytes []byte
}

// Encoded returns the bytes kept under key, calling render for the first
// reader. Keys are made by dialects: dialect, mode and namespace view.
func (e *Entry) Encoded(key string, render func() []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.encoded {
		if e.encoded[i].key == key {
			return e.encoded[i].bytes
		}
	}
	b := render()
	e.encoded = append(e.encoded, encoding{key, b})
	return b
}
