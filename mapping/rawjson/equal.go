package rawjson

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Contains reports whether doc contains want by the rules of @> for jsonb in PostgreSQL ("JSON Types", section 8.14.3),
// with which LangGraph Server searches metadata and values. An object is contained if each of its members is. An array
// is contained in another if each of its elements is contained in some element of the other. Other values are contained
// if they are equal: numbers by value, strings by their characters. An empty want is contained in everything. Invalid
// JSON contains nothing. Contains returns false if more than maxCompared elements would have to be compared, so that a
// search of long arrays cannot keep a processor busy.
func Contains(doc, want json.RawMessage) bool {
	left := maxCompared
	return contains(doc, want, &left)
}

const maxCompared = 1 << 20

func contains(doc, want json.RawMessage, left *int) bool {
	want = Trim(want)
	switch kind := Kind(want); {
	case len(want) == 0:
		return true
	case kind != Kind(doc) || kind != '{' && kind != '[':
		return Equal(doc, want)
	case kind == '[':
		return containsElements(doc, want, left)
	}
	var have Object
	if err := have.PutAll(doc); err != nil {
		return false
	}
	contained := true // want is not split because it may be large, and most documents lack its first member
	err := EachMember(want, func(name Quoted, value json.RawMessage) {
		if contained {
			val := have.Get(name.Text())
			contained = val != nil && contains(val, value, left)
		}
	})
	return err == nil && contained
}

func containsElements(doc, want json.RawMessage, left *int) bool {
	have, err := Elements(doc)
	wanted, err2 := Elements(want)
	if err != nil || err2 != nil {
		return false
	}
	for _, w := range wanted {
		in := func(h json.RawMessage) bool {
			*left--
			return *left >= 0 && contains(h, w, left)
		}
		if !slices.ContainsFunc(have, in) {
			return false
		}
	}
	return true
}

// Equal reports whether two values are equal: numbers by value, strings by their characters, arrays element by element,
// objects in any order of members.
func Equal(a, b json.RawMessage) bool {
	a, b = Trim(a), Trim(b)
	if Kind(a) != Kind(b) && !(IsNumber(a) && IsNumber(b)) {
		return false
	}
	switch kind := Kind(a); {
	case string(a) == string(b):
		return Valid(a)
	case kind == '"':
		s, ok := Text(a)
		t, ok2 := Text(b)
		return ok && ok2 && s == t
	case kind == '[':
		return equalArrays(a, b)
	case kind == '{':
		return equalObjects(a, b)
	default:
		return IsNumber(a) && IsNumber(b) && CompareNumbers(string(a), string(b)) == 0
	}
}

func equalArrays(a, b json.RawMessage) bool {
	x, err := Elements(a)
	y, err2 := Elements(b)
	if err != nil || err2 != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		if !Equal(x[i], y[i]) {
			return false
		}
	}
	return true
}

func equalObjects(a, b json.RawMessage) bool {
	var x, y Object
	if x.PutAll(a) != nil || y.PutAll(b) != nil || len(x.list) != len(y.list) {
		return false
	}
	for _, m := range x.list {
		if val := y.Get(m.Name); val == nil || !Equal(m.Value, val) {
			return false
		}
	}
	return true
}

// CompareNumbers orders two number literals: the result is negative, zero or positive. Integers are compared digit by
// digit, so that large ids differ. Others are compared as float64, at a cost proportional to the length of the literal.
func CompareNumbers(a, b string) int {
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
