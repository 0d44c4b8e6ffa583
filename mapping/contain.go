package mapping

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Contains tells whether doc contains want, as searches by metadata and values
// mean it: an object is contained when every member of it is, anything else by
// being equal. Numbers are equal by value, strings by their characters, arrays
// element by element, objects in arrays whatever their order. No want is
// contained in everything; what is no JSON contains nothing.
func Contains(doc, want json.RawMessage) bool {
	want = trimJSON(want)
	if len(want) == 0 {
		return true
	}
	if kindOf(want) != '{' {
		return equalJSON(doc, want)
	}
	wanted, err := splitObject(want)
	if err != nil || kindOf(doc) != '{' {
		return false
	}
	if len(wanted) == 0 {
		return validJSON(doc)
	}
	var have members
	if err := eachMember(doc, have.put); err != nil {
		return false
	}
	for _, m := range wanted {
		if val := have.get(m.key); val == nil || !Contains(val, m.val) {
			return false
		}
	}
	return true
}

// equalJSON compares two values by meaning.
func equalJSON(a, b json.RawMessage) bool {
	a, b = trimJSON(a), trimJSON(b)
	if kindOf(a) != kindOf(b) && !(isNumber(a) && isNumber(b)) {
		return false
	}
	switch kind := kindOf(a); {
	case string(a) == string(b):
		return validJSON(a)
	case kind == '"':
		s, ok := stringOf(a)
		t, ok2 := stringOf(b)
		return ok && ok2 && s == t
	case kind == '[':
		return equalArrays(a, b)
	case kind == '{':
		return equalObjects(a, b)
	default:
		return isNumber(a) && isNumber(b) && compareNumbers(string(a), string(b)) == 0
	}
}

func equalArrays(a, b json.RawMessage) bool {
	x, err := splitArray(a)
	y, err2 := splitArray(b)
	if err != nil || err2 != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		if !equalJSON(x[i], y[i]) {
			return false
		}
	}
	return true
}

func equalObjects(a, b json.RawMessage) bool {
	var x, y members
	if eachMember(a, x.put) != nil || eachMember(b, y.put) != nil || len(x.list) != len(y.list) {
		return false
	}
	for _, m := range x.list {
		if val := y.get(m.key); val == nil || !equalJSON(m.val, val) {
			return false
		}
	}
	return true
}

func isNumber(b json.RawMessage) bool {
	if len(b) == 0 || b[0] != '-' && !isDigit(b[0]) {
		return false
	}
	end, ok := scanNumber(b, 0)
	return ok && end == len(b)
}

// compareNumbers orders two number literals. Integers are compared digit by
// digit, so that large ids stay apart; anything else as float64, which never
// costs more than the literal is long.
func compareNumbers(a, b string) int {
	if isInteger(a) && isInteger(b) {
		return compareIntegers(a, b)
	}
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	default:
		return 0
	}
}

func isInteger(s string) bool { return !strings.ContainsAny(s, ".eE") }

func compareIntegers(a, b string) int {
	x, negX := strings.CutPrefix(a, "-")
	y, negY := strings.CutPrefix(b, "-")
	switch {
	case x == "0" && y == "0":
		return 0
	case negX != negY && negX:
		return -1
	case negX != negY:
		return 1
	case negX:
		x, y = y, x
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(x, y)
}

// MergeMetadata is base with the top-level members of patch set in it: how
// metadata of threads, assistants and requests come together. Either may be
// nil or null; the result is an object, never nil. A patch that is no object
// is an *Error of class Invalid.
func MergeMetadata(base, patch json.RawMessage) (json.RawMessage, error) {
	var o members
	for _, b := range [...]json.RawMessage{base, patch} {
		if isNull(b) {
			continue
		}
		if err := eachMember(b, o.put); err != nil {
			return nil, invalidAt("metadata", "must be an object")
		}
	}
	return joinObject(o.list), nil
}
