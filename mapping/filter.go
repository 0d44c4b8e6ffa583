package mapping

import (
	"encoding/json"
	"strings"
)

// Filter is what a store filter wants of an item's value: an object of keys
// with what each must be, all of which must hold. A wanted value is compared by
// Contains; an object of operators ($eq $ne $gt $gte $lt $lte) by each of them.
// Order is defined between two numbers and between two strings; any other pair,
// and a missing key, has none and does not match, save $ne. The zero Filter
// passes everything. Safe for concurrent use.
type Filter struct{ wanted []condition }

type condition struct {
	member
	operators []member // nil: the member's value is compared
}

// ParseFilter reads a filter; null and nothing pass everything. One that cannot
// be read, or an unknown operator, is an *Error of class Invalid.
func ParseFilter(filter json.RawMessage) (Filter, error) {
	if isNull(filter) {
		return Filter{}, nil
	}
	wanted, err := splitObject(filter)
	if err != nil {
		return Filter{}, invalidAt("filter", "must be an object")
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

// Match tells whether a value passes. One that is no object has no keys.
func (f Filter) Match(value json.RawMessage) bool {
	have := make([]json.RawMessage, len(f.wanted))
	if kindOf(value) == '{' {
		_ = walkObject(value, func(b []byte, i int, name []byte) (int, bool) {
			end, ok := scanValue(b, i, 1)
			if at := f.find(name); ok && at >= 0 {
				have[at] = b[i:end:end]
			}
			return end, ok
		})
	}
	for i := range f.wanted {
		if !f.wanted[i].holds(have[i]) {
			return false
		}
	}
	return true
}

// find is the index of the condition on a key, as it is written; -1 for none.
func (f Filter) find(name []byte) int {
	if !plain(name) {
		name = []byte(`"` + unquote(name) + `"`)
	}
	for i := range f.wanted {
		if string(name[1:len(name)-1]) == f.wanted[i].key {
			return i
		}
	}
	return -1
}

// plain tells that a JSON string is written as it reads.
func plain(name []byte) bool {
	for _, c := range name {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

func (c *condition) holds(have json.RawMessage) bool {
	if c.operators == nil {
		return have != nil && Contains(have, c.val)
	}
	for _, op := range c.operators {
		if ok, _ := matchOperator(c.key, op, have); !ok { // errors were found by operatorsOf
			return false
		}
	}
	return true
}

// operatorsOf are the operators of a condition; nil when it is a value. All of
// them are checked, since an earlier one may end the comparison.
func operatorsOf(m member) ([]member, error) {
	if kindOf(m.val) != '{' {
		return nil, nil
	}
	list, err := splitObject(m.val)
	if err != nil {
		return nil, invalidAt("filter", "%v", err)
	}
	found := 0
	for _, op := range list {
		if strings.HasPrefix(op.key, "$") {
			found++
		}
	}
	switch {
	case found == 0:
		return nil, nil
	case found < len(list):
		return nil, invalidAt("filter."+m.key, "operators and plain keys cannot be mixed")
	}
	for _, op := range list {
		if _, err := matchOperator(m.key, op, nil); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func matchOperator(key string, op member, have json.RawMessage) (bool, error) {
	switch op.key {
	case "$eq":
		return have != nil && equalJSON(have, op.val), nil
	case "$ne":
		return have == nil || !equalJSON(have, op.val), nil
	}
	sign, ordered := compareValues(have, op.val)
	switch op.key {
	case "$gt":
		return ordered && sign > 0, nil
	case "$gte":
		return ordered && sign >= 0, nil
	case "$lt":
		return ordered && sign < 0, nil
	case "$lte":
		return ordered && sign <= 0, nil
	default:
		return false, invalidAt("filter."+key, "unknown operator %q; there are $eq, $ne, $gt, $gte, $lt and $lte", op.key)
	}
}

// compareValues orders two numbers or two strings.
func compareValues(a, b json.RawMessage) (sign int, ordered bool) {
	if isNumber(a) && isNumber(b) {
		return compareNumbers(string(a), string(b)), true
	}
	s, ok := stringOf(a)
	t, ok2 := stringOf(b)
	return strings.Compare(s, t), ok && ok2
}
