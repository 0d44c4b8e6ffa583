package archive

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/go-json-experiment/json/jsontext"
)

// appendRow appends the line of a row.
func (t *table) appendRow(line []byte, row []sqldb.Buffer) ([]byte, error) {
	line = append(append(append(line, `{"`...), t.name...), `":{`...)
	for i, c := range t.columns {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(append(append(line, '"'), c.name...), `":`...)
		var err error
		if line, err = appendValue(line, row[i], c.kind); err != nil {
			return nil, err
		}
	}
	return append(line, "}}\n"...), nil
}

func appendValue(line []byte, v sqldb.Buffer, is kind) ([]byte, error) {
	switch {
	case v == nil:
		return append(line, "null"...), nil
	case is == number:
		return append(line, v...), nil
	case utf8.Valid(v):
		return jsontext.AppendQuote(line, []byte(v))
	}
	line = base64.StdEncoding.AppendEncode(append(line, `{"base64":"`...), v)
	return append(line, `"}`...), nil
}

// insertion is the statement that adds a row.
func (t *table) insertion() string {
	var columns, values []string
	for i, c := range t.columns {
		columns, values = append(columns, c.name), append(values, "$"+strconv.Itoa(i+1))
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// values are the arguments of insertion, from a row as it was read.
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

// value is what a database is given for a value of an export.
func (c column) value(said json.RawMessage) (any, error) {
	if string(said) == "null" {
		return nil, nil
	}
	if c.kind == number {
		n, err := strconv.ParseInt(string(said), 10, 64)
		if err != nil {
			return nil, errors.New("it is no whole number")
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
