package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Code is a JSON-RPC error code (S 5.4, 9.5).
type Code int

const (
	CodeParse          Code = -32700
	CodeInvalidRequest Code = -32600
	CodeMethodNotFound Code = -32601
	CodeInvalidParams  Code = -32602
	CodeInternal       Code = -32603

	CodeTaskNotFound                   Code = -32001
	CodeTaskNotCancelable              Code = -32002
	CodePushNotificationNotSupported   Code = -32003
	CodeUnsupportedOperation           Code = -32004
	CodeContentTypeNotSupported        Code = -32005
	CodeInvalidAgentResponse           Code = -32006
	CodeExtendedAgentCardNotConfigured Code = -32007
	CodeExtensionSupportRequired       Code = -32008 // 1.0 only
	CodeVersionNotSupported            Code = -32009 // 1.0 only
)

// An errorKind is a row of S 5.4: the HTTP status, the status word of gRPC, and the reason of ErrorInfo, which errors
// of JSON-RPC itself do not have.
type errorKind struct {
	status       int
	word, reason string
}

var errorKinds = map[Code]errorKind{
	CodeParse:          {http.StatusBadRequest, "INVALID_ARGUMENT", ""},
	CodeInvalidRequest: {http.StatusBadRequest, "INVALID_ARGUMENT", ""},
	// With a reason, clients would take NOT_FOUND for a missing task.
	CodeMethodNotFound:                 {http.StatusNotFound, "UNIMPLEMENTED", ""},
	CodeInvalidParams:                  {http.StatusBadRequest, "INVALID_ARGUMENT", ""},
	CodeInternal:                       {http.StatusInternalServerError, "INTERNAL", ""},
	CodeTaskNotFound:                   {http.StatusNotFound, "NOT_FOUND", "TASK_NOT_FOUND"},
	CodeTaskNotCancelable:              {http.StatusBadRequest, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"},
	CodePushNotificationNotSupported:   {http.StatusBadRequest, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	CodeUnsupportedOperation:           {http.StatusBadRequest, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"},
	CodeContentTypeNotSupported:        {http.StatusBadRequest, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"},
	CodeInvalidAgentResponse:           {http.StatusInternalServerError, "INTERNAL", "INVALID_AGENT_RESPONSE"},
	CodeExtendedAgentCardNotConfigured: {http.StatusBadRequest, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	CodeExtensionSupportRequired:       {http.StatusBadRequest, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"},
	CodeVersionNotSupported:            {http.StatusBadRequest, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"},
}

// statusWords are the gRPC words of statuses for which an Error replaces its code's own one (S 11.6).
var statusWords = map[int]string{
	http.StatusBadRequest:            "INVALID_ARGUMENT",
	http.StatusUnauthorized:          "UNAUTHENTICATED",
	http.StatusForbidden:             "PERMISSION_DENIED",
	http.StatusNotFound:              "NOT_FOUND",
	http.StatusMethodNotAllowed:      "UNIMPLEMENTED",
	http.StatusConflict:              "ABORTED",
	http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
	http.StatusUnsupportedMediaType:  "INVALID_ARGUMENT",
	http.StatusUnprocessableEntity:   "INVALID_ARGUMENT",
	http.StatusTooManyRequests:       "RESOURCE_EXHAUSTED",
	http.StatusNotImplemented:        "UNIMPLEMENTED",
	http.StatusBadGateway:            "UNAVAILABLE",
	http.StatusServiceUnavailable:    "UNAVAILABLE",
	http.StatusGatewayTimeout:        "DEADLINE_EXCEEDED",
}

// ErrorDomain is the domain of ErrorInfo for errors of the protocol.
const ErrorDomain = "a2a-protocol.org"

const (
	typeErrorInfo  = "type.googleapis.com/google.rpc.ErrorInfo"
	typeBadRequest = "type.googleapis.com/google.rpc.BadRequest"
)

// Error is an error of the protocol in any version and binding. Its reason and status follow from the code.
type Error struct {
	Code       Code
	Message    string
	Metadata   map[string]string // of ErrorInfo; only written with a code that has a reason
	Violations []Violation       // of BadRequest
	// Status is the HTTP status that the peer answered with. In an error to write, it replaces the code's own status,
	// for refusals such as 401 and 429 that have no code. 0 is the code's own.
	Status int
	// Details are the peer's data or details as they came; they are not written.
	Details json.RawMessage
	Err     error // the cause, for the log only
}

// Violation is a member of a request and its error.
type Violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

func (e *Error) Error() string { return fmt.Sprintf("A2A error %d: %s", e.Code, e.Message) }

func (e *Error) Unwrap() error { return e.Err }

// HTTPStatus returns the status for HTTP+JSON. JSON-RPC errors have status 200 unless the call was not read.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	if kind, ok := errorKinds[e.Code]; ok {
		return kind.status
	}
	return http.StatusInternalServerError
}

// Reason returns the reason of ErrorInfo, "" if the code has none.
func (e *Error) Reason() string { return errorKinds[e.Code].reason }

func (e *Error) statusWord() string {
	if e.Status == 0 || e.Status == errorKinds[e.Code].status {
		if kind, ok := errorKinds[e.Code]; ok {
			return kind.word
		}
	}
	if word, ok := statusWords[e.HTTPStatus()]; ok {
		return word
	}
	if e.HTTPStatus() < http.StatusInternalServerError {
		return "FAILED_PRECONDITION"
	}
	return "INTERNAL"
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

type badRequest struct {
	Type       string      `json:"@type"`
	Violations []Violation `json:"fieldViolations"`
}

// details are the objects of JSON-RPC's data and HTTP's details (S 9.5, 11.6).
func (e *Error) details() []any {
	var list []any
	if reason := e.Reason(); reason != "" {
		list = append(list, errorInfo{typeErrorInfo, reason, ErrorDomain, e.Metadata})
	}
	if len(e.Violations) > 0 {
		list = append(list, badRequest{typeBadRequest, e.Violations})
	}
	return list
}

// rpcError is the error of JSON-RPC.
type rpcError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Data    []any  `json:"data,omitempty"`
}

func (e *Error) rpc() rpcError { return rpcError{e.Code, e.Message, e.details()} }

type httpError struct {
	Error httpStatus `json:"error"`
}

// legacyHTTPError has the bare members that @a2a-js/sdk reads in 0.3, and the error that a2a-go reads there. 0.3 itself
// does not define errors over HTTP+JSON.
type legacyHTTPError struct {
	rpcError
	httpError
}

type httpStatus struct {
	Code    int    `json:"code"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Details []any  `json:"details,omitempty"`
}

// AppendHTTPError appends the body of an error over HTTP+JSON, which is also the data of an error in a stream. Its
// status is Error.HTTPStatus. In a stream, the frame needs the event name "error": @a2a-js/sdk 1.3.0 finds it by that.
func AppendHTTPError(dst []byte, v Version, e *Error) []byte {
	body := httpError{httpStatus{e.HTTPStatus(), e.statusWord(), e.Message, e.details()}}
	if v == V1 {
		return appendError(dst, body)
	}
	return appendError(dst, legacyHTTPError{e.rpc(), body})
}

// appendError appends a value that always has a JSON form.
func appendError(dst []byte, value any) []byte {
	b, err := jsonv2.Marshal(value, writeCommon)
	if err != nil {
		panic(err)
	}
	return append(dst, b...)
}

// HTTPError reads the body of an HTTP+JSON response that is not a success. A body that is not an A2A error, such as a
// proxy's page, becomes an Error without a message from the peer.
func (r *Reader) HTTPError(status int, body []byte) *Error {
	if e := r.errorIn(body, status); e != nil {
		e.Status = status
		return e
	}
	return &Error{Code: codeOfStatus(status, ""), Status: status, Message: fmt.Sprintf("The agent answered with HTTP status %d.", status)}
}

// errorIn finds an error in a body or a stream's frame: {error: {…}} of either binding, or 0.3's bare {code, message}.
func (r *Reader) errorIn(body []byte, status int) *Error {
	if r.check(body) != nil {
		return nil
	}
	var x struct {
		Error   jsontext.Value `json:"error"`
		Code    jsontext.Value `json:"code"`
		Message jsontext.Value `json:"message"`
	}
	if jsonv2.Unmarshal(body, &x, looseOptions) != nil {
		return nil
	}
	if x.Code.Kind() == '0' && x.Message.Kind() == '"' {
		return r.readError(body, status)
	}
	switch x.Error.Kind() {
	case '{':
		return r.readError(x.Error, status)
	case '"': // not A2A, but common: {"error": "text"}
		return &Error{Code: codeOfStatus(status, ""), Message: rawjson.TextOf(json.RawMessage(x.Error))}
	}
	return nil
}

// looseOptions read errors, which are taken as far as they can be understood.
var looseOptions = jsonv2.JoinOptions(jsonv2.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// readError reads an error object. The reason decides on the code, then a JSON-RPC code, then the status word, then the
// HTTP status, which is 0 if there is none.
func (r *Reader) readError(raw []byte, status int) *Error {
	var x struct {
		Code    jsontext.Value `json:"code"`
		Status  jsontext.Value `json:"status"`
		Message jsontext.Value `json:"message"`
		Data    jsontext.Value `json:"data"`
		Details jsontext.Value `json:"details"`
	}
	if jsonv2.Unmarshal(raw, &x, looseOptions) != nil {
		return nil
	}
	e := &Error{Message: rawjson.ScalarText(json.RawMessage(x.Message))}
	e.Details = json.RawMessage(x.Data.Clone())
	if x.Details != nil {
		e.Details = json.RawMessage(x.Details.Clone())
	}
	reason := e.readDetails()
	number, _ := parseInt(rawjson.ScalarText(json.RawMessage(x.Code)))
	e.Code = codeOfReason(reason)
	switch {
	case e.Code != 0:
	case number < 0:
		e.Code = Code(number)
	case status == 0:
		status = number
		fallthrough
	default:
		e.Code = codeOfStatus(status, rawjson.ScalarText(json.RawMessage(x.Status)))
	}
	if e.Message == "" {
		e.Message = "The agent gave no message."
	}
	return e
}

// readDetails reads the known objects in Details, a list or one object, and returns the reason of this protocol's
// ErrorInfo.
func (e *Error) readDetails() (reason string) {
	list := rawjson.ElementsOf(e.Details)
	if rawjson.Kind(e.Details) == '{' {
		list = []json.RawMessage{e.Details}
	}
	for _, raw := range list {
		switch _, name, _ := strings.Cut(rawjson.GetText(raw, "@type"), "google.rpc."); name {
		case "ErrorInfo":
			if domain := rawjson.GetText(raw, "domain"); domain != ErrorDomain && domain != "" {
				continue
			}
			reason = rawjson.GetText(raw, "reason")
			_ = rawjson.EachMember(rawjson.Get(raw, "metadata"), func(name rawjson.Quoted, value json.RawMessage) {
				if e.Metadata == nil {
					e.Metadata = map[string]string{}
				}
				e.Metadata[rawjson.Unquote(name)] = rawjson.ScalarText(value)
			})
		case "BadRequest":
			for _, v := range rawjson.ElementsOf(rawjson.Get(raw, "fieldViolations")) {
				e.Violations = append(e.Violations, Violation{rawjson.GetText(v, "field"), rawjson.GetText(v, "description")})
			}
		}
	}
	return reason
}

func codeOfReason(reason string) Code {
	if reason != "" {
		for code, kind := range errorKinds {
			if kind.reason == reason {
				return code
			}
		}
	}
	return 0
}

// codeOfStatus guesses a code if an agent gives none. Status 404 means a missing task if the agent's status word
// confirms that, and otherwise a missing route.
func codeOfStatus(status int, word string) Code {
	switch word {
	case "NOT_FOUND":
		return CodeTaskNotFound
	case "INVALID_ARGUMENT":
		return CodeInvalidParams
	case "UNIMPLEMENTED":
		return CodeMethodNotFound
	}
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return CodeMethodNotFound
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return CodeInvalidParams
	case http.StatusUnsupportedMediaType:
		return CodeContentTypeNotSupported
	}
	return CodeInternal
}
