package archive

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// line appends the line of a row to memory, which must be empty.
func (t *table) line(memory []byte, row []sqldb.Buffer) []byte {
	w := rawjson.Writer{Bytes: memory}
	w.Open('{').Key(t.name).Open('{')
	for i, c := range t.columns {
		write(w.Key(c.name), row[i], c.kind)
	}
	return append(w.Close('}').Close('}').Bytes, '\n')
}

func write(w *rawjson.Writer, v sqldb.Buffer, is kind) {
	switch {
	case v == nil:
		w.Literal("null")
	case is == number:
		w.Raw(json.RawMessage(v), "null")
	case utf8.Valid(v):
		w.Text(string(v))
	default:
		w.Open('{').Key("base64").Text(base64.StdEncoding.EncodeToString(v)).Close('}')
	}
}

// insertion returns the statement that inserts a row.
func (t *table) insertion() string {
	var columns, values []string
	for i, c := range t.columns {
		columns, values = append(columns, c.name), append(values, "$"+strconv.Itoa(i+1))
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// values converts an imported row to the arguments of insertion.
func (t *table) values(row map[string]json.RawMessage) ([]any, error) {
	args := make([]any, len(t.columns))
	for i, c := range t.columns {
		raw, ok := row[c.name]
		if !ok {
			return nil, fmt.Errorf("%s has no member %s", t.name, c.name)
		}
		var err error
		if args[i], err = c.value(raw); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.name, c.name, err)
		}
	}
	for name := range row {
		if !t.has(name) {
			return nil, fmt.Errorf("%s has no column %q", t.name, name)
		}
	}
	return args, nil
}

func (t *table) has(name string) bool {
	for _, c := range t.columns {
		if c.name == name {
			return true
		}
	}
	return false
}

// value converts an exported value to a parameter.
func (c column) value(said json.RawMessage) (any, error) {
	if string(said) == "null" {
		return nil, nil
	}
	if c.kind == number {
		n, err := strconv.ParseInt(string(said), 10, 64)
		if err != nil {
			return nil, errors.New("it is not an integer")
		}
		return n, nil
	}
	data, err := bytesOf(said)
	if err == nil && c.kind == text {
		return string(data), nil
	}
	return data, err
}

var errNoText = errors.New(`it is neither a string nor {"base64":…}`)

func bytesOf(said json.RawMessage) ([]byte, error) {
	var plain *string
	if json.Unmarshal(said, &plain) == nil && plain != nil {
		return []byte(*plain), nil
	}
	var wrapped struct {
		Base64 *[]byte `json:"base64"`
	}
	if json.Unmarshal(said, &wrapped) != nil || wrapped.Base64 == nil {
		return nil, errNoText
	}
	return *wrapped.Base64, nil
}
