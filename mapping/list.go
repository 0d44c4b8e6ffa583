package mapping

import (
	"encoding/json"
	"slices"
	"sync"
)

// list is an immutable array of raw elements. Lists that grew out of each
// other share their memory: appending to the newest one costs what is
// appended, appending to an older one copies. Safe for concurrent use.
type list struct {
	elems []json.RawMessage
	size  int // bytes of the elements
	store *listStore
}

// listStore is what lists of one line of growth share.
type listStore struct {
	mu    sync.Mutex
	n     int            // length of the newest list
	index map[string]int // message id → its last position; nil until asked for
}

func newList(elems []json.RawMessage) *list {
	l := &list{elems: elems, store: &listStore{n: len(elems)}}
	for _, e := range elems {
		l.size += len(e)
	}
	return l
}

// length is that of the array's text.
func (l *list) length() int { return 2 + l.size + max(0, len(l.elems)-1) }

// append returns the list with add behind it.
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
			addToIndex(l.store.index, e, len(l.elems)+i)
		}
	}
	l.store.n = len(next.elems)
	return next
}

// cut returns the first n elements with add behind them.
func (l *list) cut(n int, add []json.RawMessage) *list {
	if n == len(l.elems) {
		return l.append(add)
	}
	return newList(slices.Concat(l.elems[:n], add))
}

// old tells whether something was appended to this list already.
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
		l.store.index = make(map[string]int, 2*len(l.elems))
		for i, e := range l.elems {
			addToIndex(l.store.index, e, i)
		}
	}
	if i, ok := l.store.index[id]; ok {
		return i
	}
	return -1
}

// scanFor is find for a list that is not the newest of its line, which the
// index speaks of.
func (l *list) scanFor(id string) int {
	for i := len(l.elems) - 1; i >= 0; i-- {
		if messageID(l.elems[i]) == id {
			return i
		}
	}
	return -1
}

func addToIndex(index map[string]int, e json.RawMessage, i int) {
	if id := messageID(e); id != "" {
		index[id] = i
	}
}

// merge is the reducer of messages: one with a known id replaces, others are
// appended. One without an id is always new.
func (l *list) merge(messages []json.RawMessage) *list {
	if l.old() {
		l = newList(slices.Clone(l.elems))
	}
	var fresh []json.RawMessage
	place := map[string]int{}
	out := l
	for _, m := range messages {
		id := messageID(m)
		if at, ok := place[id]; ok {
			fresh[at] = m
			continue
		}
		if id == "" {
			fresh = append(fresh, m)
			continue
		}
		if at := l.find(id); at >= 0 {
			out = out.replace(at, m, out != l)
			continue
		}
		place[id] = len(fresh)
		fresh = append(fresh, m)
	}
	return out.append(fresh)
}

// replace returns the list with another element at i; own says that nobody
// else has seen this list yet.
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

// messageID is the id of a message element, "" for none.
func messageID(message json.RawMessage) string {
	if kindOf(message) != '{' {
		return ""
	}
	id, _ := stringOf(lookup(message, "id"))
	return id
}
