package wire_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The table of S 5.4.
var errorTable = []struct {
	code         wire.Code
	status       int
	word, reason string
}{
	{wire.CodeParse, 400, "INVALID_ARGUMENT", ""},
	{wire.CodeInvalidRequest, 400, "INVALID_ARGUMENT", ""},
	{wire.CodeMethodNotFound, 404, "UNIMPLEMENTED", ""},
	{wire.CodeInvalidParams, 400, "INVALID_ARGUMENT", ""},
	{wire.CodeInternal, 500, "INTERNAL", ""},
	{-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"},
	{-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"},
	{-32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	{-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"},
	{-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"},
	{-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"},
	{-32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	{-32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"},
	{-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"},
}

// Every error is written and read back in every version and binding.
func TestErrorsInEveryBinding(t *testing.T) {
	t.Parallel()
	for _, c := range errorTable {
		e := &wire.Error{Code: c.code, Message: "It did not work."}
		if c.reason != "" {
			e.Metadata = map[string]string{"taskId": "t"}
		}
		if c.code == wire.CodeInvalidParams {
			e.Violations = []wire.Violation{{Field: "message.parts", Description: "must have at least one part"}}
		}
		if e.HTTPStatus() != c.status || e.Reason() != c.reason {
			t.Errorf("%d: status %d, reason %q", c.code, e.HTTPStatus(), e.Reason())
		}
		var http struct {
			Error struct {
				Code            int
				Status, Message string
				Details         []map[string]any
			}
		}
		body := wire.AppendHTTPError(nil, wire.V1, e)
		if err := json.Unmarshal(body, &http); err != nil {
			t.Fatal(err)
		}
		if h := http.Error; h.Code != c.status || h.Status != c.word || h.Message != e.Message {
			t.Errorf("%d over HTTP is %s", c.code, body)
		}
		if c.reason != "" { // S 9.5, 11.6
			want := map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": c.reason, "domain": "a2a-protocol.org", "metadata": map[string]any{"taskId": "t"}}
			if diff := cmp.Diff([]map[string]any{want}, http.Error.Details); diff != "" {
				t.Errorf("%d: details (-want +got):\n%s", c.code, diff)
			}
		}
		rpc := wire.AppendError(nil, wire.ID("1"), e)
		_, fromRPC := lenient.Response(rpc)
		fromHTTP := lenient.HTTPError(c.status, body)
		fromLegacy := lenient.HTTPError(c.status, wire.AppendHTTPError(nil, wire.V03HTTP, e))
		want := *e
		for name, got := range map[string]error{"JSON-RPC": fromRPC, "HTTP+JSON": fromHTTP, "0.3 HTTP+JSON": fromLegacy} {
			want.Status, want.Code = c.status, c.code
			if name == "JSON-RPC" {
				want.Status = 0
			}
			if name == "HTTP+JSON" && c.reason == "" {
				want.Code = map[int]wire.Code{400: wire.CodeInvalidParams, 404: wire.CodeMethodNotFound, 500: wire.CodeInternal}[c.status]
			}
			if diff := cmp.Diff(&want, errorOf(got), cmpopts.IgnoreFields(wire.Error{}, "Details")); diff != "" {
				t.Errorf("%d over %s (-want +got):\n%s", c.code, name, diff)
			}
		}
	}
}

// A refusal before the call is read has a status of its own (S 11.6).
func TestErrorsWithAStatus(t *testing.T) {
	t.Parallel()
	for status, word := range map[int]string{
		401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 413: "INVALID_ARGUMENT", 415: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED",
		501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 418: "FAILED_PRECONDITION", 507: "INTERNAL",
	} {
		body := wire.AppendHTTPError(nil, wire.V1, &wire.Error{Code: wire.CodeInvalidRequest, Status: status, Message: "No."})
		inner := rawjson.Get(body, "error")
		if rawjson.GetText(inner, "status") != word || rawjson.ScalarText(rawjson.Get(inner, "code")) != itoa(status) {
			t.Errorf("%d is %s", status, body)
		}
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// Errors of servers as they are found (section 7 of the specification, and what servers send instead).
func TestReadErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		status     int
		code       wire.Code
		message    string
	}{
		{"reason before code", `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org"}]}}`, 400, wire.CodeTaskNotCancelable, "m"},
		{"foreign domain", `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"example.com"}]}}`, 400, wire.CodeInvalidParams, "m"},
		{"unknown reason", `{"error":{"code":404,"status":"NOT_FOUND","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"OTHER","domain":"a2a-protocol.org"}]}}`, 404, wire.CodeTaskNotFound, "m"},
		{"code of JSON-RPC over HTTP", `{"error":{"code":-32001,"message":"m"}}`, 404, wire.CodeTaskNotFound, "m"},
		{"bare, as in 0.3", `{"code":-32004,"message":"m","data":{"x":1}}`, 400, wire.CodeUnsupportedOperation, "m"},
		{"details that are one object", `{"error":{"code":400,"message":"m","details":{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org"}}}`, 400, wire.CodeVersionNotSupported, "m"},
		{"text", `{"error":"m"}`, 401, wire.CodeInternal, "m"},
		{"no message", `{"error":{"code":-32603}}`, 500, wire.CodeInternal, "The agent gave no message."},
		{"FastAPI", `{"detail":"Not Found"}`, 404, wire.CodeMethodNotFound, "The agent answered with HTTP status 404."},
		{"page", `<html>`, 502, wire.CodeInternal, "The agent answered with HTTP status 502."},
		{"nothing", ``, 405, wire.CodeMethodNotFound, "The agent answered with HTTP status 405."},
		{"media type", ``, 415, wire.CodeContentTypeNotSupported, "The agent answered with HTTP status 415."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := lenient.HTTPError(c.status, []byte(c.body))
			if e.Code != c.code || e.Message != c.message || e.Status != c.status {
				t.Errorf("%d %q with status %d", e.Code, e.Message, e.Status)
			}
		})
	}
	_, err := lenient.Response([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"own","data":"anything"}}`))
	if e := errorOf(err); e.Code != -32050 || string(e.Details) != `"anything"` || e.HTTPStatus() != 500 {
		t.Errorf("%+v", e)
	}
}

// errorOf returns the protocol's error in the chain of err, or an empty one.
func errorOf(err error) *wire.Error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	return &wire.Error{}
}
