package store

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// picker applies offset and limit to the rows that passed a filter.
type picker struct{ Limit, Offset, seen, taken int }

// Take counts a row that passed the filter, and reports whether it is on the page.
func (p *picker) Take() bool {
	p.seen++
	if p.seen <= p.Offset || p.Full() {
		return false
	}
	p.taken++
	return true
}

// Full reports whether the page has as many rows as Limit.
func (p *picker) Full() bool { return p.Limit > 0 && p.taken >= p.Limit }

// containing returns the filter of a metadata search, or nil if every row passes.
func containing(want json.RawMessage) func(json.RawMessage) bool {
	if len(want) == 0 || string(want) == "{}" || string(want) == "null" {
		return nil
	}
	return func(doc json.RawMessage) bool { return rawjson.Contains(doc, want) }
}
