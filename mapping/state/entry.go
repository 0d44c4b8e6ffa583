package state

import (
	"sync"

	"github.com/apbridge/apbridge/mapping"
)

// Entry is an event for readers. It has the states before and after the event, and a cache of encoded forms that is
// shared by the readers of a run. Safe for concurrent use.
type Entry struct {
	mapping.Event
	Before, After *Fold

	mu      sync.Mutex
	encoded []encoding
}

type encoding struct {
	key   string
	bytes []byte // nil after the first reader
}

// Encoded returns the bytes that render returns for a key. They are cached from the second reader on, because most runs
// have only one. Keys are defined by dialects, and consist of dialect, mode and namespace view.
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
