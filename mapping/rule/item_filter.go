package rule

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Filter is what a store filter wants of an item's value: an object of keys
// with what each must be, all of which must hold. A wanted value is compared by
// Contains; an object of operators ($eq $ne $gt $gte $lt $lte) by each of them.
// Order is defined between two numbers and between two strings; any other pair,
// and a missing key, has none and does not match, save $ne. The zero Filter
// passes everything. Safe for concurrent use.
type Filter struct{ wanted []condition }

type condition struct {
	rawjson.Member
	operators []rawjson.Member // nil: the member's value is compared
}

// ParseFilter reads a filter; null and nothing pass everything. One that cannot
// be read, or an unknown operator, is an *Error of class Invalid.
func ParseFilter(filter json.RawMessage) (Filter, error) {
	if rawjson.IsNull(filter) {
		return Filter{}, nil
	}
	wanted, err := rawjson.Members(filter)
	if err != nil {
		return Filter{}, mapping.InvalidAt("filter", "must be an object")
	}
	f := Filter{make([]condition, len(wanted))}
	for i, m := range wanted {
		operators, err := operatorsOf(m)
		if err != nil {
			return Filter{}, err
		}
		f.wanted[i] = condition{m, operators}
	}
	return f, nil
}

// Match reports whether a value passes. One that is no object has no keys.
func (f Filter) Match(value json.RawMessage) bool {
	have := make([]json.RawMessage, len(f.wanted))
	if rawjson.Kind(value) == '{' {
		_ = rawjson.EachMember(value, func(name rawjson.Quoted, value json.RawMessage) {
			if at := f.find(name); at >= 0 {
				have[at] = value
			}
		})
	}
	for i := range f.wanted {
		if !f.wanted[i].holds(have[i]) {
			return false
		}
	}
	return true
}

// find is the index of the condition on a key; -1 for none.
func (f Filter) find(name rawjson.Quoted) int {
	key := name.Bytes()
	for i := range f.wanted {
		if f.wanted[i].Name == string(key) {
			return i
		}
	}
	return -1
}

func (c *condition) holds(have json.RawMessage) bool {
	if c.operators == nil {
		return have != nil && rawjson.Contains(have, c.Value)
	}
	for _, op := range c.operators {
		if ok, _ := matchOperator(c.Name, op, have); !ok { // errors were found by operatorsOf
			return false
		}
	}
	return true
}

// operatorsOf are the operators of a condition; nil when it is a value. All of
// them are checked, since an earlier one may end the comparison.
func operatorsOf(m rawjson.Member) ([]rawjson.Member, error) {
	if rawjson.Kind(m.Value) != '{' {
		return nil, nil
	}
	list, err := rawjson.Members(m.Value)
	if err != nil {
		return nil, mapping.InvalidAt("filter", "%v", err)
	}
	found := 0
	for _, op := range list {
		if strings.HasPrefix(op.Name, "$") {
			found++
		}
	}
	switch {
	case found == 0:
		return nil, nil
	case found < len(list):
		return nil, mapping.InvalidAt("filter."+m.Name, "operators and plain keys cannot be mixed")
	}
	for _, op := range list {
		if _, err := matchOperator(m.Name, op, nil); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func matchOperator(key string, op rawjson.Member, have json.RawMessage) (bool, error) {
	switch op.Name {
	case "$eq":
		return have != nil && rawjson.Equal(have, op.Value), nil
	case "$ne":
		return have == nil || !rawjson.Equal(have, op.Value), nil
	}
	sign, ordered := compareValues(have, op.Value)
	switch op.Name {
	case "$gt":
		return ordered && sign > 0, nil
	case "$gte":
		return ordered && sign >= 0, nil
	case "$lt":
		return ordered && sign < 0, nil
	case "$lte":
		return ordered && sign <= 0, nil
	default:
		return false, mapping.InvalidAt("filter."+key, "unknown operator %q; there are $eq, $ne, $gt, $gte, $lt and $lte", op.Name)
	}
}

// compareValues orders two numbers or two strings.
func compareValues(a, b json.RawMessage) (sign int, ordered bool) {
	if rawjson.IsNumber(a) && rawjson.IsNumber(b) {
		return rawjson.CompareNumbers(string(a), string(b)), true
	}
	s, ok := rawjson.Text(a)
	t, ok2 := rawjson.Text(b)
	return strings.Compare(s, t), ok && ok2
}
