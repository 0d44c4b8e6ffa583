package threadrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-json-experiment/json/jsontext"
)

// readBody reads a request body of JSON, nil when there is none. Content types
// other than JSON are refused, except text/plain and none at all, which real
// clients send; whoever guards Origin keeps browsers from using them across
// sites.
func (s *server) readBody(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	if err := checkContentType(r.Header); err != nil {
		return nil, unlessEmpty(r, err)
	}
	if max := int64(s.face.Limits.Body); max > 0 {
		if r.ContentLength > max {
			return nil, bodyError(&http.MaxBytesError{Limit: max})
		}
		r.Body = http.MaxBytesReader(w, r.Body, max)
	}
	raw, err := adapter.ReadBody(r.Body, r.ContentLength)
	if err != nil {
		return nil, bodyError(err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	return raw, checkEncoding(raw)
}

// unlessEmpty is refused, unless there is no body that the content type could be of. The
// body is not read: other types may be as long as an upload.
func unlessEmpty(r *http.Request, refused error) error {
	if n, err := io.ReadFull(r.Body, make([]byte, 1)); n == 0 && errors.Is(err, io.EOF) {
		return nil
	}
	return refused
}

// checkEncoding tells of what some editors and shells put before a text: nobody
// sees it, so that "not valid JSON" would be a riddle.
func checkEncoding(raw []byte) error {
	for _, mark := range []string{"\xef\xbb\xbf", "\xfe\xff", "\xff\xfe"} {
		if bytes.HasPrefix(raw, []byte(mark)) {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
				"The request body begins with a byte order mark, which JSON does not allow. Send it as UTF-8 without one.")
		}
	}
	return nil
}

func bodyError(err error) error {
	var known *mapping.Error
	if errors.As(err, &known) {
		return known
	}
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return mapping.Errorf(mapping.TooLarge, "body_too_large", "The request body is longer than %d bytes, the limit of limits.body.", tooLong.Limit)
	}
	return &mapping.Error{Class: mapping.Malformed, Code: mapping.CodeInvalid, Message: "The request body could not be read to its end.", Err: err}
}

func checkContentType(h http.Header) error {
	if ce := h.Get("Content-Encoding"); ce != "" && !strings.EqualFold(ce, "identity") {
		return mapping.Errorf(mapping.Unsupported, "unsupported_content_encoding", "Compressed request bodies are not read; send the JSON as it is.")
	}
	ct := h.Get("Content-Type")
	if ct == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(ct)
	if err == nil && (media == "application/json" || media == "text/plain" || strings.HasSuffix(media, "+json")) {
		return nil
	}
	return mapping.Errorf(mapping.Unsupported, "unsupported_content_type", "The content type must be application/json.")
}

// parseObject splits a request body. It refuses what is not one JSON object,
// invalid UTF-8, names that occur twice, at any depth, and nesting deeper than
// depth (0: no limit). nil bytes are an empty object.
func parseObject(raw json.RawMessage, depth int) (*fields, error) {
	o := &fields{errs: new([]complaint)}
	if raw == nil {
		return o, nil
	}
	if tooDeep(raw, depth) {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request body is nested deeper than %d levels, the limit of limits.depth.", depth)
	}
	members, err := splitObject(raw)
	if err != nil {
		return nil, err
	}
	if at, found := mapping.RepeatedName(raw); found {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request body has an object that names one key twice (at byte %d).", at)
	}
	o.members = members
	return o, nil
}

// splitObject checks and splits a whole object. It does not look for names that
// occur twice.
func splitObject(raw json.RawMessage) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		if err := onlyValue(dec); err != nil {
			return nil, err
		}
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request body must be a JSON object.")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	members := make([]member, 0, 8)
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, syntaxError(err)
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, syntaxError(err)
		}
		end := int(dec.InputOffset())
		members = append(members, member{key, raw[end-len(value) : end : end]})
	}
	if err := onlyValue(dec); err != nil {
		return nil, err
	}
	return members, nil
}

// onlyValue reads the rest of the one value that a body may hold.
func onlyValue(dec *jsontext.Decoder) error {
	for {
		if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return syntaxError(err)
		}
		if dec.StackDepth() == 0 && dec.PeekKind() != 0 {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request body holds more than one JSON value.")
		}
	}
}

// syntaxError says where the JSON is broken, but nothing of its contents.
func syntaxError(err error) error {
	msg := "The request body is not valid JSON"
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		msg += fmt.Sprintf(" (at byte %d)", syn.ByteOffset)
	}
	return &mapping.Error{Class: mapping.Invalid, Code: mapping.CodeInvalid, Message: msg + ".", Err: err}
}

// tooDeep counts brackets outside of strings; it is meant to run before a
// parser recurses into them.
func tooDeep(raw []byte, max int) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; max > 0 && depth > max {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// splitList splits a JSON list that is known to be valid.
func splitList(raw json.RawMessage) []json.RawMessage {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return nil
	}
	list := []json.RawMessage{}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		end := int(dec.InputOffset())
		list = append(list, raw[end-len(v):end:end])
	}
	return list
}

// kindOf is the first byte of a value: one of { [ " 0 t f n, or 0 for none.
func kindOf(v json.RawMessage) byte {
	if len(v) == 0 {
		return 0
	}
	if v[0] == '-' || v[0] >= '0' && v[0] <= '9' {
		return '0'
	}
	return v[0]
}
