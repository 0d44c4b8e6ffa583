package state

import (
	"sync"

	"github.com/apbridge/apbridge/mapping"
)

// Entry is an event as readers get it: with the state before and after it, and a memo of the bytes it was encoded to,
// so that many readers of one run share an encoding. Safe for concurrent use.
type Entry struct {
	mapping.Event
	Before, After *Fold

	mu      sync.Mutex
	encoded []encoding
}

type encoding struct {
	key   string
	bytes []byte // nil: one reader has asked
}

// Encoded returns the bytes that render makes for a key. They are kept from the second reader on: most runs have one,
// for which the entry would hold them in vain. Keys are made by dialects: dialect, mode and namespace view.
func (e *Entry) Encoded(key string, render func() []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.encoded {
		if known := &e.encoded[i]; known.key == key {
			if known.bytes == nil {
				known.bytes = render()
			}
			return known.bytes
		}
	}
	e.encoded = append(e.encoded, encoding{key: key})
	return render()
}
