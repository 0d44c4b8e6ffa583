package wire_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/google/go-cmp/cmp"
)

// The paths of S 5.3 and 11.3, and of 0.3 below /v1.
func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request string
		want    wire.Target
		allow   string
	}{
		{"POST /message:send", wire.Target{Method: wire.MethodSendMessage, Version: wire.V1}, ""},
		{"POST /message:stream", wire.Target{Method: wire.MethodSendStreamingMessage, Version: wire.V1}, ""},
		{"GET /tasks", wire.Target{Method: wire.MethodListTasks, Version: wire.V1}, ""},
		{"GET /tasks/t", wire.Target{Method: wire.MethodGetTask, Version: wire.V1, TaskID: "t"}, ""},
		{"HEAD /tasks/t", wire.Target{Method: wire.MethodGetTask, Version: wire.V1, TaskID: "t"}, ""},
		{"GET /tasks/a%2Fb", wire.Target{Method: wire.MethodGetTask, Version: wire.V1, TaskID: "a/b"}, ""},
		{"GET /tasks/a:b", wire.Target{Method: wire.MethodGetTask, Version: wire.V1, TaskID: "a:b"}, ""},
		{"POST /tasks/a:b:cancel", wire.Target{Method: wire.MethodCancelTask, Version: wire.V1, TaskID: "a:b"}, ""},
		{"GET /tasks/a%3Acancel", wire.Target{Method: wire.MethodGetTask, Version: wire.V1, TaskID: "a:cancel"}, ""},
		{"POST /tasks/a%3Acancel:cancel", wire.Target{Method: wire.MethodCancelTask, Version: wire.V1, TaskID: "a:cancel"}, ""},
		{"GET /tasks/t:subscribe", wire.Target{Method: wire.MethodSubscribeToTask, Version: wire.V1, TaskID: "t"}, ""},  // a2a.proto
		{"POST /tasks/t:subscribe", wire.Target{Method: wire.MethodSubscribeToTask, Version: wire.V1, TaskID: "t"}, ""}, // S 11.3.2
		{"POST /tasks/t/pushNotificationConfigs", wire.Target{Method: wire.MethodCreatePushConfig, Version: wire.V1, TaskID: "t"}, ""},
		{"GET /tasks/t/pushNotificationConfigs", wire.Target{Method: wire.MethodListPushConfigs, Version: wire.V1, TaskID: "t"}, ""},
		{"GET /tasks/t/pushNotificationConfigs/p%2F1", wire.Target{Method: wire.MethodGetPushConfig, Version: wire.V1, TaskID: "t", ConfigID: "p/1"}, ""},
		{"DELETE /tasks/t/pushNotificationConfigs/p", wire.Target{Method: wire.MethodDeletePushConfig, Version: wire.V1, TaskID: "t", ConfigID: "p"}, ""},
		{"GET /extendedAgentCard", wire.Target{Method: wire.MethodGetExtendedAgentCard, Version: wire.V1}, ""},
		{"POST /v1/message:send", wire.Target{Method: wire.MethodSendMessage, Version: wire.V03HTTP}, ""},
		{"POST /v1/tasks/t:subscribe", wire.Target{Method: wire.MethodSubscribeToTask, Version: wire.V03HTTP, TaskID: "t"}, ""},
		{"GET /v1/card", wire.Target{Method: wire.MethodGetExtendedAgentCard, Version: wire.V03HTTP}, ""},
		{"GET /v1/extendedAgentCard", wire.Target{}, ""},
		{"GET /card", wire.Target{}, ""},
		{"GET /message:send", wire.Target{}, "POST"},
		{"DELETE /tasks/t", wire.Target{}, "GET"},
		{"GET /tasks/t:cancel", wire.Target{}, "POST"},
		{"HEAD /tasks/t:subscribe", wire.Target{}, "GET, POST"},
		{"PUT /tasks/t/pushNotificationConfigs/p", wire.Target{}, "GET, DELETE"},
		{"GET /tasks/", wire.Target{}, ""},
		{"POST /tasks/:cancel", wire.Target{}, "GET"}, // a task named ":cancel", which cannot be posted to
		{"GET /tasks/t/", wire.Target{}, ""},
		{"GET /tasks/t/other", wire.Target{}, ""},
		{"GET /tasks/t/pushNotificationConfigs/", wire.Target{}, ""},
		{"GET /tasks/t/pushNotificationConfigs/p/q", wire.Target{}, ""},
		{"GET /tasks/%zz", wire.Target{}, ""},
		{"POST /acme/message:send", wire.Target{}, ""}, // a tenant; we declare none
		{"GET /", wire.Target{}, ""},
		{"GET ", wire.Target{}, ""},
		{"GET /v1", wire.Target{}, ""},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		got, allow, found := wire.Match(method, path)
		if c.want.Method == "" {
			c.want.Version = wire.V1
			if strings.HasPrefix(path, "/v1/") {
				c.want.Version = wire.V03HTTP
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || allow != c.allow || found != (c.want.Method != "") {
			t.Errorf("%s: allow %q, found %v (-want +got):\n%s", c.request, allow, found, diff)
		}
	}
}

// A path that is written means the same when it is read, whatever the ids are.
func TestPathsOfAnyID(t *testing.T) {
	t.Parallel()
	methods := []wire.Method{
		wire.MethodSendMessage, wire.MethodSendStreamingMessage, wire.MethodGetTask, wire.MethodListTasks, wire.MethodCancelTask, wire.MethodSubscribeToTask,
		wire.MethodCreatePushConfig, wire.MethodGetPushConfig, wire.MethodListPushConfigs, wire.MethodDeletePushConfig, wire.MethodGetExtendedAgentCard,
	}
	for _, id := range []string{"t", "a/b", "a:b", "a:cancel", ":subscribe", "..", ".", "a b+c", "é%2F", "?x=#y", "tasks", strings.Repeat("x", 300)} {
		for _, v := range []wire.Version{wire.V1, wire.V03HTTP} {
			for _, m := range methods {
				verb, path := wire.Path(v, m, id, id)
				u, err := url.Parse("http://h.example/base" + path)
				if err != nil {
					t.Fatal(err)
				}
				if u = u.JoinPath(); strings.Contains(u.EscapedPath(), "/../") || u.RawQuery != "" || u.Fragment != "" {
					t.Errorf("%q becomes %s", id, u)
				}
				got, _, found := wire.Match(verb, strings.TrimPrefix(u.EscapedPath(), "/base"))
				if !found || got.Method != m || got.Version != v || got.TaskID != "" && got.TaskID != id || got.ConfigID != "" && got.ConfigID != id {
					t.Errorf("%s of %q is %s %s, read as %+v", m, id, verb, path, got)
				}
			}
		}
	}
}

// Query parameters are camelCase (S 11.5).
func TestQueries(t *testing.T) {
	t.Parallel()
	n := 3
	at := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		target        wire.Target
		request, into any
		query         string
	}{
		{wire.Target{TaskID: "t"}, &wire.GetTaskRequest{ID: "t", HistoryLength: &n}, new(wire.GetTaskRequest), "historyLength=3"},
		{wire.Target{TaskID: "t"}, &wire.GetTaskRequest{ID: "t"}, new(wire.GetTaskRequest), ""},
		{wire.Target{}, &wire.ListTasksRequest{ContextID: "c&d", Status: wire.StateWorking, PageSize: &n, PageToken: "p", HistoryLength: &n, StatusTimestampAfter: at, IncludeArtifacts: true},
			new(wire.ListTasksRequest), "contextId=c%26d&historyLength=3&includeArtifacts=true&pageSize=3&pageToken=p&status=TASK_STATE_WORKING&statusTimestampAfter=2026-11-28T10%3A00%3A00.000Z"},
		{wire.Target{TaskID: "t"}, &wire.ListTaskPushNotificationConfigsRequest{TaskID: "t", PageSize: &n}, new(wire.ListTaskPushNotificationConfigsRequest), "pageSize=3"},
		{wire.Target{TaskID: "t", ConfigID: "p"}, &wire.DeleteTaskPushNotificationConfigRequest{TaskID: "t", ID: "p"}, new(wire.DeleteTaskPushNotificationConfigRequest), ""},
		{wire.Target{}, &wire.GetExtendedAgentCardRequest{Tenant: "x"}, new(wire.GetExtendedAgentCardRequest), "tenant=x"},
	} {
		q := wire.Query(c.request)
		if q.Encode() != c.query {
			t.Errorf("the query of %+v is %s", c.request, q.Encode())
		}
		c.target.Version = wire.V1
		if err := strict.ReadQuery(c.target, q, c.into); err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(c.request, c.into); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
	}
}

func TestReadQueries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, field string // field: the refused one
		version      wire.Version
		want         func(*wire.ListTasksRequest) bool
	}{
		{query: "page_size=5&history_length=0", want: func(l *wire.ListTasksRequest) bool { return *l.PageSize == 5 && *l.HistoryLength == 0 }},
		{query: "status=2&other=1", want: func(l *wire.ListTasksRequest) bool { return l.Status == wire.StateWorking }},
		{query: "status=input-required", want: func(l *wire.ListTasksRequest) bool { return l.Status == wire.StateInputRequired }},
		{query: "statusTimestampAfter=2026-11-28T12:00:00+02:00", want: func(l *wire.ListTasksRequest) bool { return l.StatusTimestampAfter.UTC().Hour() == 10 }},
		{query: "lastUpdatedAfter=2026-11-28T12:00:00Z", version: wire.V03HTTP, want: func(l *wire.ListTasksRequest) bool { return !l.StatusTimestampAfter.IsZero() }},
		{query: "pageSize=", want: func(l *wire.ListTasksRequest) bool { return l.PageSize == nil }},
		{query: "pageSize=0", field: "pageSize"},
		{query: "pageSize=101", field: "pageSize"},
		{query: "pageSize=x", field: "pageSize"},
		{query: "historyLength=-1", field: "historyLength"},
		{query: "status=busy", field: "status"},
		{query: "includeArtifacts=maybe", field: "includeArtifacts"},
		{query: "statusTimestampAfter=soon", field: "statusTimestampAfter"},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		var l wire.ListTasksRequest
		err = strict.ReadQuery(wire.Target{Version: max(c.version, wire.V1)}, q, &l)
		if c.field != "" {
			if e := errorOf(err); e.Code != wire.CodeInvalidParams || len(e.Violations) != 1 || e.Violations[0].Field != c.field {
				t.Errorf("%s: %v", c.query, err)
			}
		} else if err != nil || !c.want(&l) {
			t.Errorf("%s: %+v, %v", c.query, l, err)
		}
	}
}

// The id of a task stands in the path; CancelTask and SubscribeToTask may have no body at all.
func TestBodies(t *testing.T) {
	t.Parallel()
	target := wire.Target{Version: wire.V1, TaskID: "t"}
	for body, ok := range map[string]bool{"": true, " ": true, "null": true, "{}": true, `{"id":"t"}`: true, `{"metadata":{"a":1}}`: true, `{"id":"u"}`: false, "[]": false, "{": false} {
		var c wire.CancelTaskRequest
		if err := strict.Body(target, []byte(body), &c); (err == nil) != ok || ok && c.ID != "t" {
			t.Errorf("%q: %+v, %v", body, c, err)
		}
	}
	for body, ok := range map[string]bool{`{"url":"https://h.example"}`: true, `{"taskId":"t","url":"https://h.example"}`: true, `{"taskId":"u","url":"https://h.example"}`: false, ``: false} {
		var p wire.TaskPushNotificationConfig
		if err := strict.Body(target, []byte(body), &p); (err == nil) != ok || ok && p.TaskID != "t" {
			t.Errorf("%q: %+v, %v", body, p, err)
		}
	}
	var s wire.SendMessageRequest
	if err := strict.Body(wire.Target{Version: wire.V1}, nil, &s); codeOf(err) != wire.CodeInvalidParams {
		t.Errorf("no body: %v", err)
	}
}
