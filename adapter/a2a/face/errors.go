package face

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// codeTaskEnded is the code of the service for a task that has ended.
const codeTaskEnded = "task_ended"

// fail responds with err and logs causes that the client does not see.
func (s *server) fail(c *call, err error) {
	var known *mapping.Error
	var own *wire.Error
	if c.r.Context().Err() != nil && !errors.As(err, &known) && !errors.As(err, &own) {
		if err = adapter.Stopping(c.r.Context()); err == nil {
			c.w.WriteHeader(adapter.StatusClientGone)
			return
		}
	}
	e, cause := toWire(err), mapping.Classify(err)
	if !errors.As(err, &own) {
		s.face.CountFailed(cause)
		if cause.Class == mapping.Internal || cause.Err != nil && adapter.Status(cause.Class) >= http.StatusInternalServerError {
			s.logFailure(c, cause)
		}
		adapter.SetRetryAfter(c.w.Header(), cause)
		if cause.Class == mapping.TooLarge {
			c.w.Header().Set("Connection", "close") // the rest of the body is not read
		}
	} else {
		s.face.CountFailed(&mapping.Error{Code: "a2a" + strconv.Itoa(int(own.Code))})
	}
	status, raw := e.HTTPStatus(), wire.AppendHTTPError(nil, c.version, e)
	if c.rpc {
		raw, status = wire.AppendError(nil, c.id, e), http.StatusOK
		if refusedUnread(e) {
			status = e.Status
		}
	}
	// HTTP+JSON too: see wire.MediaType.
	c.w.Header().Set("Content-Type", body.TypeJSON)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(raw)
}

// refusedUnread reports whether an error is one of HTTP rather than of a call, which JSON-RPC would answer with 200.
func refusedUnread(e *wire.Error) bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		return true
	}
	return false
}

func (s *server) logFailure(c *call, e *mapping.Error) {
	route := ""
	if r := mux.CurrentRoute(c.r); r != nil {
		route, _ = r.GetPathTemplate()
	}
	s.face.LogFailed(s.log, e, zap.String("route", route), zap.String("method", string(c.method)), zap.String("code", e.Code),
		zap.String("request_id", c.w.Header().Get(adapter.RequestIDHeader)), zap.Error(e))
}

// classCodes are the codes for errors whose own code has none. Those without a class here are internal.
var classCodes = map[mapping.Class]wire.Code{
	mapping.Invalid: wire.CodeInvalidParams, mapping.Malformed: wire.CodeInvalidParams, mapping.Conflict: wire.CodeUnsupportedOperation,
	mapping.TooLarge: wire.CodeInvalidRequest, mapping.Unsupported: wire.CodeContentTypeNotSupported, mapping.NotAllowed: wire.CodeMethodNotFound,
	mapping.Unauthorized: wire.CodeInvalidRequest, mapping.Forbidden: wire.CodeInvalidRequest, mapping.Limited: wire.CodeInvalidRequest,
	mapping.TooSlow: wire.CodeInvalidRequest, mapping.NotFound: wire.CodeInvalidParams,
}

// notFoundCodes are objects that A2A clients know as tasks.
var notFoundCodes = map[string]bool{
	mapping.CodeTaskNotFound: true, mapping.CodeRunNotFound: true, mapping.CodeThreadNotFound: true,
}

// toWire converts an error of the service.
func toWire(err error) *wire.Error {
	var own *wire.Error
	if errors.As(err, &own) {
		return own
	}
	e := mapping.Classify(err)
	w := &wire.Error{Message: e.Message, Err: err}
	switch {
	case notFoundCodes[e.Code]:
		w.Code = wire.CodeTaskNotFound
	case e.Code == codeTaskEnded, e.Code == mapping.CodeNoPendingInterrupt, e.Code == mapping.CodeThreadBusy:
		w.Code = wire.CodeUnsupportedOperation
	case e.Code == mapping.CodeKeyReused:
		w.Code = wire.CodeInvalidParams
		w.Message = "An earlier message has this messageId and another content. Use a new messageId for each message, and the same one only to repeat it."
		w.Violations = []wire.Violation{{Field: "message.messageId", Description: "belongs to another message"}}
	case e.Code == mapping.CodeRouteNotFound:
		w.Code = wire.CodeMethodNotFound
	case e.Code == mapping.CodeBadUpstream:
		w.Code = wire.CodeInvalidAgentResponse
	default:
		w.Code = wire.CodeInternal
		if code, ok := classCodes[e.Class]; ok {
			w.Code = code
		}
		switch e.Class {
		case mapping.Invalid, mapping.Malformed, mapping.Conflict, mapping.Internal:
		default:
			w.Status = adapter.Status(e.Class)
		}
	}
	if at, ok := e.Detail.(map[string]any); ok && w.Code == wire.CodeInvalidParams {
		if field, ok := at["field"].(string); ok {
			w.Violations = []wire.Violation{{Field: field, Description: e.Message}}
		}
	}
	return w
}

func taskNotFound(id string) error {
	return &wire.Error{Code: wire.CodeTaskNotFound, Message: "There is no task with this id.", Metadata: map[string]string{"taskId": mapping.ToText(id)}}
}

func invalidParams(field, format string, args ...any) error {
	e := mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, format, args...)
	return &wire.Error{Code: wire.CodeInvalidParams, Message: field + " " + e.Message + ".", Violations: []wire.Violation{{Field: field, Description: e.Message}}}
}

func unsupported(task *mapping.Task, format string, args ...any) error {
	e := mapping.Errorf(mapping.Conflict, mapping.CodeNotSupported, format, args...)
	return &wire.Error{Code: wire.CodeUnsupportedOperation, Message: e.Message, Metadata: map[string]string{"taskId": task.ID, "state": string(states[task.Status])}}
}

// Refusal returns the body of an error that occurs before the request reaches the face. Its version is not known then, so
// the body is that of 0.3, which has all members of 1.0.
func Refusal(e *mapping.Error) any {
	w := toWire(e)
	w.Status = adapter.Status(e.Class)
	return json.RawMessage(wire.AppendHTTPError(nil, wire.V03HTTP, w))
}
