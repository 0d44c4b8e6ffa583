package mapping

import "encoding/json"

// Fold is the state of a thread at one event: values and the open question.
// It is immutable; Apply and Reduce return a new one that shares what did not
// change. Safe for concurrent use.
type Fold struct{}

// NewFold makes a fold of a full state, which must be a JSON object; nil or
// empty bytes are the empty state.
func NewFold(values json.RawMessage) (*Fold, error) { panic("stub") }

// Apply returns the fold after ev. Input events, and updates with Reduce, are
// merged by Reduce; state events by their Diff; a started event closes the
// open question; interrupts open one. Others change nothing and return f.
func (f *Fold) Apply(ev Event) (*Fold, error) { panic("stub") }

// Reduce merges a delta object the way the bridge does it for agents that have
// no state: messages by id (equal replaces, new appends), files by path (null
// deletes), other keys replaced.
func (f *Fold) Reduce(delta json.RawMessage) (*Fold, error) { panic("stub") }

// DiffTo returns the encoded difference from f to the full state, and the fold
// of that state. Top-level keys are compared as bytes, arrays by their common
// prefix, objects one level deep. A nil diff means that nothing changed.
func (f *Fold) DiffTo(full json.RawMessage) (diff json.RawMessage, next *Fold, err error) {
	panic("stub")
}

// JSON is the state as an object; the same bytes on every call. Callers must
// not change them.
func (f *Fold) JSON() json.RawMessage { panic("stub") }

// Get returns one top-level value, or nil.
func (f *Fold) Get(key string) json.RawMessage { panic("stub") }

// Messages returns values.messages as its elements; nil when there are none.
func (f *Fold) Messages() []json.RawMessage { panic("stub") }

// Interrupts is the open question, nil when there is none.
func (f *Fold) Interrupts() []Interrupt { panic("stub") }

// Size is the length of JSON() in bytes, cheaply.
func (f *Fold) Size() int { panic("stub") }
