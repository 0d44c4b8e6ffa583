package itemquery

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// A store may keep an index of the members of values, so that a filter looks at few items. An entry is a member's name,
// the kind of its value and the value, written such that numbers stand in the order of numbers and strings in that of
// their bytes. What is cut off, or too much for a float64, makes equal entries of values that differ: an index finds
// all that a filter may match, and Filter.Match decides.

// Bounds of what is indexed.
const (
	membersMost = 64 // of a value that has more, none is indexed
	memberCut   = 64 // bytes of a name, and of a string
)

// ItemMembers returns the entries of a value, each once and in order: of its own members, those that are no objects and
// no lists. A value of too many has one empty entry, which every filter may match.
func ItemMembers(value json.RawMessage) (entries [][]byte) {
	if rawjson.Kind(value) != '{' {
		return nil
	}
	_ = rawjson.EachMember(value, func(name rawjson.Quoted, value json.RawMessage) {
		if entry := memberEntry(name.Text(), value); entry != nil && len(entries) <= membersMost {
			entries = append(entries, entry)
		}
	})
	if len(entries) > membersMost {
		return [][]byte{{}}
	}
	slices.SortFunc(entries, slices.Compare)
	return slices.CompactFunc(entries, slices.Equal)
}

// Kinds of values, and what is after all that begin with one.
const (
	memberConst  = 'c'
	memberNumber = 'n'
	memberText   = 't'
)

// memberEntry is nil for an object or a list.
func memberEntry(name string, value json.RawMessage) []byte {
	value = rawjson.Trim(value)
	entry := append([]byte(name[:min(len(name), memberCut)]), 0)
	switch kind := rawjson.Kind(value); kind {
	case '{', '[', 0:
		return nil
	case '0':
		n, _ := strconv.ParseFloat(string(value), 64) // one out of range is infinite
		return binary.BigEndian.AppendUint64(append(entry, memberNumber), sortable(n))
	case '"':
		text, _ := rawjson.Text(value)
		return append(append(entry, memberText), text[:min(len(text), memberCut)]...)
	default:
		return append(entry, memberConst, kind)
	}
}

// sortable are bits in the order of the numbers.
func sortable(n float64) uint64 {
	bits := math.Float64bits(n + 0) // no negative zero
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// MemberRange is a stretch of entries, both ends with it.
type MemberRange struct{ From, To []byte }

// Members returns lists of ranges that an index can be asked for. Every value that the filter passes has an entry in
// one of the ranges of each list, or the empty entry. Conditions that an index cannot answer have no list.
func (f Filter) Members() (all [][]MemberRange) {
	for i := range f.wanted {
		if ranges := f.wanted[i].members(); ranges != nil {
			all = append(all, ranges)
		}
	}
	for _, part := range f.allOf {
		all = append(all, part.Members()...)
	}
	for _, list := range f.anyOf {
		if ranges := anyMembers(list); ranges != nil {
			all = append(all, ranges)
		}
	}
	return all
}

// anyMembers are ranges for what passes one of several filters, by one list of each.
func anyMembers(list []Filter) (ranges []MemberRange) {
	for _, part := range list {
		lists := part.Members()
		if len(lists) == 0 {
			return nil
		}
		ranges = append(ranges, lists[0]...)
	}
	return ranges
}

// members are nil where a condition cannot be asked for.
func (c *condition) members() []MemberRange {
	if c.inner == nil && c.operators == nil {
		return pointsOf(c.Name, []json.RawMessage{c.Value})
	}
	for _, op := range c.operators {
		switch op.Name {
		case "$eq":
			return pointsOf(c.Name, []json.RawMessage{op.Value})
		case "$in":
			list, _ := rawjson.Elements(op.Value) // ParseFilter has read it
			return pointsOf(c.Name, list)
		}
	}
	return c.between()
}

// pointsOf are the ranges of single values; nil where one of them has no entry, or there is none.
func pointsOf(name string, values []json.RawMessage) (ranges []MemberRange) {
	for _, v := range values {
		entry := memberEntry(name, v)
		if entry == nil {
			return nil
		}
		ranges = append(ranges, MemberRange{entry, entry})
	}
	return ranges
}

// between is the range that $gt, $gte, $lt and $lte leave; nil without them. Bounds of different kinds let nothing
// pass, and any range will do.
func (c *condition) between() []MemberRange {
	var r *MemberRange
	for _, op := range c.operators {
		if !strings.HasPrefix(op.Name, "$g") && !strings.HasPrefix(op.Name, "$l") {
			continue
		}
		bound := memberEntry(c.Name, op.Value)
		if r == nil {
			r = kindRange(c.Name, op.Value)
		}
		if op.Name[1] == 'g' && slices.Compare(bound, r.From) > 0 {
			r.From = bound
		}
		if op.Name[1] == 'l' && slices.Compare(bound, r.To) < 0 {
			r.To = bound
		}
	}
	if r == nil {
		return nil
	}
	return []MemberRange{*r}
}

// kindRange has all entries of a name with values of a kind.
func kindRange(name string, value json.RawMessage) *MemberRange {
	kind := byte(memberText)
	if rawjson.Kind(value) == '0' {
		kind = memberNumber
	}
	from := append([]byte(name[:min(len(name), memberCut)]), 0, kind)
	to := slices.Clone(from)
	to[len(to)-1]++
	return &MemberRange{from, to}
}
