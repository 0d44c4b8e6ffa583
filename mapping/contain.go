package mapping

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
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
	if kindOf(doc) != '{' {
		return false
	}
	var have members
	if err := eachMember(doc, have.put); err != nil {
		return false
	}
	contained := true // want may be large, and most documents lack its first member: it is not taken apart
	err := eachMember(want, func(m member) {
		if contained {
			val := have.get(m.key)
			contained = val != nil && Contains(val, m.val)
		}
	})
	return err == nil && contained
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
	if len(base)+len(patch) > manyBytes {
		if merged, ok := mergeFew(base, patch); ok {
			return merged, nil
		}
	}
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

// MergePieces is MergeMetadata without a copy of a long base: the result shares its bytes.
func MergePieces(base, patch json.RawMessage) (p rawjson.Pieces, err error) {
	if set, err := fewMembers(patch); err == nil && len(base)+len(patch) > manyBytes {
		if p, err = PiecesWith(base, set...); err == nil {
			return p, nil
		}
	}
	merged, err := MergeMetadata(base, patch)
	return *p.Raw(merged), err
}

// mergeFew is MergeMetadata where one side has few members, in one copy and without a
// table of the other's; false where both have many, or one is no object.
func mergeFew(base, patch json.RawMessage) (merged json.RawMessage, ok bool) {
	set, err := fewMembers(patch)
	if err == nil {
		merged, err = WithMembers(base, set...)
		return merged, err == nil
	}
	if set, err = fewMembers(base); err != nil {
		return nil, false
	}
	for i := range set {
		if over := lookup(patch, set[i].Name); over != nil {
			set[i].Value = over
		}
	}
	merged, err = withFirst(set, patch)
	return merged, err == nil
}

// fewMembers are those of an object that has few of them; null has none.
func fewMembers(b json.RawMessage) ([]NewMember, error) {
	if isNull(b) {
		return nil, nil
	}
	var o members
	err := walkObject(b, func(b []byte, i int, name []byte) (int, bool) {
		end, ok := scanValue(b, i, 1)
		if ok = ok && len(o.list) < manyMembers; ok {
			o.put(member{unquote(name), name, b[i:end:end]})
		}
		return end, ok
	})
	set := make([]NewMember, len(o.list))
	for i, m := range o.list {
		set[i] = NewMember{m.key, m.val}
	}
	return set, err
}

// withFirst is the object of these members and, behind them, the others of rest.
func withFirst(first []NewMember, rest json.RawMessage) (json.RawMessage, error) {
	size, names := len(rest)+2, make([]string, len(first))
	for i, m := range first {
		size, names[i] = size+len(m.Name)+len(m.Value)+4, m.Name
	}
	w := objectWriter{buf: make([]byte, 0, size)}
	for _, m := range first {
		w.raw(m.Name, m.Value)
	}
	err := w.without(rest, names...)
	return w.done(), err
}
