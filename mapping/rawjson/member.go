package rawjson

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one member of a JSON object, in its place and with its bytes.
type Member struct {
	Name   string          // decoded
	Quoted Quoted          // as written; nil: Name is quoted where it is written
	Value  json.RawMessage // nil: none, see WithMembers
}

// spelled is the name as it is written.
func (m *Member) spelled() Quoted {
	if m.Quoted == nil {
		return Quoted(Quote(m.Name))
	}
	return m.Quoted
}

// Quoted is a JSON string as it is written, with its quotes. It is known to be one.
type Quoted []byte

// Text decodes the string. Invalid UTF-8 becomes U+FFFD.
func (q Quoted) Text() string { return Unquote(q) }

// Bytes is Text as a part of the string, where it is written as it reads.
func (q Quoted) Bytes() []byte {
	if q.plain() {
		return q[1 : len(q)-1]
	}
	b, _ := jsontext.AppendUnquote(make([]byte, 0, len(q)), []byte(q))
	return b
}

// Is reports whether the string is s, and decodes it only where it has escapes.
func (q Quoted) Is(s string) bool {
	if bytes.IndexByte(q, '\\') >= 0 {
		return q.Text() == s
	}
	return string(q[1:len(q)-1]) == s
}

// plain reports whether the string is written as it reads, as far as a look at each byte tells.
func (q Quoted) plain() bool {
	for _, c := range q {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
