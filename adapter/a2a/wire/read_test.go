package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

var (
	strict  = wire.NewReader(wire.Limits{})
	lenient = wire.NewLenientReader(wire.Limits{})
)

// asV1 reads raw into a new value and returns it as 1.0.
func asV1(t *testing.T, r *wire.Reader, v wire.Version, typ, raw string) (string, error) {
	t.Helper()
	value := newValue(t, typ)
	if err := r.Read(v, []byte(raw), value); err != nil {
		return "", err
	}
	got, err := wire.Append(nil, wire.V1, value)
	if err != nil {
		t.Errorf("%s: %v", raw, err)
	}
	return string(got), nil
}

const message = `"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]`

// What a conforming reader takes (S 5.5, 5.7), in requests and answers.
func TestReadLiberally(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, typ, raw, want string
		version              wire.Version // 0: V1
	}{
		{name: "snake_case", typ: "Message", raw: `{"message_id":"m","context_id":"c","task_id":"t","role":"ROLE_USER","parts":[{"text":"x","media_type":"text/plain"}],"reference_task_ids":["r"]}`,
			want: `{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"text":"x","mediaType":"text/plain"}],"referenceTaskIds":["r"]}`},
		{name: "enum numbers", typ: "Task", raw: `{"id":"t","status":{"state":6,"message":{"messageId":"m","role":2,"parts":[{"text":"x"}]}}}`,
			want: `{"id":"t","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}}`},
		{name: "names of 0.3", typ: "Task", raw: `{"kind":"task","id":"t","status":{"state":"input-required"}}`, want: `{"id":"t","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}`},
		{name: "unspecified", typ: "Task", raw: `{"id":"t","status":{"state":"unknown"}}`, want: `{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED"}}`},
		{name: "base64url without padding", typ: "Message", raw: `{"messageId":"m","role":"user","parts":[{"raw":"-_8"},{"raw":"+/8="},{"raw":""}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"+/8="},{"raw":"+/8="},{"raw":""}]}`},
		{name: "offset", typ: "Task", raw: `{"id":"t","status":{"state":2,"timestamp":"2026-11-28T12:00:00.5+02:00"}}`, want: `{"id":"t","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-11-28T10:00:00.500Z"}}`},
		{name: "time without zone", typ: "Task", raw: `{"id":"t","status":{"state":2,"timestamp":"2026-11-28T10:00:00.123456"}}`, want: `{"id":"t","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-11-28T10:00:00.123Z"}}`},
		{name: "numbers in strings", typ: "GetTaskRequest", raw: `{"id":"t","historyLength":"3"}`, want: `{"id":"t","historyLength":3}`},
		{name: "integers with a point", typ: "GetTaskRequest", raw: `{"id":"t","historyLength":3.0}`, want: `{"id":"t","historyLength":3}`},
		{name: "null is absence", typ: "Message", raw: `{"messageId":"m","contextId":null,"role":"ROLE_USER","parts":[{"text":"x","metadata":null,"filename":null}],"metadata":null,"extensions":null}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}`},
		{name: "null as data", typ: "Message", raw: `{"messageId":"m","role":1,"parts":[{"data":null}]}`, want: `{"messageId":"m","role":"ROLE_USER","parts":[{"data":null}]}`},
		{name: "null beside text", typ: "Message", raw: `{"messageId":"m","role":1,"parts":[{"text":"x","raw":null,"url":null,"data":null}]}`, want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}`},
		{name: "unknown members", typ: "SendMessageRequest", raw: `{"message":{` + message + `,"x":1},"configuration":{"historyScope":"context"},"y":{}}`, want: `{"message":{` + message + `},"configuration":{}}`},
		{name: "mimeType", typ: "Message", raw: `{"messageId":"m","role":1,"parts":[{"raw":"aA==","mimeType":"image/png"}]}`, want: `{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"aA==","mediaType":"image/png"}]}`},
		{name: "parts of 0.3", typ: "Message", raw: `{"messageId":"m","role":1,"parts":[{"kind":"file","file":{"uri":"http://f","name":"n","mimeType":"t/t"}}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"url":"http://f","filename":"n","mediaType":"t/t"}]}`},
		// A client that sends blocking to 1.0 would wait for ever.
		{name: "blocking in 1.0", typ: "SendMessageRequest", raw: `{"message":{` + message + `},"configuration":{"blocking":false}}`, want: `{"message":{` + message + `},"configuration":{"returnImmediately":true}}`},
		{name: "blocking true in 1.0", typ: "SendMessageRequest", raw: `{"message":{` + message + `},"configuration":{"blocking":true}}`, want: `{"message":{` + message + `},"configuration":{}}`},
		// V3, MessageSendConfiguration: the default of blocking is false.
		{name: "no configuration in 0.3", typ: "SendMessageRequest", version: wire.V03, raw: `{"message":{` + message + `}}`, want: `{"message":{` + message + `},"configuration":{"returnImmediately":true}}`},
		{name: "no blocking in 0.3", typ: "SendMessageRequest", version: wire.V03, raw: `{"message":{` + message + `},"configuration":{}}`, want: `{"message":{` + message + `},"configuration":{"returnImmediately":true}}`},
		{name: "0 is unset in 0.3's proto", typ: "SendMessageRequest", version: wire.V03HTTP, raw: `{"message":{` + message + `},"configuration":{"historyLength":0,"blocking":true}}`, want: `{"message":{` + message + `},"configuration":{}}`},
		{name: "marked data is data in 1.0", typ: "Message", raw: `{"messageId":"m","role":1,"parts":[{"data":{"value":1},"metadata":{"data_part_compat":true}}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"value":1},"metadata":{"data_part_compat":true}}]}`},
		{name: "create message of 0.3's proto", typ: "TaskPushNotificationConfig", version: wire.V03HTTP,
			raw:  `{"parent":"tasks/t","configId":"p","config":{"name":"x","pushNotificationConfig":{"url":"https://h.example","authentication":{"schemes":["basic"]}}}}`,
			want: `{"id":"p","taskId":"t","url":"https://h.example","authentication":{"scheme":"basic"}}`},
		{name: "an empty authentication is none", typ: "TaskPushNotificationConfig", raw: `{"taskId":"t","url":"https://h.example","authentication":{}}`,
			want: `{"taskId":"t","url":"https://h.example"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := max(c.version, wire.V1)
			for _, r := range []*wire.Reader{strict, lenient} {
				got, err := asV1(t, r, v, c.typ, c.raw)
				if err != nil {
					t.Error(err)
				} else if !rawjson.Equal([]byte(got), []byte(c.want)) {
					t.Errorf("\n got %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

// What only answers of agents may have.
func TestReadAnswersLeniently(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, typ, raw, want string }{
		{"flat status event", "StreamResponse", `{"taskId":"t","contextId":"c","status":{"state":"working"},"final":false}`, `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`},
		{"flat artifact event", "StreamResponse", `{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}`, `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`},
		{"flat task", "StreamResponse", `{"id":"t","status":{"state":"working"}}`, `{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}`},
		{"flat message", "SendMessageResponse", `{"messageId":"m","role":"agent","parts":[{"text":"x"}]}`, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`},
		{"a kind within the wrapper", "StreamResponse", `{"kind":"status-update","statusUpdate":{"kind":"status-update","taskId":"t","contextId":"","status":{"state":3},"final":true}}`, `{"statusUpdate":{"taskId":"t","contextId":"","status":{"state":"TASK_STATE_COMPLETED"}}}`},
		{"null beside the event", "StreamResponse", `{"task":null,"message":{"messageId":"m","role":2,"parts":[{"text":"x"}]}}`, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`},
		{"msg of 0.3's proto", "StreamResponse", `{"msg":{"messageId":"m","role":2,"content":[{"text":"x"}]}}`, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`},
		{"unknown state", "Task", `{"id":"t","status":{"state":"TASK_STATE_PONDERING"}}`, `{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED"}}`},
		{"unreadable time", "Task", `{"id":"t","status":{"state":2,"timestamp":"yesterday"}}`, `{"id":"t","status":{"state":"TASK_STATE_WORKING"}}`},
		{"no status", "Task", `{"id":"t"}`, `{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED"}}`},
		{"a part without content", "Message", `{"messageId":"m","role":2,"parts":[{},{"kind":"text"},{"text":"x"},null]}`, `{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}`},
		{"a part with two contents", "Message", `{"messageId":"m","role":2,"parts":[{"kind":"data","text":"x","data":{"a":1}}]}`, `{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":{"a":1}}]}`},
		{"a name twice", "Message", `{"messageId":"l","messageId":"m","role":2,"parts":[{"text":"x"}]}`, `{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := asV1(t, lenient, wire.V1, c.typ, c.raw)
			if err != nil {
				t.Error(err)
			} else if !rawjson.Equal([]byte(got), []byte(c.want)) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
	// Status messages without parts crash readers elsewhere.
	for _, raw := range []string{`{"id":"t","status":{"state":2,"message":{"messageId":"m","role":2}}}`, `{"id":"t","status":{"state":2,"message":{"parts":[]}}}`} {
		var task wire.Task
		if err := lenient.Read(wire.V1, []byte(raw), &task); err != nil || task.Status.Message == nil || len(task.Status.Message.Parts) != 0 {
			t.Errorf("%s: %+v, %v", raw, task, err)
		}
	}
}

// null is the answer to a deletion, and the list of nothing.
func TestNullAnswers(t *testing.T) {
	t.Parallel()
	for _, into := range []any{new(wire.Empty), new(wire.ListTaskPushNotificationConfigsResponse)} {
		if err := lenient.Read(wire.V03, []byte("null"), into); err != nil {
			t.Errorf("%T: %v", into, err)
		}
	}
}

// What an agent cannot mean is its own error, also for a lenient reader.
func TestAnswersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for typ, texts := range map[string][]string{
		"StreamResponse":      {``, `{`, `null`, `[]`, `{}`, `{"kind":"other"}`, `{"task":{"id":"t"},"message":{"messageId":"m"}}`, `{"task":3}`, `{"task":[]}`},
		"SendMessageResponse": {`{}`, `{"statusUpdate":{"taskId":"t"}}`},
		"Task":                {`null`, ` null `, `[]`, `"t"`, `{"id":7}`, `{"id":"t","artifacts":{}}`, `{"id":"t","metadata":"x"}`, `{"id":"t","history":[{"parts":[{"text":{}}]}]}`},
	} {
		for _, raw := range texts {
			if err := lenient.Read(wire.V1, []byte(raw), newValue(t, typ)); codeOf(err) != wire.CodeInvalidAgentResponse {
				t.Errorf("%s %s: %v", typ, raw, err)
			}
		}
	}
}

// Bad requests are refused by the name of the member, and the error repeats no value (S 9.5: BadRequest).
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	with := func(part string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + part + `]}}`
	}
	for _, c := range []struct {
		name, typ, raw, field string
		version               wire.Version
	}{
		{name: "no message", typ: "SendMessageRequest", raw: `{}`, field: "message"},
		{name: "null", typ: "SendMessageRequest", raw: `{"message":null}`, field: "message"},
		{name: "no messageId", typ: "SendMessageRequest", raw: `{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`, field: "message.messageId"},
		{name: "no role", typ: "SendMessageRequest", raw: `{"message":{"messageId":"m","parts":[{"text":"x"}]}}`, field: "message.role"},
		{name: "bad role", typ: "SendMessageRequest", raw: `{"message":{"messageId":"m","role":"secret","parts":[{"text":"x"}]}}`, field: "message.role"},
		{name: "no parts", typ: "SendMessageRequest", raw: `{"message":{"messageId":"m","role":"ROLE_USER"}}`, field: "message.parts"},
		{name: "empty parts", typ: "SendMessageRequest", raw: with(``), field: "message.parts"},
		{name: "part without content", typ: "SendMessageRequest", raw: with(`{"text":"secret"},{}`), field: "message.parts[1]"},
		{name: "part with two contents", typ: "SendMessageRequest", raw: with(`{"text":"secret","url":"secret"}`), field: "message.parts[0]"},
		{name: "part that is no object", typ: "SendMessageRequest", raw: with(`"secret"`), field: "message.parts[0]"},
		{name: "bad base64", typ: "SendMessageRequest", raw: with(`{"raw":"secret!"}`), field: "message.parts[0]"},
		{name: "text that is no text", typ: "SendMessageRequest", raw: with(`{"text":{"secret":1}}`), field: "message.parts[0].text"},
		{name: "metadata that is no object", typ: "SendMessageRequest", raw: `{"message":{` + message + `,"metadata":"secret"}}`, field: "message.metadata"},
		{name: "history below 0", typ: "SendMessageRequest", raw: `{"message":{` + message + `},"configuration":{"historyLength":-1}}`, field: "configuration.historyLength"},
		{name: "history that is no integer", typ: "SendMessageRequest", raw: `{"message":{` + message + `},"configuration":{"historyLength":1.5}}`, field: "configuration.historyLength"},
		{name: "push without URL", typ: "SendMessageRequest", raw: `{"message":{` + message + `},"configuration":{"taskPushNotificationConfig":{"token":"secret"}}}`, field: "configuration.taskPushNotificationConfig.url"},
		{name: "get without id", typ: "GetTaskRequest", raw: `{"historyLength":1}`, field: "id"},
		{name: "get with a number", typ: "GetTaskRequest", raw: `{"id":4711}`, field: "id"},
		{name: "page of 0", typ: "ListTasksRequest", raw: `{"pageSize":0}`, field: "pageSize"}, // S 3.1.4
		{name: "page of 101", typ: "ListTasksRequest", raw: `{"pageSize":101}`, field: "pageSize"},
		{name: "bad state", typ: "ListTasksRequest", raw: `{"status":"secret"}`, field: "status"},
		{name: "bad time", typ: "ListTasksRequest", raw: `{"statusTimestampAfter":"secret"}`, field: "statusTimestampAfter"},
		{name: "cancel nothing", typ: "CancelTaskRequest", raw: `{}`, field: "id"},
		{name: "subscribe to nothing", typ: "SubscribeToTaskRequest", raw: `{"id":""}`, field: "id"},
		{name: "push for no task", typ: "TaskPushNotificationConfig", raw: `{"url":"https://h.example"}`, field: "taskId"},
		{name: "push to a path", typ: "TaskPushNotificationConfig", raw: `{"taskId":"t","url":"/secret"}`, field: "url"},
		{name: "push to a file", typ: "TaskPushNotificationConfig", raw: `{"taskId":"t","url":"file:///secret"}`, field: "url"},
		{name: "push config with a slash", typ: "TaskPushNotificationConfig", raw: `{"taskId":"t","id":"secret/b:c","url":"https://h.example"}`, field: "id"},
		{name: "push config with dots", typ: "TaskPushNotificationConfig", raw: `{"taskId":"t","id":"..","url":"https://h.example"}`, field: "id"},
		{name: "push config with an encoded slash", typ: "TaskPushNotificationConfig", raw: `{"taskId":"t","id":"secret%2Fb","url":"https://h.example"}`, field: "id"},
		{name: "push config with a slash in 0.3 over HTTP", typ: "SendMessageRequest", version: wire.V03HTTP, raw: `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]},"configuration":{"pushNotification":{"id":"a/b","url":"https://h.example"}}}`, field: "configuration.pushNotification.id"},
		{name: "push without scheme", typ: "TaskPushNotificationConfig", raw: `{"taskId":"t","url":"https://h.example","authentication":{"credentials":"secret"}}`, field: "authentication.scheme"},
		{name: "push config without id", typ: "GetTaskPushNotificationConfigRequest", raw: `{"taskId":"t"}`, field: "id"},
		{name: "delete without id in 0.3", typ: "DeleteTaskPushNotificationConfigRequest", version: wire.V03, raw: `{"id":"t"}`, field: "pushNotificationConfigId"},
		{name: "push without URL in 0.3", typ: "TaskPushNotificationConfig", version: wire.V03, raw: `{"taskId":"t","pushNotificationConfig":{}}`, field: "pushNotificationConfig.url"},
		{name: "push without scheme in 0.3", typ: "TaskPushNotificationConfig", version: wire.V03, raw: `{"taskId":"t","pushNotificationConfig":{"url":"https://h.example","authentication":{"credentials":"secret"}}}`, field: "pushNotificationConfig.authentication.schemes"},
		{name: "push with a message in 0.3", typ: "SendMessageRequest", version: wire.V03, raw: `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]},"configuration":{"pushNotificationConfig":{"url":"secret"}}}`, field: "configuration.pushNotificationConfig.url"},
		{name: "push with a message in 0.3 over HTTP", typ: "SendMessageRequest", version: wire.V03HTTP, raw: `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]},"configuration":{"pushNotification":{"url":"secret"}}}`, field: "configuration.pushNotification.url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := strict.Read(max(c.version, wire.V1), []byte(c.raw), newValue(t, c.typ))
			e := errorOf(err)
			if e.Code != wire.CodeInvalidParams || len(e.Violations) != 1 || e.Violations[0].Field != c.field {
				t.Errorf("error %v, violations %v", err, e.Violations)
			}
			if strings.Contains(e.Message, "secret") || strings.Contains(e.Message, "4711") || !strings.HasPrefix(e.Message, c.field) {
				t.Errorf("the message is %q", e.Message)
			}
		})
	}
	for name, raw := range map[string]string{
		"no JSON": `{`, "a name twice": `{"message":{` + message + `,"role":"ROLE_USER"}}`, "two spellings of a name": `{"message":{` + message + `,"message_id":"n"}}`,
		"a name twice within metadata": `{"message":{` + message + `,"metadata":{"a":1,"a":2}}}`, "invalid UTF-8": "{\"message\":{" + message + ",\"contextId\":\"\xff\"}}",
		"a list": `[]`, "two values": `{"message":{` + message + `}} {}`,
	} {
		if err := strict.Read(wire.V1, []byte(raw), new(wire.SendMessageRequest)); codeOf(err) != wire.CodeInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Limits hold for requests and answers, carried JSON included.
func TestLimits(t *testing.T) {
	t.Parallel()
	list := func(n int, element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	request := func(members string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER",` + members + `}}`
	}
	l := wire.Limits{Bytes: 400, Depth: 8, Count: 5}
	for _, c := range []struct {
		name, raw string
		ok        bool
	}{
		{"parts", request(`"parts":` + list(5, `{"text":"x"}`)), true},
		{"too many parts", request(`"parts":` + list(6, `{"text":"x"}`)), false},
		{"too many empty parts", request(`"parts":` + list(6, `{}`)), false},
		{"too many extensions", request(`"parts":[{"text":"x"}],"extensions":` + list(6, `"e"`)), false},
		{"long data", request(`"parts":[{"data":` + list(50, `1`) + `}]`), true},
		{"deep", request(`"parts":[{"data":` + deep(4) + `}]`), true},
		{"too deep", request(`"parts":[{"data":` + deep(5) + `}]`), false},
		{"too long", request(`"parts":[{"text":"` + strings.Repeat("x", 400) + `"}]`), false},
	} {
		for _, r := range []*wire.Reader{wire.NewReader(l), wire.NewLenientReader(l)} {
			if err := r.Read(wire.V1, []byte(c.raw), new(wire.SendMessageRequest)); (err == nil) != c.ok {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	for _, raw := range []string{`{"id":"t","history":` + list(6, `{}`) + `}`, `{"id":"t","artifacts":` + list(6, `{}`) + `}`} {
		if err := wire.NewLenientReader(l).Read(wire.V1, []byte(raw), new(wire.Task)); err == nil {
			t.Errorf("%s is read", raw)
		}
	}
}

// Carried values keep their digits, escapes and order, in every version.
func TestBytesStayBytes(t *testing.T) {
	t.Parallel()
	const object = `{"z":1.50,"a":100000000000000000000001,"text":"\u00e9\/\ud800","n":{"e":1E+2}}`
	task := wire.Task{ID: "t", ContextID: "c", Status: wire.TaskStatus{State: wire.StateWorking}, Metadata: wire.Object(object),
		Artifacts: []wire.Artifact{{ArtifactID: "a", Parts: wire.Parts{wire.DataPart(json.RawMessage(object))}}}}
	for _, v := range []wire.Version{wire.V1, wire.V03, wire.V03HTTP} {
		raw, err := wire.Append(nil, v, task)
		if err != nil || strings.Count(string(raw), object) != 2 {
			t.Errorf("%s: %s, %v", v, raw, err)
		}
		var back wire.Task
		if err := lenient.Read(v, raw, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(task, back); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v, diff)
		}
	}
}

// S 5.6.1: times are UTC with Z and milliseconds.
func TestTimesAreWrittenInUTC(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 12, 0, 0, 1_999_999, time.FixedZone("", 7200))
	got, err := wire.Append(nil, wire.V1, wire.TaskStatus{State: wire.StateWorking, Timestamp: at})
	if want := `{"state":"TASK_STATE_WORKING","timestamp":"2026-11-28T10:00:00.001Z"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// What breaks the protocol is not written (S 5.7: parts have an element and exactly one content).
func TestInvalidValuesAreNotWritten(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"no parts":              wire.Message{MessageID: "m", Role: wire.RoleAgent},
		"artifact without part": wire.Artifact{ArtifactID: "a"},
		"part without content":  wire.Message{MessageID: "m", Parts: wire.Parts{{Filename: "x"}}},
		"data that is no JSON":  wire.Message{MessageID: "m", Parts: wire.Parts{wire.DataPart(json.RawMessage("{"))}},
		"metadata no JSON":      wire.Task{ID: "t", Metadata: wire.Object("x")},
	} {
		for _, v := range []wire.Version{wire.V1, wire.V03, wire.V03HTTP} {
			if got, err := wire.Append([]byte("before"), v, value); err == nil || string(got) != "before" {
				t.Errorf("%s in %s: %s, %v", name, v, got, err)
			}
		}
	}
}

// The last status event of a stream is final in 0.3, where a stream ends: at closing states but not at AUTH_REQUIRED.
func TestFinalFollowsFromTheState(t *testing.T) {
	t.Parallel()
	for state, want := range map[wire.TaskState]bool{
		wire.StateSubmitted: false, wire.StateWorking: false, wire.StateAuthRequired: false, wire.StateInputRequired: true,
		wire.StateCompleted: true, wire.StateFailed: true, wire.StateCanceled: true, wire.StateRejected: true,
	} {
		for _, v := range []wire.Version{wire.V03, wire.V03HTTP} {
			raw, err := wire.Append(nil, v, wire.StreamResponse{StatusUpdate: &wire.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: wire.TaskStatus{State: state}}})
			if err != nil {
				t.Fatal(err)
			}
			back, err := lenient.Event(v, raw)
			if err != nil || back.StatusUpdate == nil || back.StatusUpdate.Final != want || back.StatusUpdate.Status.State != state {
				t.Errorf("%s in %s: %s, %v", state, v, raw, err)
			}
		}
	}
}

// Cards of 0.3 and hybrid cards name their interfaces in several places.
func TestReadInterfacesOfCards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, want string }{
		{"1.0", `{"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, "u JSONRPC 1.0"},
		// a2a-python reads an interface without a version as 0.3.
		{"no version", `{"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC"}]}`, "u JSONRPC 0.3"},
		{"0.3", `{"protocolVersion":"0.3.0","url":"u","preferredTransport":"HTTP+JSON","additionalInterfaces":[{"url":"u","transport":"HTTP+JSON"},{"url":"w","transport":"JSONRPC"}]}`, "u HTTP+JSON 0.3.0, w JSONRPC 0.3.0"},
		{"0.2", `{"url":"u","version":"1"}`, "u JSONRPC 0.3"},
		{"hybrid", `{"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],"url":"u","protocolVersion":"0.3.0"}`, "u JSONRPC 1.0, u JSONRPC 0.3"},
		{"hybrid with legacy apart", `{"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"url":"w","protocolVersion":"0.3.0"}`, "u JSONRPC 1.0, w JSONRPC 0.3.0"},
		{"transport within 1.0", `{"supported_interfaces":[{"url":"u","transport":"JSONRPC","protocol_version":"1.0"}]}`, "u JSONRPC 1.0"},
		{"none", `{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var card wire.AgentCard
			if err := lenient.Read(wire.V1, []byte(c.raw), &card); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range card.SupportedInterfaces {
				got = append(got, f.URL+" "+f.ProtocolBinding+" "+f.ProtocolVersion)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("interfaces are %q", got)
			}
		})
	}
}
