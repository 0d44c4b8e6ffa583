package wire_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// S 9.1: JSON-RPC 2.0 with named parameters. Batches and notifications are refused.
func TestReadCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, raw, id string
		code          wire.Code
	}{
		{"number", `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"t"}}`, `7`, 0},
		{"string", ` {"jsonrpc":"2.0","id":"a","method":"GetTask","params":{"id":"t"}} `, `"a"`, 0},
		{"null", `{"jsonrpc":"2.0","id":null,"method":"GetTask","params":{"id":"t"}}`, `null`, 0},
		{"long number", `{"jsonrpc":"2.0","id":123456789012345678901,"method":"GetTask"}`, `123456789012345678901`, 0},
		{"fraction", `{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}`, `1.5`, 0},
		{"escapes", `{"jsonrpc":"2.0","id":"\u0061","method":"GetTask"}`, `"\u0061"`, 0},
		{"null params", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":null}`, `1`, 0},
		{"unknown members", `{"jsonrpc":"2.0","id":1,"method":"GetTask","extra":[]}`, `1`, 0},
		{"notification", `{"jsonrpc":"2.0","method":"GetTask","params":{"id":"t"}}`, `null`, wire.CodeInvalidRequest},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]`, `null`, wire.CodeInvalidRequest},
		{"empty batch", ` []`, `null`, wire.CodeInvalidRequest},
		{"text", `"x"`, `null`, wire.CodeInvalidRequest},
		{"no JSON", `{"jsonrpc":"2.0","id":1`, `null`, wire.CodeParse},
		{"nothing", ``, `null`, wire.CodeParse},
		{"two values", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}{}`, `null`, wire.CodeParse},
		{"byte order mark", "\xef\xbb\xbf{}", `null`, wire.CodeParse},
		{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}`, `null`, wire.CodeParse},
		{"id that is an object", `{"jsonrpc":"2.0","id":{},"method":"GetTask"}`, `null`, wire.CodeInvalidRequest},
		{"id that is true", `{"jsonrpc":"2.0","id":true,"method":"GetTask"}`, `null`, wire.CodeInvalidRequest},
		{"endless id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"GetTask"}`, `null`, wire.CodeInvalidRequest},
		{"version 1", `{"jsonrpc":"1.0","id":1,"method":"GetTask"}`, `1`, wire.CodeInvalidRequest},
		{"no version", `{"id":1,"method":"GetTask"}`, `1`, wire.CodeInvalidRequest},
		{"no method", `{"jsonrpc":"2.0","id":1}`, `1`, wire.CodeInvalidRequest},
		{"method that is a number", `{"jsonrpc":"2.0","id":1,"method":3}`, `1`, wire.CodeInvalidRequest},
		{"params by position", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["t"]}`, `1`, wire.CodeInvalidParams},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","id":"u"}}`, `null`, wire.CodeParse},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			call, err := strict.Call([]byte(c.raw))
			if codeOf(err) != c.code {
				t.Errorf("error %v", err)
			}
			if err == nil && call.Method != "GetTask" {
				t.Errorf("the method is %q", call.Method)
			}
			answer := wire.AppendError(nil, call.ID, errorOf(err))
			if !rawjson.Valid(answer) || string(rawjson.Get(answer, "id")) != c.id {
				t.Errorf("answered by %s", answer)
			}
		})
	}
}

func TestCallsWithinLimits(t *testing.T) {
	t.Parallel()
	r := wire.NewReader(wire.Limits{Bytes: 100, Depth: 3})
	for raw, ok := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"method":"M","params":{"a":{}}}`:                                true,
		`{"jsonrpc":"2.0","id":1,"method":"M","params":{"a":{"b":[1]}}}`:                         false,
		`{"jsonrpc":"2.0","id":1,"method":"M","params":{"a":"` + strings.Repeat("x", 60) + `"}}`: false,
	} {
		if call, err := r.Call([]byte(raw)); (err == nil) != ok || string(call.ID) != "1" {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// Absent parameters are an empty object: GetExtendedAgentCard has none.
func TestParams(t *testing.T) {
	t.Parallel()
	if err := strict.Params(wire.V1, wire.Call{}, new(wire.GetExtendedAgentCardRequest)); err != nil {
		t.Error(err)
	}
	if err := strict.Params(wire.V1, wire.Call{}, new(wire.GetTaskRequest)); codeOf(err) != wire.CodeInvalidParams {
		t.Error(err)
	}
	var g wire.GetTaskRequest
	if err := strict.Params(wire.V03, wire.Call{Params: []byte(`{"id":"t"}`)}, &g); err != nil || g.ID != "t" {
		t.Error(g, err)
	}
}

// Envelopes as both sides write them (S 9.1, 9.4; V3).
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	task := wire.SendMessageResponse{Task: &wire.Task{ID: "t", ContextID: "c", Status: wire.TaskStatus{State: wire.StateWorking}}}
	get := wire.GetTaskRequest{ID: "t"}
	for _, c := range []struct {
		write func() ([]byte, error)
		want  string
	}{
		{func() ([]byte, error) { return wire.AppendCall(nil, wire.V1, wire.ID("1"), wire.MethodGetTask, get) }, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`},
		{func() ([]byte, error) {
			return wire.AppendCall(nil, wire.V03, wire.ID(`"x"`), wire.MethodGetTask, &get)
		}, `{"jsonrpc":"2.0","id":"x","method":"tasks/get","params":{"id":"t"}}`},
		{func() ([]byte, error) {
			return wire.AppendCall(nil, wire.V03, wire.ID("1"), wire.MethodGetExtendedAgentCard, nil)
		}, `{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}`},
		{func() ([]byte, error) { return wire.AppendResult(nil, wire.V1, wire.ID("1"), task) }, `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}`},
		{func() ([]byte, error) { return wire.AppendResult(nil, wire.V03, nil, task) }, `{"jsonrpc":"2.0","id":null,"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}}`},
		{func() ([]byte, error) { return wire.AppendResult(nil, wire.V1, wire.ID("1"), wire.Empty{}) }, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{func() ([]byte, error) { return wire.AppendResult(nil, wire.V03, wire.ID("1"), wire.Empty{}) }, `{"jsonrpc":"2.0","id":1,"result":null}`},
	} {
		if got, err := c.write(); err != nil || string(got) != c.want {
			t.Errorf("\n got %s, %v\nwant %s", got, err, c.want)
		}
	}
	if got, err := wire.AppendCall(nil, wire.V03, wire.ID("1"), wire.MethodListTasks, wire.ListTasksRequest{}); err == nil {
		t.Errorf("0.3 has no list, but %s", got)
	}
}

// A frame of a stream is read in either binding and version (S 9.4.2, 11.7; V3).
func TestReadFrames(t *testing.T) {
	t.Parallel()
	const v1 = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`
	const v03 = `{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"final":false}`
	for _, c := range []struct {
		version wire.Version
		data    string
		code    wire.Code
	}{
		{wire.V1, v1, 0},
		{wire.V1, `{"jsonrpc":"2.0","id":1,"result":` + v1 + `}`, 0},
		{wire.V1, `{"jsonrpc":"2.0","id":1,"result":` + v03 + `}`, 0}, // LangGraph's /a2a
		{wire.V03, `{"jsonrpc":"2.0","id":"1","result":` + v03 + `}`, 0},
		{wire.V03HTTP, v1, 0},
		{wire.V1, `{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"x"}}`, wire.CodeUnsupportedOperation},
		{wire.V1, `{"error":{"code":404,"status":"NOT_FOUND","message":"x"}}`, wire.CodeTaskNotFound},
		{wire.V03HTTP, `{"code":-32001,"message":"x"}`, wire.CodeTaskNotFound},
		{wire.V1, `{"jsonrpc":"2.0","id":1,"result":null}`, wire.CodeInvalidAgentResponse},
		{wire.V1, `{"jsonrpc":"2.0","id":1}`, wire.CodeInvalidAgentResponse},
		{wire.V1, `[DONE]`, wire.CodeInvalidAgentResponse},
	} {
		event, err := lenient.Event(c.version, []byte(c.data))
		if codeOf(err) != c.code || c.code == 0 && (event.StatusUpdate == nil || event.StatusUpdate.Status.State != wire.StateWorking) {
			t.Errorf("%s %s: %+v, %v", c.version, c.data, event, err)
		}
	}
}

func TestResponse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"a": 1.0}}`:           `{"a": 1.0}`,
		`{"id":1,"result":null}`:                                 `null`,
		`{"jsonrpc":"2.0","id":null,"error":null,"result":[]}`:   `[]`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-1}}`:           "",
		`{"jsonrpc":"2.0","id":1}`:                               `null`, // a2a-go's answer to a deletion
		`{"id":1}`:                                               "",
		`{"jsonrpc":"2.0","id":1,"error":"no","result":"maybe"}`: "",
		`[]`: "",
		``:   "",
	} {
		got, err := lenient.Response([]byte(raw))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", raw, got, err)
		}
	}
}
