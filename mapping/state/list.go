package state

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// list is an immutable array of raw elements. A list and its extensions share memory. Appending to the newest one only
// costs the appended elements; appending to an older one copies it. Safe for concurrent use.
type list struct {
	elems []json.RawMessage
	size  int // bytes of the elements
	store *listStore
}

// listStore is the shared part of a list and its extensions.
type listStore struct {
	mu    sync.Mutex
	n     int            // length of the newest list
	index *rawjson.Index // last position of each message id; nil until it is needed
}

func newList(elems []json.RawMessage) *list {
	l := &list{elems: elems, store: &listStore{n: len(elems)}}
	for _, e := range elems {
		l.size += len(e)
	}
	return l
}

// length returns the length of the array's text.
func (l *list) length() int { return 2 + l.size + max(0, len(l.elems)-1) }

// append returns the list followed by add.
func (l *list) append(add []json.RawMessage) *list {
	if len(add) == 0 {
		return l
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.n != len(l.elems) {
		return newList(slices.Concat(l.elems, add))
	}
	next := &list{elems: append(l.elems, add...), size: l.size, store: l.store}
	for i, e := range add {
		next.size += len(e)
		if l.store.index != nil {
			addToIndex(l.store.index, next.elems, len(l.elems)+i)
		}
	}
	l.store.n = len(next.elems)
	return next
}

// cut returns the first n elements followed by add.
func (l *list) cut(n int, add []json.RawMessage) *list {
	if n == len(l.elems) {
		return l.append(add)
	}
	return newList(slices.Concat(l.elems[:n], add))
}

// old reports whether this list was extended already.
func (l *list) old() bool {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	return l.store.n != len(l.elems)
}

// find returns the last position of the message with this id, or -1.
func (l *list) find(id string) int {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.n != len(l.elems) {
		return l.scanFor(id)
	}
	if l.store.index == nil {
		l.store.index = rawjson.NewIndex(len(l.elems))
		for i := range l.elems {
			addToIndex(l.store.index, l.elems, i)
		}
	}
	return l.store.index.FindText(id, func(at int) bool { return hasID(l.elems[at], id) })
}

// scanFor is find for a list that is not the newest, to which the index refers.
func (l *list) scanFor(id string) int {
	for i := len(l.elems) - 1; i >= 0; i-- {
		if hasID(l.elems[i], id) {
			return i
		}
	}
	return -1
}

func addToIndex(index *rawjson.Index, elems []json.RawMessage, i int) {
	if id := idBytes(elems[i]); len(id) > 0 {
		index.Put(id, i, func(at int) bool { return bytes.Equal(idBytes(elems[at]), id) })
	}
}

// merge is the reducer of messages. A message with a known id replaces the existing one, others are appended. A message
// without an id is always new.
func (l *list) merge(messages []json.RawMessage) *list {
	if l.old() {
		l = newList(slices.Clone(l.elems))
	}
	out, fresh := l, freshMessages{elems: make([]json.RawMessage, 0, len(messages))}
	for _, m := range messages {
		id := idBytes(m)
		if at := fresh.find(id); at >= 0 {
			fresh.elems[at] = m
		} else if at := l.findOld(id); at >= 0 {
			out = out.replace(at, m, out != l)
		} else {
			fresh.add(m)
		}
	}
	return out.append(fresh.elems)
}

// findOld is find for an id that may be empty. An empty id is never found.
func (l *list) findOld(id []byte) int {
	if len(id) == 0 || len(l.elems) == 0 {
		return -1
	}
	return l.find(string(id))
}

// freshMessages are the messages of a merge with new ids.
type freshMessages struct {
	elems []json.RawMessage
	index *rawjson.Index // nil while there are few
}

func (f *freshMessages) find(id []byte) int {
	is := func(at int) bool { return bytes.Equal(idBytes(f.elems[at]), id) }
	if len(id) == 0 {
		return -1
	}
	if f.index != nil {
		return f.index.Find(id, is)
	}
	for at := range f.elems {
		if is(at) {
			return at
		}
	}
	return -1
}

func (f *freshMessages) add(m json.RawMessage) {
	f.elems = append(f.elems, m)
	switch n := len(f.elems); {
	case f.index != nil:
		f.note(n - 1)
	case n > rawjson.ManyKeys:
		f.index = rawjson.NewIndex(cap(f.elems))
		for at := range f.elems {
			f.note(at)
		}
	}
}

func (f *freshMessages) note(at int) {
	if id := idBytes(f.elems[at]); len(id) > 0 {
		f.index.Put(id, at, rawjson.Nothing)
	}
}

// replace returns the list with another element at i. If own is set, this list has no other user yet and is changed in
// place.
func (l *list) replace(i int, m json.RawMessage, own bool) *list {
	if string(l.elems[i]) == string(m) {
		return l
	}
	if !own {
		l = newList(slices.Clone(l.elems))
	}
	l.size += len(m) - len(l.elems[i])
	l.elems[i] = m
	return l
}

// IDOfMessage returns the id of a message, or "".
func IDOfMessage(message json.RawMessage) string { return string(idBytes(message)) }

func hasID(message json.RawMessage, id string) bool { return string(idBytes(message)) == id }

// idBytes is IDOfMessage as a slice of the message, if it has no escapes.
func idBytes(message json.RawMessage) []byte {
	if rawjson.Kind(message) != '{' {
		return nil
	}
	id := rawjson.Get(message, "id")
	if rawjson.Kind(id) != '"' {
		return nil
	}
	return rawjson.Quoted(id).Bytes()
}
