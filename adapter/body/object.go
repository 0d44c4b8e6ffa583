package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/go-json-experiment/json/jsontext"
)

// Object parses a JSON object and calls take with the name and value of each member. The value is a slice of raw.
// Object refuses anything but a single JSON object, invalid UTF-8, repeated names in an object at any depth (RFC 7493,
// I-JSON), and nesting deeper than depth (0 means no limit). If take returns an error, parsing stops and Object returns
// it. Any other error is a *mapping.Error of class Invalid that contains nothing from the body.
func Object(raw []byte, depth int, take func(name string, value json.RawMessage) error) error {
	if err := checkMark(raw); err != nil {
		return err
	}
	if tooDeep(raw, depth) {
		return invalid("The request body is nested deeper than %d levels, the limit of limits.max_json_depth.", depth)
	}
	if err := eachMember(raw, take); err != nil {
		return err
	}
	if at, found := rawjson.RepeatedName(raw); found {
		return invalid("The request body has an object with the same key twice (at byte %d).", at)
	}
	return nil
}

// eachMember reads the members with a validating decoder.
func eachMember(raw []byte, take func(name string, value json.RawMessage) error) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		if err := onlyValue(dec); err != nil {
			return err
		}
		return invalid("The request body must be a JSON object.")
	}
	if _, err := dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return syntaxError(err)
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return syntaxError(err)
		}
		end := int(dec.InputOffset())
		if err := take(key, raw[end-len(value):end:end]); err != nil {
			return err
		}
	}
	return onlyValue(dec)
}

// onlyValue reads the rest of the current value and refuses a second one.
func onlyValue(dec *jsontext.Decoder) error {
	for {
		if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return syntaxError(err)
		}
		if dec.StackDepth() == 0 && dec.PeekKind() != 0 {
			return invalid("The request body contains more than one JSON value.")
		}
	}
}

// checkMark refuses the byte order mark that some editors and shells write at the start of a file. The mark is
// invisible, so "not valid JSON" would be hard to understand.
func checkMark(raw []byte) error {
	for _, mark := range []string{"\xef\xbb\xbf", "\xfe\xff", "\xff\xfe"} {
		if bytes.HasPrefix(raw, []byte(mark)) {
			return invalid("The request body begins with a byte order mark, which JSON does not allow. Send it as UTF-8 without one.")
		}
	}
	return nil
}

// syntaxError reports the position of an error in the JSON, but none of its contents.
func syntaxError(err error) error {
	where := ""
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		where = fmt.Sprintf(" (at byte %d)", syntax.ByteOffset)
	}
	e := invalid("The request body is not valid JSON%s.", where)
	e.Err = err
	return e
}

func invalid(format string, args ...any) *mapping.Error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, format, args...)
}

// tooDeep counts brackets outside strings. It must run before a parser recurses into them. For invalid JSON its result
// is arbitrary.
func tooDeep(raw []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; most > 0 && depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
