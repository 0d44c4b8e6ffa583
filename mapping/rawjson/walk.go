package rawjson

import (
	"encoding/json"
	"errors"
)

// Errors of invalid texts.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrNotObject = errors.New("not a JSON object")
	ErrNotArray  = errors.New("not a JSON array")
)

// EachMember calls visit for every member of an object in the order of the text, including duplicate names. It returns
// ErrNotObject or ErrSyntax if b is not exactly one object; visit may have been called before.
func EachMember(b json.RawMessage, visit func(name Quoted, value json.RawMessage)) error {
	return WalkObject(b, func(b []byte, i int, name Quoted) (int, bool) {
		end, ok := Scan(b, i)
		if ok {
			visit(name, b[i:end:end])
		}
		return end, ok
	})
}

// WalkObject is ScanObject for a text that is one object. Its errors are those of EachMember.
func WalkObject(b json.RawMessage, value MemberFunc) error {
	i := SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return ErrNotObject
	}
	end, ok := ScanObject(b, i, value)
	return atEnd(b, end, ok)
}

// walkArray is ScanArray for a text that is one array.
func walkArray(b json.RawMessage, value ElementFunc) error {
	i := SkipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return ErrNotArray
	}
	end, ok := ScanArray(b, i, value)
	return atEnd(b, end, ok)
}

// atEnd returns an error unless a value ends the text.
func atEnd(b []byte, end int, ok bool) error {
	if !ok || SkipSpace(b, end) != len(b) {
		return ErrSyntax
	}
	return nil
}

// Members splits an object into members with unique names. Errors are those of EachMember, together with the members
// read so far.
func Members(b json.RawMessage) ([]Member, error) {
	o, err := ParseObject(b)
	return o.list, err
}

// Elements splits an array. It returns ErrNotArray or ErrSyntax, together with the elements read so far.
func Elements(b json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if len(b) >= manyBytes {
		list = make([]json.RawMessage, 0, CountElements(b))
	}
	err := walkArray(b, func(b []byte, i int) (int, bool) {
		end, ok := Scan(b, i)
		if ok {
			list = append(list, b[i:end:end])
		}
		return end, ok
	})
	return list, err
}

// ElementsOf is Elements for any value. It returns nil for anything but an array.
func ElementsOf(b json.RawMessage) []json.RawMessage {
	list, err := Elements(b)
	if err != nil {
		return nil
	}
	return list
}

// manyBytes is the length from which counting elements or members is cheaper than growing a list.
const manyBytes = 16 << 10

// CountElements counts the elements of an array, or returns 0 for anything else. It allocates nothing.
func CountElements(b json.RawMessage) (n int) {
	_ = walkArray(b, func(b []byte, i int) (int, bool) {
		n++
		return Scan(b, i)
	})
	return n
}

// CountMembers counts the members of an object, including duplicate names, or returns 0 for anything else. It allocates
// nothing.
func CountMembers(b json.RawMessage) (n int) {
	_ = WalkObject(b, func(b []byte, i int, _ Quoted) (int, bool) {
		n++
		return Scan(b, i)
	})
	return n
}

// Get returns the value of a member of an object, which may be null. It returns nil if there is none, or if b is not an
// object.
func Get(b json.RawMessage, name string) json.RawMessage {
	value, _ := find(b, name)
	return value
}

// GetText returns a string member of an object, or "".
func GetText(b json.RawMessage, name string) string { return TextOf(Get(b, name)) }

// Lookup returns the value of a member of an object. It returns nil if there is none, if it is null, or if b is null.
// It fails if b is anything else.
func Lookup(b json.RawMessage, name string) (json.RawMessage, error) {
	if IsNull(b) {
		return nil, nil
	}
	value, err := find(b, name)
	if IsNull(value) {
		value = nil
	}
	return value, err
}

func find(b json.RawMessage, name string) (value json.RawMessage, err error) {
	err = WalkObject(b, func(b []byte, i int, is Quoted) (int, bool) {
		end, ok := Scan(b, i)
		if ok && is.Is(name) {
			value = b[i:end:end]
		}
		return end, ok
	})
	return value, err
}
