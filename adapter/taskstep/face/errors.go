package face

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
)

// fail responds with err as JSON and logs causes that the client does not see.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known *mapping.Error
	if r.Context().Err() != nil && !errors.As(err, &known) {
		if err = adapter.Stopping(r.Context()); err == nil {
			w.WriteHeader(adapter.StatusClientGone)
			return
		}
	}
	e := classify(err)
	s.face.CountFailed(e)
	s.logCause(w, r, e)
	adapter.SetRetryAfter(w.Header(), e)
	if e.Class == mapping.TooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	status := s.style.status(e.Class)
	if e.Code == mapping.CodeKeyReused {
		status = http.StatusUnprocessableEntity // in every style, because only the key is wrong
	}
	_ = send(w, status, errorBody(e))
}

// logCause logs an error that is not the client's fault, if the client does not see its cause.
func (s *server) logCause(w http.ResponseWriter, r *http.Request, e *mapping.Error) {
	if e.Class == mapping.Internal || e.Err != nil && adapter.Status(e.Class) >= http.StatusInternalServerError {
		s.logFailure(w, r, e)
	}
}

func (s *server) logFailure(w http.ResponseWriter, r *http.Request, e *mapping.Error) {
	s.face.LogFailed(s.face.Log, e, zap.String("route", routeOf(r)), zap.String("code", e.Code),
		zap.String("request_id", w.Header().Get("X-Request-Id")), zap.Error(e))
}

// classify is mapping.Classify with the timeout of a step.
func classify(err error) *mapping.Error {
	var known *mapping.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return &mapping.Error{Class: mapping.Timeout, Code: mapping.CodeStepTimeout,
			Message: "The response did not arrive in time.", Err: err}
	}
	return mapping.Classify(err)
}

// status returns the HTTP status for a class. The documents define 404 and a single status for all invalid requests,
// which is 422 in v1 and 400 in the Topic RFC.
func (s style) status(c mapping.Class) int {
	if c == mapping.Invalid || c == mapping.Malformed {
		return s.invalid
	}
	return adapter.Status(c)
}

// Refusal returns the body of an error that occurs before the request reaches the face. SDKs of the Agent Protocol v1
// read {"message"}; the code is an addition.
func Refusal(e *mapping.Error) any {
	return struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	}{e.Message, e.Code}
}

// errorBody returns {"message"} for 404, as the document's NotFound, and for 405. Other errors are {"message", "code",
// "detail"}; the document allows any object there.
func errorBody(e *mapping.Error) []byte {
	if e.Class == mapping.NotFound || e.Class == mapping.NotAllowed {
		return new(rawjson.Writer).Open('{').Key("message").Text(messageOf(e)).Close('}').Bytes
	}
	return streamError(e)
}

// streamError returns an error within a stream. It always contains the code, because there is no status.
func streamError(e *mapping.Error) []byte {
	w := new(rawjson.Writer).Open('{').Key("message").Text(messageOf(e)).Key("code").Text(e.Code)
	if e.Detail != nil {
		if detail, err := json.Marshal(e.Detail); err == nil {
			w.Key("detail").Raw(detail, "null")
		}
	}
	return w.Close('}').Bytes
}

// messageOf returns the message of an error for clients that know tasks and steps but neither threads nor runs.
func messageOf(e *mapping.Error) string {
	switch d := e.Detail.(type) {
	case mapping.Busy:
		return fmt.Sprintf("The task has to wait for %s. Try again later, cancel that run, or send additional_input.multitask_strategy enqueue, interrupt or rollback.", d)
	case mapping.BadStrategy:
		return "additional_input." + e.Message
	case mapping.NothingPending:
		if len(d.Pending) == 0 {
			return "There is no open question for additional_input.resume to answer. Send input instead."
		}
		return fmt.Sprintf("The task waits for other answers only. Open: %s.", strings.Join(d.Pending, ", "))
	}
	return e.Message
}

// problem is one fault of a request, in the form that FastAPI servers of this protocol send in "detail".
type problem struct {
	Loc []string `json:"loc"` // body, query or header, then the field
	Msg string   `json:"msg"`
}

// invalid returns an error about a field. The parameter what completes the sentence "<field> must be …".
func invalid(where, field, what string) *mapping.Error {
	e := mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s must be %s.", field, what)
	e.Detail = []problem{{Loc: []string{where, field}, Msg: "must be " + what}}
	return e
}

func malformed(format string, args ...any) *mapping.Error {
	return mapping.Errorf(mapping.Malformed, mapping.CodeInvalid, format, args...)
}
