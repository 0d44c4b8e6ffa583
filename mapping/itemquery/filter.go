package itemquery

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Filter is a filter for items: an object with a condition for each key, all of which must match. A plain value is
// compared with rawjson.Equal. In an object of operators ($eq $ne $gt $gte $lt $lte $in $nin $exists) each operator
// must match. Order is only defined between two numbers and between two strings. Any other pair, or a missing key, does
// not match, but $ne and $nin match a missing key. An object of keys is a filter for the object under that key. $or and
// $and have lists of filters, of which at least one, or each, must match. No other key of a filter begins with "$". The
// zero Filter matches everything. Safe for concurrent use.
type Filter struct {
	wanted []condition
	anyOf  [][]Filter // one of each list must match
	allOf  []Filter
}

type condition struct {
	rawjson.Member
	operators []rawjson.Member // nil if there are none
	inner     *Filter          // filter of the object under the key; nil if the value is compared
}

// ParseFilter reads a filter. A filter that is null or empty matches everything. An invalid filter or an unknown
// operator is an *Error of class Invalid.
func ParseFilter(filter json.RawMessage) (Filter, error) {
	if rawjson.IsNull(filter) {
		return Filter{}, nil
	}
	wanted, err := rawjson.Members(filter)
	if err != nil {
		return Filter{}, mapping.InvalidAt("filter", "must be an object")
	}
	var f Filter
	for _, m := range wanted {
		if err := f.add(m); err != nil {
			return Filter{}, err
		}
	}
	return f, nil
}

// add reads one member of a filter.
func (f *Filter) add(m rawjson.Member) error {
	switch m.Name {
	case "$or":
		list, err := filterList(m)
		f.anyOf = append(f.anyOf, list)
		return err
	case "$and":
		list, err := filterList(m)
		f.allOf = append(f.allOf, list...)
		return err
	}
	if strings.HasPrefix(m.Name, "$") {
		return mapping.InvalidAt("filter."+m.Name, "unknown operator; besides keys a filter has $and and $or")
	}
	c, err := conditionOf(m)
	f.wanted = append(f.wanted, c)
	return err
}

func conditionOf(m rawjson.Member) (c condition, err error) {
	c.Member = m
	if c.operators, err = operatorsOf(m); err != nil || c.operators != nil || rawjson.Kind(m.Value) != '{' {
		return c, err
	}
	inner, err := ParseFilter(m.Value)
	c.inner = &inner
	return c, err
}

// filterList reads the value of $or and $and. An empty list is refused, because its meaning is ambiguous.
func filterList(m rawjson.Member) ([]Filter, error) {
	elements, err := rawjson.Elements(m.Value)
	if err != nil || len(elements) == 0 {
		return nil, mapping.InvalidAt("filter."+m.Name, "must be a list of at least one filter")
	}
	list := make([]Filter, len(elements))
	for i, e := range elements {
		if rawjson.Kind(e) != '{' {
			return nil, mapping.InvalidAt("filter."+m.Name, "must be a list of objects")
		}
		if list[i], err = ParseFilter(e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Match reports whether a value matches. A value that is not an object has no keys.
func (f Filter) Match(value json.RawMessage) bool {
	passes := func(part Filter) bool { return part.Match(value) }
	for _, list := range f.anyOf {
		if !slices.ContainsFunc(list, passes) {
			return false
		}
	}
	fails := func(part Filter) bool { return !part.Match(value) }
	return !slices.ContainsFunc(f.allOf, fails) && f.matchKeys(value)
}

// matchKeys reports whether each key matches.
func (f Filter) matchKeys(value json.RawMessage) bool {
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

// find returns the index of the condition for a key, or -1.
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
	switch {
	case c.inner != nil:
		return rawjson.Kind(have) == '{' && c.inner.Match(have)
	case c.operators == nil:
		return have != nil && rawjson.Equal(have, c.Value)
	}
	for _, op := range c.operators {
		if ok, _ := matchOperator(c.Name, op, have); !ok { // errors were found by operatorsOf
			return false
		}
	}
	return true
}

// operatorsOf returns the operators of a condition, or nil if it is a value. All of them are checked, because an
// earlier one may end the comparison.
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

// matchOperator reports whether a value matches an operator. have is nil for a missing value.
func matchOperator(key string, op rawjson.Member, have json.RawMessage) (bool, error) {
	switch op.Name {
	case "$eq":
		return have != nil && rawjson.Equal(have, op.Value), nil
	case "$ne":
		return have == nil || !rawjson.Equal(have, op.Value), nil
	case "$in":
		return matchIn(key, op, have)
	case "$nin":
		in, err := matchIn(key, op, have)
		return !in, err
	case "$exists":
		return matchExists(key, op, have)
	case "$gt", "$gte", "$lt", "$lte":
		return matchOrder(key, op, have)
	}
	return false, mapping.InvalidAt("filter."+key, "unknown operator %q; there are $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin and $exists", op.Name)
}

func matchIn(key string, op rawjson.Member, have json.RawMessage) (bool, error) {
	list, err := rawjson.Elements(op.Value)
	if err != nil {
		return false, mapping.InvalidAt("filter."+key+"."+op.Name, "must be a list of values")
	}
	return have != nil && slices.ContainsFunc(list, func(v json.RawMessage) bool { return rawjson.Equal(have, v) }), nil
}

// matchExists treats a key whose value is null as existing.
func matchExists(key string, op rawjson.Member, have json.RawMessage) (bool, error) {
	switch string(rawjson.Trim(op.Value)) {
	case "true":
		return have != nil, nil
	case "false":
		return have == nil, nil
	}
	return false, mapping.InvalidAt("filter."+key+".$exists", "must be true or false")
}

func matchOrder(key string, op rawjson.Member, have json.RawMessage) (bool, error) {
	if _, ok := rawjson.Text(op.Value); !ok && !rawjson.IsNumber(op.Value) {
		return false, mapping.InvalidAt("filter."+key+"."+op.Name, "must be a number or a string: nothing else has an order")
	}
	sign, ordered := compareValues(have, op.Value)
	switch op.Name {
	case "$gt":
		return ordered && sign > 0, nil
	case "$gte":
		return ordered && sign >= 0, nil
	case "$lt":
		return ordered && sign < 0, nil
	}
	return ordered && sign <= 0, nil
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
