package rawjson

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Contains reports whether doc contains want, as searches by metadata and values mean it: an object is contained when
// every member of it is, anything else by being equal. Numbers are equal by value, strings by their characters, arrays
// element by element, objects in arrays whatever their order. No want is contained in everything; what is no JSON
// contains nothing.
func Contains(doc, want json.RawMessage) bool {
	want = Trim(want)
	if len(want) == 0 {
		return true
	}
	if Kind(want) != '{' {
		return Equal(doc, want)
	}
	if Kind(doc) != '{' {
		return false
	}
	var have Object
	if err := have.PutAll(doc); err != nil {
		return false
	}
	contained := true // want may be large, and most documents lack its first member: it is not taken apart
	err := EachMember(want, func(name Quoted, value json.RawMessage) {
		if contained {
			val := have.Get(name.Text())
			contained = val != nil && Contains(val, value)
		}
	})
	return err == nil && contained
}

// Equal reports whether two values mean the same: numbers by value, strings by their characters, arrays element by
// element, objects whatever the order of their members.
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

// CompareNumbers orders two number literals: the result is below, at or above 0. Integers are compared digit by digit,
// so that large ids stay apart; anything else as float64, which never costs more than the literal is long.
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
