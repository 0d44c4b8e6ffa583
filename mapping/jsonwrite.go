package mapping

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// This file writes JSON by append: raw values are spliced, never parsed again.

var (
	errBadJSON   = errors.New("not valid JSON")
	errNotObject = errors.New("not a JSON object")
	errNotArray  = errors.New("not a JSON array")
)

// appendQuoted appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// quoted is s as a JSON string.
func quoted(s string) json.RawMessage {
	return appendQuoted(make([]byte, 0, quotedSize(s)), s)
}

// quotedSize is about the length of s as a JSON string, so that a long one is not
// copied while it is written.
func quotedSize(s string) int {
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

// objectWriter writes an object member by member; the zero value is ready. One
// that writes behind other text of buf says where it starts.
type objectWriter struct {
	buf   []byte
	start int
}

// name starts a member: its value must be appended to buf next.
func (w *objectWriter) name(key string) {
	w.separate()
	w.buf = append(appendQuoted(w.buf, key), ':')
}

// spliced is name for a name that is JSON already.
func (w *objectWriter) spliced(name json.RawMessage) {
	w.separate()
	w.buf = append(append(w.buf, name...), ':')
}

func (w *objectWriter) separate() {
	if len(w.buf) == w.start {
		w.buf = append(w.buf, '{')
	} else {
		w.buf = append(w.buf, ',')
	}
}

func (w *objectWriter) raw(key string, val json.RawMessage) {
	w.name(key)
	w.buf = append(w.buf, val...)
}

func (w *objectWriter) text(key, val string) {
	w.name(key)
	w.buf = appendQuoted(w.buf, val)
}

// done closes the object.
func (w *objectWriter) done() json.RawMessage {
	if len(w.buf) == w.start {
		return append(w.buf, '{', '}')
	}
	return append(w.buf, '}')
}

// joinArray is an array of raw elements.
func joinArray(list []json.RawMessage) json.RawMessage {
	return appendArray(make([]byte, 0, sizeOf(list)), list)
}

// sizeOf is at least the length of an array of raw elements.
func sizeOf(list []json.RawMessage) int {
	n := 2
	for _, e := range list {
		n += len(e) + 1
	}
	return n
}

func appendArray(dst []byte, list []json.RawMessage) []byte {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e...)
	}
	return append(dst, ']')
}

// joinObject is an object of raw members.
func joinObject(list []member) json.RawMessage {
	n := 2
	for _, m := range list {
		n += len(m.name) + len(m.val) + 2
	}
	return appendObject(make([]byte, 0, n), list)
}

func appendObject(dst []byte, list []member) []byte {
	dst = append(dst, '{')
	for i, m := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, m.name...), ':'), m.val...)
	}
	return append(dst, '}')
}

// compactText is the text of a value that is JSON, without white space between its
// tokens.
func compactText(b json.RawMessage) string {
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); {
		from := i
		for i < len(b) && !isSpace(b[i]) {
			if b[i] == '"' {
				i, _ = scanString(b, i)
			} else {
				i++
			}
		}
		out.Write(b[from:i])
		i = skipSpace(b, i)
	}
	return out.String()
}

// compactJSON is a value without white space between its tokens; nil when it
// is no JSON. Numbers and strings stay as written.
func compactJSON(b json.RawMessage) json.RawMessage {
	b = trimJSON(b)
	if !validJSON(b) {
		return nil
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		switch {
		case isSpace(b[i]):
			i++
		case b[i] == '"':
			end, _ := scanString(b, i)
			out, i = append(out, b[i:end]...), end
		default:
			out, i = append(out, b[i]), i+1
		}
	}
	return out
}
