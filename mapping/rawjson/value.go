package rawjson

import (
	"encoding/json"
	"strings"
)

// Valid reports whether b is one JSON value. It allocates nothing.
func Valid(b []byte) bool { return ValidWithin(b, maxDepth) }

// ValidWithin is Valid with a limit on the nesting, for a value within another.
func ValidWithin(b []byte, depth int) bool {
	i, ok := scanValue(b, SkipSpace(b, 0), maxDepth-depth)
	return ok && SkipSpace(b, i) == len(b)
}

// Trim removes the white space around a value.
func Trim(b json.RawMessage) json.RawMessage {
	i, j := SkipSpace(b, 0), len(b)
	for j > i && IsSpace(b[j-1]) {
		j--
	}
	return b[i:j:j]
}

// Kind returns the kind of a value from its first byte, like jsontext.Kind: one of { [ " t f n, or '0' for any number.
// It returns 0 if there is no value.
func Kind(b json.RawMessage) byte {
	i := SkipSpace(b, 0)
	switch {
	case i == len(b):
		return 0
	case b[i] == '-' || isDigit(b[i]):
		return '0'
	default:
		return b[i]
	}
}

// IsNull reports whether b is empty or null.
func IsNull(b json.RawMessage) bool {
	b = Trim(b)
	return len(b) == 0 || string(b) == "null"
}

// ScalarText returns a string or number as text, and "" for anything else.
func ScalarText(b json.RawMessage) string {
	if text, ok := Text(b); ok {
		return text
	}
	if IsNumber(b) {
		return string(b)
	}
	return ""
}

// OrEmpty returns b, or an empty object if b is empty or null.
func OrEmpty(b json.RawMessage) json.RawMessage {
	if len(b) == 0 || string(b) == "null" {
		return json.RawMessage(`{}`)
	}
	return b
}

// IsNumber reports whether a value is a number. There must be no white space around it.
func IsNumber(b json.RawMessage) bool {
	if len(b) == 0 || b[0] != '-' && !isDigit(b[0]) {
		return false
	}
	end, ok := scanNumber(b, 0)
	return ok && end == len(b)
}

// Text decodes a string. It returns false for any other value.
func Text(b json.RawMessage) (string, bool) {
	b = Trim(b)
	if len(b) < 2 || b[0] != '"' {
		return "", false
	}
	if end, ok := scanString(b, 0); !ok || end != len(b) {
		return "", false
	}
	return Unquote(b), true
}

// TextOf is Text for valid JSON. It returns "" for anything but a string.
func TextOf(b json.RawMessage) string {
	if b = Trim(b); len(b) < 2 || b[0] != '"' {
		return ""
	}
	return Unquote(b)
}

// CompactText returns the text of a value that is JSON, without white space between its tokens. Numbers and strings
// stay as written.
func CompactText(b json.RawMessage) string {
	var out strings.Builder
	out.Grow(len(b))
	eachToken(b, func(token []byte) { out.Write(token) })
	return out.String()
}

// Compact is CompactText as bytes, or nil if b is not JSON.
func Compact(b json.RawMessage) json.RawMessage {
	if !Valid(b) {
		return nil
	}
	out := make([]byte, 0, len(b))
	eachToken(b, func(token []byte) { out = append(out, token...) })
	return out
}

// eachToken calls visit for the parts of a value between white space.
func eachToken(b []byte, visit func(b []byte)) {
	for i := SkipSpace(b, 0); i < len(b); i = SkipSpace(b, i) {
		from := i
		for i < len(b) && !IsSpace(b[i]) {
			if b[i] == '"' {
				i, _ = scanString(b, i)
			} else {
				i++
			}
		}
		visit(b[from:i])
	}
}
