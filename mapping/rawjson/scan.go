package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// This file scans JSON (RFC 8259). It finds the ends of values, allocates nothing, and can start anywhere in a text.

// maxDepth bounds recursion. Faces refuse much less (limits.max_json_depth).
const maxDepth = 10_000

// Scan returns the index after the value that starts at i, or false if there is none.
func Scan(b []byte, i int) (end int, ok bool) { return scanValue(b, i, 1) }

// A MemberFunc is called at the start of a member's value. It returns the index after the value, or false to stop.
type MemberFunc func(b []byte, i int, name Quoted) (end int, ok bool)

// ScanObject calls value for each member of the object whose brace is at i, and returns the index after the closing
// brace.
func ScanObject(b []byte, i int, value MemberFunc) (end int, ok bool) {
	i, done := enter(b, i, '}')
	for !done {
		from := i
		behind, at, ok := scanName(b, i)
		if !ok {
			return at, false
		}
		if i, ok = value(b, at, Quoted(b[from:behind:behind])); !ok {
			return i, false
		}
		if i, done, ok = next(b, i, '}'); !ok {
			return i, false
		}
	}
	return i, true
}

// An ElementFunc is called at the start of an element. It returns the index after the element, or false to stop.
type ElementFunc func(b []byte, i int) (end int, ok bool)

// ScanArray calls value for each element of the array whose bracket is at i, and returns the index after the closing
// bracket.
func ScanArray(b []byte, i int, value ElementFunc) (end int, ok bool) {
	i, done := enter(b, i, ']')
	for !done {
		if i, ok = value(b, i); !ok {
			return i, false
		}
		if i, done, ok = next(b, i, ']'); !ok {
			return i, false
		}
	}
	return i, true
}

// SkipSpace returns the index of the first byte from i on that is not white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// IsSpace reports whether a byte is white space between tokens.
func IsSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r')
}

// scanValue is Scan at a depth.
func scanValue(b []byte, i, depth int) (int, bool) {
	if i >= len(b) || depth > maxDepth {
		return i, false
	}
	switch b[i] {
	case '"':
		return scanString(b, i)
	case '{':
		return scanObject(b, i, depth)
	case '[':
		return scanArray(b, i, depth)
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	default:
		return scanNumber(b, i)
	}
}

func scanObject(b []byte, i, depth int) (int, bool) {
	i, done := enter(b, i, '}')
	for !done {
		_, at, ok := scanName(b, i)
		if !ok {
			return at, false
		}
		if i, ok = scanValue(b, at, depth+1); !ok {
			return i, false
		}
		if i, done, ok = next(b, i, '}'); !ok {
			return i, false
		}
	}
	return i, true
}

func scanArray(b []byte, i, depth int) (int, bool) {
	i, done := enter(b, i, ']')
	for ok := true; !done; {
		if i, ok = scanValue(b, i, depth+1); !ok {
			return i, false
		}
		if i, done, ok = next(b, i, ']'); !ok {
			return i, false
		}
	}
	return i, true
}

// enter moves past an opening bracket. done means that the closing one follows.
func enter(b []byte, i int, closing byte) (at int, done bool) {
	if i = SkipSpace(b, i+1); i < len(b) && b[i] == closing {
		return i + 1, true
	}
	return i, false
}

// scanName returns the index after the name at i, and the index of its value.
func scanName(b []byte, i int) (behind, value int, ok bool) {
	if behind, ok = scanString(b, i); !ok {
		return behind, i, false
	}
	if i = SkipSpace(b, behind); i >= len(b) || b[i] != ':' {
		return behind, i, false
	}
	return behind, SkipSpace(b, i+1), true
}

// next moves from the end of an element or member to the next one, or past the closing bracket: done.
func next(b []byte, i int, closing byte) (at int, done, ok bool) {
	if i = SkipSpace(b, i); i >= len(b) {
		return i, false, false
	}
	switch b[i] {
	case ',':
		return SkipSpace(b, i+1), false, true
	case closing:
		return i + 1, true, true
	default:
		return i, false, false
	}
}

func scanString(b []byte, i int) (int, bool) {
	if i >= len(b) || b[i] != '"' {
		return i, false
	}
	for i++; ; {
		i = skipPlain(b, i)
		switch {
		case i == len(b):
			return i, false
		case b[i] == '"':
			return i + 1, true
		}
		n := escapeLength(b, i)
		if n == 0 {
			return i, false
		}
		i += n
	}
}

// skipPlain returns the index of the first byte from i on that ends or escapes in a string. It checks eight bytes at a
// time, since most of a text is in strings.
func skipPlain(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^('"'*ones), x^('\\'*ones)
		// A subtraction sets the top bit of a byte that is smaller. Its borrow can only mark later bytes by mistake,
		// never the first one.
		special := ((x-' '*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(b) && isPlain(b[i]) {
		i++
	}
	return i
}

// isPlain reports whether a byte is unescaped in a string.
func isPlain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

// escapeLength returns the length of the escape at i, or 0.
func escapeLength(b []byte, i int) int {
	if i+1 >= len(b) || b[i] != '\\' {
		return 0
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if i+6 > len(b) {
			return 0
		}
		for _, c := range b[i+2 : i+6] {
			if !isHex(c) {
				return 0
			}
		}
		return 6
	default:
		return 0
	}
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func scanWord(b []byte, i int, word string) (int, bool) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, false
	}
	return i + len(word), true
}

func scanNumber(b []byte, i int) (int, bool) {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if end := scanDigits(b, i); end > i {
		i = end
	} else {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		end := scanDigits(b, i+1)
		if end == i+1 {
			return i, false
		}
		i = end
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		return scanExponent(b, i+1)
	}
	return i, true
}

func scanExponent(b []byte, i int) (int, bool) {
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		i++
	}
	end := scanDigits(b, i)
	return end, end > i
}

func scanDigits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}
