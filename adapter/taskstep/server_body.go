package taskstep

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-json-experiment/json/jsontext"
)

// request is the body of a task or step POST (schemas TaskRequestBody and
// StepRequestBody, which are the same).
type request struct {
	Input           *string         // nil: null or absent
	AdditionalInput json.RawMessage // verbatim, an object; nil: null or absent
}

// readRequest reads such a body. No body at all is an empty request: it is how
// harnesses say "go on".
func (s *server) readRequest(w http.ResponseWriter, r *http.Request) (request, error) {
	var req request
	body, err := s.readBody(w, r)
	if err != nil || len(body) == 0 {
		return req, err
	}
	err = decodeObject(body, s.face.Limits.Depth, req.take)
	return req, err
}

func (req *request) take(name string, v jsontext.Value) error {
	switch name {
	case "input":
		return takeString(name, v, &req.Input)
	case "additional_input":
		return takeObject(name, v, &req.AdditionalInput)
	}
	return nil
}

func takeString(name string, v jsontext.Value, into **string) error {
	switch v.Kind() {
	case 'n':
		return nil
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return unreadable(err)
		}
		str := string(text)
		*into = &str
		return nil
	}
	return invalid("body", name, "a string or null")
}

func takeObject(name string, v jsontext.Value, into *json.RawMessage) error {
	switch v.Kind() {
	case 'n':
		return nil
	case '{':
		*into = json.RawMessage(bytes.Clone(v))
		return nil
	}
	return invalid("body", name, "an object")
}

// readBody returns the JSON bytes of a body, nil for none, within limits.body.
// The content type only counts when there is a body.
func (s *server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limit := int64(s.face.Limits.Body)
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	if !plainJSON(r.Header) {
		return nil, refuseUnlessEmpty(body)
	}
	raw, err := adapter.ReadBody(body, r.ContentLength)
	if err != nil {
		return nil, bodyError(err)
	}
	return bytes.TrimLeft(raw, " \t\r\n"), nil
}

// plainJSON tells whether a body is to be read as JSON. A missing content type
// counts as JSON: simple clients leave it out, and nothing else is taken here.
func plainJSON(h http.Header) bool {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false
	}
	header := h.Get("Content-Type")
	if header == "" || header == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(header)
	charset := params["charset"]
	return err == nil && media == "application/json" && (charset == "" || strings.EqualFold(charset, "utf-8"))
}

func refuseUnlessEmpty(body io.Reader) error {
	var first [1]byte
	n, err := io.ReadFull(body, first[:])
	if n == 0 && errors.Is(err, io.EOF) {
		return nil
	}
	return mapping.Errorf(mapping.Unsupported, mapping.CodeInvalid,
		"The body must be JSON in UTF-8, not compressed. Send Content-Type: application/json.")
}

// bodyError classifies what broke the reading of a body.
func bodyError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("The body ends before its announced length.")
	}
	return err
}

// decodeObject takes a JSON object apart: take gets each member's name and
// value, the value only until it returns. Duplicate names at any depth,
// invalid UTF-8, more than depth levels and trailing bytes are refused
// (RFC 7493, I-JSON).
func decodeObject(body []byte, depth int, take func(name string, v jsontext.Value) error) error {
	if deeper(body, depth) {
		return malformed("The body is nested deeper than %d levels.", depth)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if kind := dec.PeekKind(); kind != '{' && kind > 0 {
		return malformed("The body must be a JSON object.")
	}
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	for dec.PeekKind() != '}' {
		if err := member(dec, take); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return malformed("There is something behind the JSON object of the body.")
	}
	if at, found := mapping.RepeatedName(body); found {
		return malformed("The body says the same name twice in one object (near byte %d).", at)
	}
	return nil
}

func member(dec *jsontext.Decoder, take func(string, jsontext.Value) error) error {
	token, err := dec.ReadToken()
	if err != nil {
		return unreadable(err)
	}
	name := token.String()
	value, err := dec.ReadValue()
	if err != nil {
		return unreadable(err)
	}
	return take(name, value)
}

// unreadable words a syntax error without repeating what the client sent.
func unreadable(err error) error {
	what, where := "is not valid JSON", ""
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		where = " (near byte " + strconv.FormatInt(syntax.ByteOffset, 10) + ")"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		what = "ends too early to be JSON"
	}
	return malformed("The body %s%s.", what, where)
}

// deeper tells whether arrays and objects are nested deeper than max, without
// recursion. Of bytes that are not JSON it may say either.
func deeper(body []byte, max int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > max {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}
