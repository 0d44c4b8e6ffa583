package face

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// request is the body of a POST of a task or step (schemas TaskRequestBody and StepRequestBody, which are equal).
type request struct {
	Input           *string         // nil if null or absent
	AdditionalInput json.RawMessage // an object, verbatim; nil if null or absent
}

// readRequest reads the body of a request. Harnesses continue a task without a body, so a missing body is an empty
// request.
func (s *server) readRequest(w http.ResponseWriter, r *http.Request) (request, error) {
	var req request
	raw, err := s.readBody(w, r)
	if err != nil || len(raw) == 0 {
		return req, err
	}
	err = body.Object(raw, s.face.Limits.MaxJSONDepth, req.memberReader(w.Header()))
	return req, err
}

// memberReader returns a function that reads one member. Unknown members are added to a header in h.
func (req *request) memberReader(h http.Header) func(name string, v json.RawMessage) error {
	return func(name string, v json.RawMessage) error {
		switch name {
		case "input":
			return takeString(name, v, &req.Input)
		case "additional_input":
			return takeObject(name, v, &req.AdditionalInput)
		}
		return body.Unknown(h, name, "input", "additional_input")
	}
}

// ignoreOwn adds the members of additional_input that are reserved for the bridge to a header in h. Agents do not get
// them.
func ignoreOwn(h http.Header, additional json.RawMessage) {
	for _, name := range []string{rule.ItemsMember, rule.BridgeMember} {
		if rawjson.Get(additional, name) != nil {
			body.Ignored(h, "additional_input."+name)
		}
	}
}

func takeString(name string, v json.RawMessage, into **string) error {
	switch v[0] {
	case 'n':
		return nil
	case '"':
		text := rawjson.Unquote(v)
		*into = &text
		return nil
	}
	return invalid("body", name, "a string or null")
}

func takeObject(name string, v json.RawMessage, into *json.RawMessage) error {
	switch v[0] {
	case 'n':
		return nil
	case '{':
		*into = bytes.Clone(v) // the body is reused; this may be kept for long
		return nil
	}
	return invalid("body", name, "an object")
}

// readBody returns the JSON of a body of at most limits.body bytes, or nil if there is none. A missing content type
// means JSON, because simple clients omit it and no other type is accepted.
func (s *server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return body.JSON(w, r, int64(s.face.Limits.Body), body.TypeJSON, "")
}
