package rawjson

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of a JSON object with its original bytes.
type Member struct {
	Name   string          // decoded
	Quoted Quoted          // as written; nil if Name is yet to be quoted
	Value  json.RawMessage // nil for none, see WithMembers
}

// spelled returns the name as it is written.
func (m *Member) spelled() Quoted {
	if m.Quoted == nil {
		return Quoted(Quote(m.Name))
	}
	return m.Quoted
}

// Quoted is a valid JSON string as it is written, with its quotes.
type Quoted []byte

// Text decodes the string. Invalid UTF-8 becomes U+FFFD.
func (q Quoted) Text() string { return Unquote(q) }

// Bytes is Text as a slice of the string, if it has no escapes.
func (q Quoted) Bytes() []byte {
	if q.plain() {
		return q[1 : len(q)-1]
	}
	b, _ := jsontext.AppendUnquote(make([]byte, 0, len(q)), []byte(q))
	return b
}

// Is reports whether the string is s. It only decodes strings with escapes.
func (q Quoted) Is(s string) bool {
	if bytes.IndexByte(q, '\\') >= 0 {
		return q.Text() == s
	}
	return string(q[1:len(q)-1]) == s
}

// plain reports whether the string is obviously free of escapes.
func (q Quoted) plain() bool {
	for _, c := range q {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
