package rawjson

import (
	"encoding/json"
	"errors"
)

// Errors of texts that are not what is read.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrNotObject = errors.New("not a JSON object")
	ErrNotArray  = errors.New("not a JSON array")
)

// EachMember calls visit for every member of an object in the order of the text, names that stand there twice included.
// An error is ErrNotObject or ErrSyntax: b is not one object; visit may have been called by then.
func EachMember(b json.RawMessage, visit func(name Quoted, value json.RawMessage)) error {
	return WalkObject(b, func(b []byte, i int, name Quoted) (int, bool) {
		end, ok := Scan(b, i)
		if ok {
			visit(name, b[i:end:end])
		}
		return end, ok
	})
}

// WalkObject is ScanObject of a text that is one object. Its errors are those of EachMember.
func WalkObject(b json.RawMessage, value MemberFunc) error {
	i := SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return ErrNotObject
	}
	end, ok := ScanObject(b, i, value)
	return atEnd(b, end, ok)
}

// walkArray is ScanArray of a text that is one array.
func walkArray(b json.RawMessage, value ElementFunc) error {
	i := SkipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return ErrNotArray
	}
	end, ok := ScanArray(b, i, value)
	return atEnd(b, end, ok)
}

// atEnd wants a value to end the text.
func atEnd(b []byte, end int, ok bool) error {
	if !ok || SkipSpace(b, end) != len(b) {
		return ErrSyntax
	}
	return nil
}

// Members splits an object into its members, each name once. Errors are those of EachMember, with the members that were
// read by then.
func Members(b json.RawMessage) ([]Member, error) {
	o, err := ParseObject(b)
	return o.list, err
}

// Elements splits an array. An error is ErrNotArray or ErrSyntax, with the elements that were read by then.
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

// ElementsOf is Elements of a value that need not be an array; nil of what is none.
func ElementsOf(b json.RawMessage) []json.RawMessage {
	list, err := Elements(b)
	if err != nil {
		return nil
	}
	return list
}

// manyBytes is where counting elements or members beats letting a list grow.
const manyBytes = 16 << 10

// CountElements counts the elements of an array; 0 of what is none. It allocates nothing.
func CountElements(b json.RawMessage) (n int) {
	_ = walkArray(b, func(b []byte, i int) (int, bool) {
		n++
		return Scan(b, i)
	})
	return n
}

// CountMembers counts the members of an object, of equal names too; 0 of what is none. It allocates nothing.
func CountMembers(b json.RawMessage) (n int) {
	_ = WalkObject(b, func(b []byte, i int, _ Quoted) (int, bool) {
		n++
		return Scan(b, i)
	})
	return n
}

// Get returns the value of a member of an object, null included; nil where there is none, and of what is no object.
func Get(b json.RawMessage, name string) json.RawMessage {
	value, _ := find(b, name)
	return value
}

// GetText returns the text of a member of an object; "" where there is none, or it is no string.
func GetText(b json.RawMessage, name string) string { return TextOf(Get(b, name)) }

// Lookup returns the value of a member of an object; nil where there is none or it is null, and where b is null. It
// fails where b is something else.
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
