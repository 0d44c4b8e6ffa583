package a2a

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// receiver keeps the notifications that it gets.
type receiver struct {
	*httptest.Server
	got chan *http.Request
}

func receives(t *testing.T) receiver {
	t.Helper()
	r := receiver{got: make(chan *http.Request, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(jsonBody(body))
		r.got <- req
	}))
	t.Cleanup(r.Close)
	return r
}

type bodyReader struct{ rest []byte }

func jsonBody(b []byte) io.Reader { return &bodyReader{b} }

func (b *bodyReader) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (r receiver) next(t *testing.T) (*http.Request, map[string]any) {
	t.Helper()
	select {
	case req := <-r.got:
		var v map[string]any
		if err := json.NewDecoder(req.Body).Decode(&v); err != nil {
			t.Fatal(err)
		}
		return req, v
	case <-time.After(time.Minute):
		t.Fatal("no notification came")
		return nil, nil
	}
}

// TestPushNotifications checks that each change of a task's state is pushed in order, with the token and the credentials
// of the configuration, in the form of its version (a2a-java#810, a2a-python#585).
func TestPushNotifications(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	r := receives(t)
	c := client{b, "asks"}
	send := `{"message":{"messageId":"m-1","role":"ROLE_USER","contextId":"of my own","parts":[{"text":"hi"}]},"configuration":{"taskPushNotificationConfig":` +
		`{"id":"mine","url":"` + r.URL + `/hook","token":"a-token","authentication":{"scheme":"Bearer","credentials":"of-the-receiver"}}}}`
	task := c.call("SendMessage", send).Want(t, 200, "INPUT_REQUIRED").Text("result.task.id")
	c.call("SendMessage", message("m-2", "Friday", `,"taskId":"`+task+`"`)).Want(t, 200, "COMPLETED")
	var states []string
	for {
		req, v := r.next(t)
		for name, want := range map[string]string{
			"X-A2a-Notification-Token": "a-token", "A2a-Notification-Token": "a-token", "Authorization": "Bearer of-the-receiver", "Content-Type": "application/a2a+json", "A2a-Version": "1.0",
		} {
			if got := req.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if req.Header.Get("X-Apbridge-Delivery") == "" {
			t.Error("a delivery has no id")
		}
		one := rig.Dig(v, "statusUpdate")
		id := rig.Dig(one, "taskId")
		if one == nil {
			one = rig.Dig(v, "task")
			id = rig.Dig(one, "id")
		}
		if id != task || rig.Dig(one, "contextId") != "of my own" {
			t.Errorf("a notification is of task %v of context %v: %v", id, rig.Dig(one, "contextId"), v)
		}
		state := rig.TextOf(rig.Dig(one, "status.state"))
		states = append(states, state)
		if state == "TASK_STATE_INPUT_REQUIRED" && rig.Dig(one, "status.message.parts.0.text") != "Which day?" {
			t.Errorf("the question is pushed as %v", one)
		}
		if state == "TASK_STATE_COMPLETED" {
			if got := rig.Dig(one, "artifacts.0.parts.0.text"); got != "Friday it is." {
				t.Errorf("the answer is pushed as %v", v)
			}
			break
		}
	}
	want := []string{"TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	// Secrets are never shown (A2A#1988).
	shown := c.call("GetTaskPushNotificationConfig", `{"taskId":"`+task+`","id":"mine"}`).Want(t, 200, r.URL, "Bearer")
	if rig.Says(shown.String(), "a-token") || rig.Says(shown.String(), "of-the-receiver") {
		t.Errorf("secrets are shown: %s", shown.Body)
	}
}

// TestPushNotificationsOfOldClients checks that configurations of version 0.3 get the task.
func TestPushNotificationsOfOldClients(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	r := receives(t)
	send := `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]},"configuration":{"blocking":false,"pushNotificationConfig":{"url":"` + r.URL + `","token":"t"}}}`
	task := b.Post("/a2a/chat", request("message/send", send)).OK().Text("result.id")
	for {
		req, v := r.next(t)
		if v["kind"] != "task" || v["id"] != task || req.Header.Get("X-A2A-Notification-Token") != "t" || req.Header.Get("Content-Type") != "application/json" {
			t.Errorf("pushed %v with %v", v, req.Header)
		}
		if rig.Dig(v, "status.state") == "completed" {
			if got := rig.Dig(v, "artifacts.0.parts.0.text"); got != "the answer is 42" {
				t.Errorf("the answer is %v", v)
			}
			break
		}
	}
	b.Post("/a2a/chat", request("tasks/pushNotificationConfig/get", `{"id":"`+task+`"}`)).Want(t, 200, r.URL)
	b.Post("/a2a/chat", request("tasks/pushNotificationConfig/list", `{"id":"`+task+`"}`)).Want(t, 200, r.URL)
	b.Post("/a2a/chat", request("GetTask", `{"id":"`+task+`"}`)).Want(t, 200, "COMPLETED")
}

// TestPushOfARepeatedMessage checks that a configuration which only the repetition of a message has is added to its task,
// once, and that a configuration that comes after the end of a task is notified of it.
func TestPushOfARepeatedMessage(t *testing.T) {
	t.Parallel()
	c, r := client{served(t, ""), "chat"}, receives(t)
	task := c.call("SendMessage", message("m", "hi", "")).Want(t, 200, "COMPLETED").Text("result.task.id")
	repeated := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"taskPushNotificationConfig":{"url":"` + r.URL + `/hook"}}}`
	for range 2 {
		c.call("SendMessage", repeated).Want(t, 200, task)
		if list := c.call("ListTaskPushNotificationConfigs", `{"taskId":"`+task+`"}`).List("result.configs"); len(list) != 1 {
			t.Errorf("the task has the configurations %v", list)
		}
	}
	_, v := r.next(t)
	if rig.Dig(v, "task.id") != task || rig.Dig(v, "task.status.state") != "TASK_STATE_COMPLETED" {
		t.Errorf("pushed %v", v)
	}
}

// TestPushURLsInsideAreRefused checks that pushes go nowhere inside of the bridge's network, and that nothing is begun.
func TestPushURLsInsideAreRefused(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, "agents: {chat: {url: $CHAT, dialect: threadrun}}", map[string]http.Handler{"chat": rig.Chats()})
	c := client{b, "chat"}
	task := c.call("SendMessage", message("m", "hi", "")).Want(t, 200, "COMPLETED").Text("result.task.id")
	for _, url := range []string{
		"http://127.0.0.1/", "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/", "file:///etc/passwd", "https://u:p@example.com/", "/relative", "",
	} {
		c.violates("url", "CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","url":"`+url+`"}`)
		for id, method := range map[string]string{"m-2": "SendMessage", "m": "SendMessage", "m-3": "SendStreamingMessage"} {
			c.violates("configuration.taskPushNotificationConfig.url", method, strings.TrimSuffix(message(id, "hi", ""), "}")+`,"configuration":{"taskPushNotificationConfig":{"url":"`+url+`"}}}`)
		}
	}
	for members, field := range map[string]string{
		`"token":"a\nb"`: "token", `"token":"` + strings.Repeat("x", 3000) + `"`: "token", `"id":"a/b:c"`: "id", `"id":".."`: "id", `"id":"` + strings.Repeat("x", 3000) + `"`: "id",
		`"authentication":{"credentials":"c"}`: "authentication.scheme", `"authentication":{"scheme":"a b"}`: "authentication.scheme",
		`"authentication":{"scheme":"Bearer","credentials":"a\nb"}`: "authentication.credentials",
	} {
		c.violates(field, "CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","url":"https://example.com/",`+members+`}`)
	}
	c.violates("taskId", "CreateTaskPushNotificationConfig", `{"url":"https://example.com/"}`)
	b.Post("/a2a/chat", request("tasks/pushNotificationConfig/set", `{"taskId":"`+task+`","pushNotificationConfig":{"url":"http://127.0.0.1/"}}`)).Want(t, 200, `"field":"pushNotificationConfig.url"`)
	b.Post("/a2a/chat/tasks/"+task+"/pushNotificationConfigs", `{"url":"http://127.0.0.1/"}`).Want(t, 400, "google.rpc.BadRequest", `"field":"url"`)
	c.fails(-32001, "CreateTaskPushNotificationConfig", `{"taskId":"nothing","url":"https://example.com/"}`)
	if n := c.call("ListTasks", `{}`).At("result.totalSize"); n != 1.0 {
		t.Errorf("there are %v tasks", n)
	}
}
