package backend

import (
	"encoding/json"
	"strconv"
)

// remoteList is one page of a list of objects or ids.
type remoteList struct {
	Elems []json.RawMessage
	Total int // items in all pages; -1 if unknown
	Pages int // number of pages; -1 if unknown
}

type listPage struct {
	TotalItems json.RawMessage `json:"total_items"`
	Total      json.RawMessage `json:"total"`
	TotalPages json.RawMessage `json:"total_pages"`
	Pages      json.RawMessage `json:"pages"`
}

// parseList reads the wrapper {key: […], pagination}, the same with items instead of key, or a bare list.
func parseList(raw json.RawMessage, key string) (remoteList, error) {
	l := remoteList{Total: -1, Pages: -1}
	if isList(raw) {
		if err := json.Unmarshal(raw, &l.Elems); err != nil {
			return l, &fieldError{"the answer", "cannot be read: " + err.Error()}
		}
		return l, nil
	}
	var env map[string]json.RawMessage
	if err := object(raw, "", &env); err != nil {
		return l, err
	}
	elems, ok := env[key]
	if !ok {
		elems, ok = env["items"]
	}
	if !ok {
		return l, &fieldError{key, "is missing"}
	}
	if err := json.Unmarshal(elems, &l.Elems); err != nil {
		return l, &fieldError{key, "is not a list"}
	}
	l.readPage(env["pagination"])
	return l, nil
}

func (l *remoteList) readPage(raw json.RawMessage) {
	var p listPage
	if object(raw, "", &p) != nil {
		return
	}
	l.Total = count(p.TotalItems, p.Total)
	l.Pages = count(p.TotalPages, p.Pages)
}

// count returns the first of two fields that is a number, or -1.
func count(a, b json.RawMessage) int {
	for _, raw := range []json.RawMessage{a, b} {
		if n, err := strconv.Atoi(string(value(raw))); err == nil {
			return n
		}
	}
	return -1
}

// more reports whether a first page of this size is incomplete. Servers round total_pages down, so the number of items
// takes precedence.
func (l remoteList) more() bool {
	if l.Total >= 0 {
		return l.Total > len(l.Elems)
	}
	return l.Pages > 1
}
