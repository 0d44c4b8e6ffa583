package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage {
	return appendQuote(make([]byte, 0, QuotedSize(s)), s)
}

// appendQuote appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // an error only means a replacement by U+FFFD
	return dst
}

// QuotedSize returns the approximate length of s as a JSON string, to avoid reallocations while writing a long one.
func QuotedSize(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\t', c == '\r':
			n++
		case c < ' ':
			n += 5
		}
	}
	return n
}

// Unquote decodes a valid JSON string. Invalid UTF-8 becomes U+FFFD.
func Unquote(b []byte) string {
	if inner := b[1 : len(b)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	s, _ := jsontext.AppendUnquote(nil, b)
	return string(s)
}
