package mapping

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// This file splits JSON text without decoding it, so that values can be
// carried, compared and spliced as the bytes they came as.

// maxDepth bounds recursion; faces refuse much less (limits.depth).
const maxDepth = 10_000

// member is one name and value of an object, as slices of its text.
type member struct {
	key  string          // decoded
	name json.RawMessage // as written, with quotes
	val  json.RawMessage
}

// splitObject returns the members of an object in their order. Of two members
// with one name the later value counts, at the earlier place.
func splitObject(b json.RawMessage) ([]member, error) {
	o := newMembers(memberCount(b))
	err := eachMember(b, o.put)
	return o.list, err
}

// eachMember calls visit for every member of an object.
func eachMember(b json.RawMessage, visit func(member)) error {
	return walkObject(b, func(b []byte, i int, name []byte) (int, bool) {
		end, ok := scanValue(b, i, 1)
		if ok {
			visit(member{unquote(name), name, b[i:end:end]})
		}
		return end, ok
	})
}

// walkObject calls value at the start of every member's value; it answers with
// the index behind that value, and false to give up.
func walkObject(b []byte, value memberFunc) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errNotObject
	}
	end, ok := walkMembers(b, i, value)
	if !ok {
		return errBadJSON
	}
	return atEnd(b, end)
}

type memberFunc func(b []byte, i int, name []byte) (int, bool)

// walkMembers is walkObject from the brace at i, in the midst of a text; it
// returns the index behind the closing brace.
func walkMembers(b []byte, i int, value memberFunc) (int, bool) {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for {
		end, ok := scanString(b, i)
		if !ok {
			return i, false
		}
		name := b[i:end:end]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return i, false
		}
		if i, ok = value(b, skipSpace(b, i+1), name); !ok {
			return i, false
		}
		i = skipSpace(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = skipSpace(b, i+1)
		case i < len(b) && b[i] == '}':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// walkArray calls value at the start of every element; it answers with the
// index behind it, and false to give up.
func walkArray(b []byte, value func(b []byte, i int) (int, bool)) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return errNotArray
	}
	end, ok := walkElements(b, i, value)
	if !ok {
		return errBadJSON
	}
	return atEnd(b, end)
}

// walkElements is walkArray from the bracket at i, in the midst of a text; it
// returns the index behind the closing bracket.
func walkElements(b []byte, i int, value func(b []byte, i int) (int, bool)) (int, bool) {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, true
	}
	for {
		end, ok := value(b, i)
		if !ok {
			return i, false
		}
		i = skipSpace(b, end)
		switch {
		case i < len(b) && b[i] == ',':
			i = skipSpace(b, i+1)
		case i < len(b) && b[i] == ']':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// splitArray returns the elements of an array.
func splitArray(b json.RawMessage) ([]json.RawMessage, error) {
	list := roomFor(b)
	err := walkArray(b, func(b []byte, i int) (int, bool) {
		end, ok := scanValue(b, i, 1)
		if ok {
			list = append(list, b[i:end:end])
		}
		return end, ok
	})
	return list, err
}

// manyBytes is where counting elements or members beats letting a list grow.
const manyBytes = 16 << 10

// roomFor is an empty list with room for the elements of a long array; nil for a
// short one, and for what is none.
func roomFor(b json.RawMessage) []json.RawMessage {
	if len(b) < manyBytes {
		return nil
	}
	n := 0
	if walkArray(b, func(b []byte, i int) (int, bool) {
		n++
		return scanValue(b, i, 1)
	}) != nil {
		return nil
	}
	return make([]json.RawMessage, 0, n)
}

// memberCount is how many members a long object has; a few for a short one, and
// for what is none.
func memberCount(b json.RawMessage) int {
	const few = 8
	if len(b) < manyBytes {
		return few
	}
	n := 0
	if walkObject(b, func(b []byte, i int, _ []byte) (int, bool) {
		n++
		return scanValue(b, i, 1)
	}) != nil {
		return few
	}
	return n
}

// lookup returns the value of an object's member, or nil: also when b is no
// object.
func lookup(b json.RawMessage, key string) json.RawMessage {
	var found json.RawMessage
	_ = walkObject(b, func(b []byte, i int, name []byte) (int, bool) {
		end, ok := scanValue(b, i, 1)
		if ok && nameIs(name, key) {
			found = b[i:end:end]
		}
		return end, ok
	})
	return found
}

// nameIs compares a name as written with a key, without decoding it where it
// has no escapes.
func nameIs(name []byte, key string) bool {
	if bytes.IndexByte(name, '\\') >= 0 {
		return unquote(name) == key
	}
	return string(name[1:len(name)-1]) == key
}

func atEnd(b []byte, i int) error {
	if skipSpace(b, i) != len(b) {
		return errBadJSON
	}
	return nil
}

// validJSON tells whether b is one JSON value.
func validJSON(b []byte) bool {
	i, ok := scanValue(b, skipSpace(b, 0), 0)
	return ok && skipSpace(b, i) == len(b)
}

// trimJSON cuts the white space around a value.
func trimJSON(b json.RawMessage) json.RawMessage {
	i := skipSpace(b, 0)
	j := len(b)
	for j > i && isSpace(b[j-1]) {
		j--
	}
	return b[i:j:j]
}

// isNull tells whether there is no value: nothing, or null.
func isNull(b json.RawMessage) bool {
	b = trimJSON(b)
	return len(b) == 0 || string(b) == "null"
}

// kindOf is the first byte of a value: one of { [ " and others; 0 for none.
func kindOf(b json.RawMessage) byte {
	if i := skipSpace(b, 0); i < len(b) {
		return b[i]
	}
	return 0
}

// unquote decodes a JSON string that was scanned.
func unquote(b []byte) string {
	if !plain(b) {
		s, _ := jsontext.AppendUnquote(nil, b)
		return string(s)
	}
	return string(b[1 : len(b)-1])
}

// stringOf decodes a value that is a string.
func stringOf(b json.RawMessage) (string, bool) {
	b = trimJSON(b)
	if len(b) < 2 || b[0] != '"' {
		return "", false
	}
	if end, ok := scanString(b, 0); !ok || end != len(b) {
		return "", false
	}
	return unquote(b), true
}
