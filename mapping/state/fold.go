package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Fold is the state of a thread at one event: values and the open question. It is immutable. Apply and Reduce return a
// new one that shares the unchanged parts. Safe for concurrent use.
//
// Top-level keys keep the order of their first appearance. White space between them, between the elements of a
// top-level array and between the members of a top-level object is dropped; every other byte is kept.
type Fold struct {
	fields []field
	asks   []mapping.Interrupt
	size   int
	text   atomic.Pointer[[]byte] // JSON(), after its first call
}

type field struct {
	key  string
	name rawjson.Quoted
	val  value
}

const (
	KeyMessages = "messages"
	KeyFiles    = "files"
)

// NewFold returns a fold of a full state, which must be a JSON object. If values is empty, so is the state. The fold
// refers to the bytes, which must not change.
func NewFold(values json.RawMessage) (*Fold, error) {
	b, err := (&Fold{}).become(values)
	if err != nil {
		return nil, err
	}
	return b.fold(), nil
}

// Apply returns the fold after ev. Input events, and updates with Reduce set, are merged by Reduce, and state events by
// their Diff. A started event closes the open question, and an interrupt opens one. After an end event, a question
// stays open only if its run waits for the answer. For other events Apply returns f.
//
// The open question of a fold is therefore that of the newest run. Questions of other runs are in
// mapping.Thread.Interrupts.
func (f *Fold) Apply(ev *mapping.Event) (*Fold, error) {
	switch ev.Kind {
	case mapping.KindStarted:
		return f.ask(nil), nil
	case mapping.KindInput:
		return f.Reduce(ev.Data)
	case mapping.KindUpdate:
		return f.applyUpdate(ev)
	case mapping.KindState:
		return f.applyState(ev)
	case mapping.KindInterrupt:
		return f.ask(joinInterrupts(f.asks, ev.Head.Interrupts)), nil
	case mapping.KindEnd:
		return f.applyEnd(ev.Head.Outcome), nil
	default:
		return f, nil
	}
}

// ApplyAll returns the fold after all events. Consecutive differences are applied to one copy of the state, so the cost
// of each depends only on its changes and not on the size of the state.
func (f *Fold) ApplyAll(events []mapping.Event) (*Fold, error) {
	for len(events) > 0 {
		n := 0
		for n < len(events) && isDiff(&events[n]) {
			n++
		}
		var err error
		if n > 1 {
			f, err = f.applyDiffs(events[:n])
		} else {
			n = 1
			f, err = f.Apply(&events[0])
		}
		if err != nil {
			return nil, err
		}
		events = events[n:]
	}
	return f, nil
}

func isDiff(ev *mapping.Event) bool { return ev.Kind == mapping.KindState && !ev.Head.Full }

func (f *Fold) applyDiffs(events []mapping.Event) (*Fold, error) {
	e := f.edit(2)
	for i := range events {
		if rawjson.IsNull(events[i].Data) {
			continue
		}
		if err := e.apply(events[i].Data); err != nil {
			return nil, err
		}
	}
	return e.fold(f.asks), nil
}

func (f *Fold) applyUpdate(ev *mapping.Event) (*Fold, error) {
	next := f
	if ev.Head.Reduce {
		var err error
		if next, err = f.Reduce(ev.Data); err != nil {
			return nil, err
		}
	}
	if len(ev.Head.Interrupts) > 0 {
		next = next.ask(ev.Head.Interrupts)
	}
	return next, nil
}

func (f *Fold) applyState(ev *mapping.Event) (*Fold, error) {
	if !ev.Head.Full {
		return f.applyDiff(ev.Data)
	}
	b, err := f.become(ev.Data)
	if err != nil {
		return nil, err
	}
	return b.fold(), nil
}

func (f *Fold) applyEnd(o *mapping.Outcome) *Fold {
	switch {
	case o == nil || o.Parked:
		return f
	case len(o.Interrupts) > 0:
		return f.ask(o.Interrupts)
	case o.Status == mapping.RunInterrupted && !o.Cancelled:
		return f
	default:
		return f.ask(nil)
	}
}

// ask returns the fold with other open questions.
func (f *Fold) ask(open []mapping.Interrupt) *Fold {
	if len(open) == 0 && len(f.asks) == 0 {
		return f
	}
	next := &Fold{fields: f.fields, size: f.size, asks: open}
	next.text.Store(f.text.Load())
	return next
}

// joinInterrupts adds questions to the open ones, because parallel nodes of a run may ask one after the other.
func joinInterrupts(open, more []mapping.Interrupt) []mapping.Interrupt {
	out := slices.Clip(open)
	for _, in := range more {
		known := func(o mapping.Interrupt) bool { return in.ID != "" && o.ID == in.ID }
		if !slices.ContainsFunc(open, known) {
			out = append(out, in)
		}
	}
	return out
}

// Reduce merges a delta object with the bridge's own reducer, for agents without a state. Messages are merged by id: a
// known id replaces, a new one appends, a removal deletes (see Removes). Files are merged by path: null deletes, and a
// leading "/" is ignored. Other keys are replaced. A delta that is not an object is an *Error of class Invalid. A null
// delta changes nothing.
func (f *Fold) Reduce(delta json.RawMessage) (*Fold, error) {
	if rawjson.IsNull(delta) {
		return f, nil
	}
	next, failed := f.edit(max(0, rawjson.CountMembers(delta)-len(f.fields))), error(nil) // most deltas add no keys
	err := rawjson.EachMember(delta, func(name rawjson.Quoted, change json.RawMessage) {
		key := name.Text()
		at := next.find(key)
		val, err := reduceValue(key, next.at(at), change)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", key, err)
		}
		if failed == nil && !val.none() {
			next.putAt(at, field{key, name, val})
		}
	})
	if err = cmp.Or(err, failed); err != nil {
		return nil, stateError(err)
	}
	return next.fold(f.asks), nil
}

// reduceValue returns the value of key after a change, or none if a missing key stays missing.
func reduceValue(key string, old value, change json.RawMessage) (value, error) {
	switch {
	case key == KeyMessages && rawjson.IsNull(change), key == KeyFiles && rawjson.IsNull(change):
		return old, nil
	case key == KeyMessages:
		add, err := MessagesIn(change)
		if err != nil {
			return value{}, err
		}
		return value{list: old.asList().reduce(add)}, nil
	case key == KeyFiles && rawjson.Kind(change) == '{':
		obj, err := mergeFiles(old.object(), change)
		return value{obj: obj}, err
	default:
		return newValue(change)
	}
}

// MessagesIn reads values.messages of a delta: a list, or a single message.
func MessagesIn(b json.RawMessage) ([]json.RawMessage, error) {
	if rawjson.Kind(b) == '[' {
		return rawjson.Elements(b)
	}
	return []json.RawMessage{rawjson.Trim(b)}, nil
}

func mergeFiles(old *rawjson.Object, change json.RawMessage) (*rawjson.Object, error) {
	obj := &rawjson.Object{}
	if old != nil {
		obj = old.Clone()
	}
	gone := map[string]bool{}
	err := rawjson.EachMember(change, func(name rawjson.Quoted, file json.RawMessage) {
		m := rawjson.Member{Name: name.Text(), Quoted: name, Value: file}
		m.Name, m.Quoted = sameFile(obj, m)
		if gone[m.Name] = rawjson.IsNull(file); !gone[m.Name] {
			obj.Put(m)
		}
	})
	obj.Drop(gone)
	return obj, err
}

// sameFile returns the name under which obj already has the file of m, or else m's own name.
func sameFile(obj *rawjson.Object, m rawjson.Member) (string, rawjson.Quoted) {
	other := "/" + m.Name
	if bare, ok := strings.CutPrefix(m.Name, "/"); ok {
		other = bare
	}
	if i := obj.Find(other); i >= 0 && obj.Find(m.Name) < 0 {
		same := obj.Members()[i]
		return same.Name, same.Quoted
	}
	return m.Name, m.Quoted
}

// JSON returns the state as an object. It returns the same bytes on every call, which callers must not change.
func (f *Fold) JSON() json.RawMessage {
	if f.text.Load() == nil {
		b := f.join()
		f.text.CompareAndSwap(nil, &b)
	}
	return *f.text.Load()
}

// Once is JSON for a single use. The fold does not keep the bytes.
func (f *Fold) Once() json.RawMessage {
	if b := f.text.Load(); b != nil {
		return *b
	}
	return f.join()
}

func (f *Fold) join() []byte {
	w := rawjson.Writer{Bytes: make([]byte, 0, f.size)}
	w.Open('{')
	for _, fd := range f.fields {
		fd.val.writeTo(w.Spliced(fd.name))
	}
	return w.Close('}').Bytes
}

// Pieces yields the bytes of JSON in parts, for writing. Unlike JSON it builds no copy of the whole. Callers must not
// change or keep the parts.
func (f *Fold) Pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if b := f.text.Load(); b != nil {
			yield(*b)
			return
		}
		sep := byte('{')
		for _, fd := range f.fields {
			if !yield(append(append([]byte{sep}, fd.name...), ':')) || !fd.val.pieces(yield) {
				return
			}
			sep = ','
		}
		if len(f.fields) == 0 {
			yield([]byte("{"))
		}
		yield([]byte("}"))
	}
}

// Get returns one top-level value, or nil.
func (f *Fold) Get(key string) json.RawMessage {
	v := f.value(key)
	if v.none() || v.raw != nil {
		return v.raw
	}
	return v.json()
}

func (f *Fold) value(key string) value {
	for i := range f.fields {
		if f.fields[i].key == key {
			return f.fields[i].val
		}
	}
	return value{}
}

// Messages returns the elements of values.messages, or nil. Callers must not change them.
func (f *Fold) Messages() []json.RawMessage {
	l := f.value(KeyMessages).list
	if l == nil || len(l.elems) == 0 {
		return nil
	}
	return slices.Clip(l.elems)
}

// HasMessage returns a function that reports whether values.messages has a message with an id, or nil if there are no
// messages. The function keeps only the messages in memory, not the rest of the state.
func (f *Fold) HasMessage() func(id string) bool {
	l := f.value(KeyMessages).list
	if l == nil {
		return nil
	}
	return func(id string) bool { return l.find(id) >= 0 }
}

// Object returns the value of key as an object that callers must not change. It returns nil if the value is not an
// object, or if f is nil.
func (f *Fold) Object(key string) *rawjson.Object {
	if f == nil {
		return nil
	}
	return f.value(key).object()
}

// Interrupts returns the open questions, or nil.
func (f *Fold) Interrupts() []mapping.Interrupt { return f.asks }

// Size returns the length of JSON() in bytes, without building it.
func (f *Fold) Size() int { return f.size }

func stateError(err error) *mapping.Error {
	return &mapping.Error{
		Class: mapping.Invalid, Code: mapping.CodeInvalid, Err: err,
		Message: fmt.Sprintf("The state must be a JSON object whose values can be read (%v).", err),
	}
}
