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

// A store may have an index of the members of values, so that a filter reads few items. An entry is a member's name,
// the kind of its value and the value, encoded so that numbers are ordered as numbers and strings as bytes. Different
// values may have equal entries if they are cut off or too precise for a float64. The index therefore finds everything
// that a filter may match, and Filter.Match decides.

// Bounds of the index.
const (
	membersMost = 64 // a value with more members is not indexed
	memberCut   = 64 // bytes of a name, and of a string
)

// ItemMembers returns the entries for the members of a value that are neither objects nor lists, sorted and without
// duplicates. A value with too many members has one empty entry, which every filter may match.
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

// Kinds of values, and the end of the range of entries of a kind.
const (
	memberConst  = 'c'
	memberNumber = 'n'
	memberText   = 't'
)

// memberEntry returns nil for an object or a list.
func memberEntry(name string, value json.RawMessage) []byte {
	value = rawjson.Trim(value)
	entry := append([]byte(name[:min(len(name), memberCut)]), 0)
	switch kind := rawjson.Kind(value); kind {
	case '{', '[', 0:
		return nil
	case '0':
		n, _ := strconv.ParseFloat(string(value), 64) // a number out of range is infinite
		return binary.BigEndian.AppendUint64(append(entry, memberNumber), sortable(n))
	case '"':
		text := rawjson.TextOf(value)
		return append(append(entry, memberText), text[:min(len(text), memberCut)]...)
	default:
		return append(entry, memberConst, kind)
	}
}

// sortable returns bits that sort like the numbers.
func sortable(n float64) uint64 {
	bits := math.Float64bits(n + 0) // avoids negative zero
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// MemberRange is a range of entries, including both ends.
type MemberRange struct{ From, To []byte }

// Members returns lists of ranges for an index. Every value that the filter matches has an entry in one of the ranges
// of each list, or the empty entry. Conditions that an index cannot answer have no list.
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

// anyMembers returns ranges for values that match one of several filters, from one list of each.
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

// members returns nil if an index cannot answer the condition.
func (c *condition) members() []MemberRange {
	if c.inner == nil && c.operators == nil {
		return pointsOf(c.Name, []json.RawMessage{c.Value})
	}
	for _, op := range c.operators {
		switch op.Name {
		case "$eq":
			return pointsOf(c.Name, []json.RawMessage{op.Value})
		case "$in":
			list := rawjson.ElementsOf(op.Value) // ParseFilter has read it
			return pointsOf(c.Name, list)
		}
	}
	return c.between()
}

// pointsOf returns the ranges of single values. It returns nil if there are none, or if one of them has no entry.
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

// between returns the range of $gt, $gte, $lt and $lte, or nil without them. Bounds of different kinds match nothing,
// so any range is right.
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

// kindRange returns the range of all entries of a name with values of a kind.
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
