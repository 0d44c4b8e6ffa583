package mapping

import (
	"encoding/json"
	"strings"
)

// MatchFilter tells whether an item's value passes a store filter: an object
// of keys with what each must be, all of which must hold. A wanted value is
// compared by Contains; an object of operators ($eq $ne $gt $gte $lt $lte) by
// each of them. Order is defined between two numbers and between two strings;
// any other pair, and a missing key, has none and does not match, save $ne. A
// filter that cannot be read, or an unknown operator, is an *Error of class
// Invalid, whatever the value is.
func MatchFilter(value, filter json.RawMessage) (bool, error) {
	if isNull(filter) {
		return true, nil
	}
	wanted, err := splitObject(filter)
	if err != nil {
		return false, invalidAt("filter", "must be an object")
	}
	var have members
	if kindOf(value) == '{' {
		_ = eachMember(value, have.put)
	}
	all := true
	for _, m := range wanted {
		ok, err := matchMember(m, have.get(m.key))
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

func matchMember(m member, have json.RawMessage) (bool, error) {
	operators, err := operatorsOf(m)
	if err != nil {
		return false, err
	}
	if operators == nil {
		return have != nil && Contains(have, m.val), nil
	}
	for _, op := range operators {
		ok, err := matchOperator(m.key, op, have)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
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
