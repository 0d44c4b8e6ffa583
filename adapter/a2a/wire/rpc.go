package wire

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/mapping/rawjson"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ID is the id of a JSON-RPC call as it was written: a string, a number or null. nil stands for null.
type ID json.RawMessage

// maxID bounds an id, which is repeated in every frame of a stream.
const maxID = 1024

// Call is a JSON-RPC request (S 9.1).
type Call struct {
	ID     ID
	Method string
	Params json.RawMessage // an object; nil if absent
}

// Call reads a JSON-RPC request. It refuses batches, which A2A does not have, and notifications, since every method has
// an answer. An error is an *Error, to be answered under the ID of the returned Call.
func (r *Reader) Call(raw []byte) (Call, error) {
	if rawjson.Kind(rawjson.Trim(raw)) == '[' && rawjson.Valid(raw) {
		return Call{}, &Error{Code: CodeInvalidRequest, Message: "Batches are not supported. Send one request at a time."}
	}
	if !rawjson.Valid(raw) {
		return Call{}, &Error{Code: CodeParse, Message: "The request is not valid JSON."}
	}
	var x struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	refuse := func(format string, args ...any) (Call, error) {
		return Call{ID: usableID(x.ID)}, &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
	}
	if rawjson.Kind(rawjson.Trim(raw)) != '{' {
		return refuse("The request must be a JSON object.")
	}
	if err := jsonv2.Unmarshal(raw, &x, jsontext.AllowDuplicateNames(r.lenient), jsontext.AllowInvalidUTF8(r.lenient)); err != nil {
		return Call{}, &Error{Code: CodeParse, Message: r.refuse(err).Message}
	}
	id := usableID(x.ID)
	method, isText := rawjson.Text(x.Method)
	switch {
	case len(x.ID) > maxID:
		return refuse("id must be at most %d bytes long.", maxID)
	case x.ID != nil && id == nil:
		return refuse("id must be a string, a number or null.")
	case rawjson.TextOf(x.Version) != "2.0":
		return refuse(`jsonrpc must be "2.0".`)
	case !isText || method == "":
		return refuse("method must be a string.")
	case x.ID == nil:
		return refuse("Notifications are not supported: the request needs an id.")
	}
	c := Call{ID: id, Method: method}
	switch rawjson.Kind(x.Params) {
	case '{':
		c.Params = x.Params
	case 0, 'n':
	default:
		return c, invalidAt("params", "must be an object")
	}
	if err := r.check(raw); err != nil {
		return c, err
	}
	return c, nil
}

// usableID returns an id that may be answered with, null included; nil for any other.
func usableID(raw json.RawMessage) ID {
	switch rawjson.Kind(raw) {
	case '"', '0', 'n':
		if len(raw) <= maxID {
			return ID(raw)
		}
	}
	return nil
}

// Params decodes the parameters of a call; absent ones are an empty object. Errors are those of Read.
func (r *Reader) Params(v Version, c Call, into any) error {
	if c.Params == nil {
		return r.Read(v, []byte("{}"), into)
	}
	return r.Read(v, c.Params, into)
}

// AppendCall appends a JSON-RPC request. params may be nil for none.
func AppendCall(dst []byte, v Version, id ID, m Method, params any) ([]byte, error) {
	name := m.Name(v)
	if name == "" {
		return dst, fmt.Errorf("A2A %s has no method %s", v, m)
	}
	dst = appendHead(dst, id)
	dst = append(dst, `,"method":`...)
	dst = append(dst, rawjson.Quote(name)...)
	if params != nil {
		var err error
		if dst, err = Append(append(dst, `,"params":`...), v, params); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// AppendResult appends a JSON-RPC answer, which is also the data of a stream's frame (S 9.4.2).
func AppendResult(dst []byte, v Version, id ID, result any) ([]byte, error) {
	dst, err := Append(append(appendHead(dst, id), `,"result":`...), v, result)
	return append(dst, '}'), err
}

// AppendError appends a JSON-RPC error, which is also the data of the frame that ends a stream.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = append(appendHead(dst, id), `,"error":`...)
	return append(appendError(dst, e.rpc()), '}')
}

func appendHead(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	return append(dst, orNull(json.RawMessage(id))...)
}

// Response returns the result of a JSON-RPC answer as it came. It returns null for an answer without a result, which
// a2a-go sends for deletions. An error is an *Error: the agent's own, or one of CodeInvalidAgentResponse if the answer
// is not JSON-RPC. The id is not compared.
func (r *Reader) Response(raw []byte) (json.RawMessage, error) {
	if err := r.check(raw); err != nil {
		return nil, err
	}
	var x struct {
		Version jsontext.Value `json:"jsonrpc"`
		Result  jsontext.Value `json:"result"`
		Error   jsontext.Value `json:"error"`
	}
	if err := jsonv2.Unmarshal(raw, &x, looseOptions); err != nil {
		return nil, r.refuse(err)
	}
	switch k := x.Error.Kind(); {
	case k != 0 && k != 'n':
		if e := r.errorIn(raw, 0); e != nil {
			return nil, e
		}
	case x.Result != nil:
		return json.RawMessage(x.Result.Clone()), nil
	case x.Version != nil:
		return json.RawMessage("null"), nil
	}
	return nil, &Error{Code: CodeInvalidAgentResponse, Message: "The answer is no JSON-RPC: it has neither a result nor an error."}
}

// Event reads the data of a stream's frame in either binding: a JSON-RPC answer, or the bare event or error of
// HTTP+JSON. An error is an *Error: the agent's own, or that of Read.
func (r *Reader) Event(v Version, data []byte) (StreamResponse, error) {
	bare := rawjson.Get(data, "result") == nil && rawjson.Get(data, "error") == nil
	if !bare {
		result, err := r.Response(data)
		if err != nil {
			return StreamResponse{}, err
		}
		data = result
	}
	var s StreamResponse
	err := r.Read(v, data, &s)
	if err == nil {
		return s, nil
	}
	if bare {
		if e := r.errorIn(data, 0); e != nil {
			return StreamResponse{}, e
		}
	}
	return StreamResponse{}, err
}
