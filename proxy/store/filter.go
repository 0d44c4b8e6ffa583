package store

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// picker applies offset and limit to what passed a filter.
type picker struct{ limit, offset, seen, taken int }

func (p *picker) take() bool {
	p.seen++
	if p.seen <= p.offset || p.full() {
		return false
	}
	p.taken++
	return true
}

func (p *picker) full() bool { return p.limit > 0 && p.taken >= p.limit }

// containing makes the filter of a metadata search: nil when all pass.
func containing(want json.RawMessage) func(json.RawMessage) bool {
	if len(want) == 0 || string(want) == "{}" || string(want) == "null" {
		return nil
	}
	return func(doc json.RawMessage) bool { return rawjson.Contains(doc, want) }
}
