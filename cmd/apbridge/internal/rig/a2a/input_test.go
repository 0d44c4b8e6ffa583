package a2a

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// TestVersions has the rows of the version rules (S 3.6): the name of the method decides, and a header must agree.
func TestVersions(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	task := b.Post("/a2a/steps/message:send", message("m", "hi", "")).OK().Text("task.id")
	for _, x := range []struct{ method, version, want string }{
		{"GetTask", "1.0", `"state":"TASK_STATE_COMPLETED"`}, {"GetTask", "1.0.1", `"state":"TASK_STATE_COMPLETED"`}, {"GetTask", "", `"state":"TASK_STATE_COMPLETED"`},
		{"GetTask", "0.3", "-32009"}, {"GetTask", "2.0", "-32009"}, {"GetTask", "rubbish", "-32009"},
		{"tasks/get", "", `"state":"completed"`}, {"tasks/get", "0.3", `"state":"completed"`}, {"tasks/get", "0.3.0", `"state":"completed"`},
		{"tasks/get", "1.0", "-32009"}, {"tasks/get", "2.0", "-32009"},
	} {
		headers := []string{}
		if x.version != "" {
			headers = []string{"A2A-Version", x.version}
		}
		b.Do("POST", "/a2a/steps", request(x.method, `{"id":"`+task+`"}`), headers...).Want(t, 200, x.want)
		if x.version != "" { // the same as a query parameter
			b.Post("/a2a/steps?A2A-Version="+x.version, request(x.method, `{"id":"`+task+`"}`)).Want(t, 200, x.want)
		}
	}
	// Clients that resolve the card's path against the URL need the slash at its end.
	b.Post("/a2a/steps/", request("GetTask", `{"id":"`+task+`"}`)).Want(t, 200, `"state":"TASK_STATE_COMPLETED"`)
	for version, status := range map[string]int{"1.0": 200, "1.0.7": 200, "0.3": 400, "2.0": 400, "x": 400} {
		b.Do("GET", "/a2a/steps/tasks/"+task, "", "A2A-Version", version).Want(t, status)
	}
	b.Get("/a2a/steps/tasks/"+task).Want(t, 200)
}

// TestBadRequests checks that invalid requests are refused with A2A errors and start nothing.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	for _, x := range []struct {
		body   string
		status int
		want   string
	}{
		{"", 200, "-32700"}, {"{", 200, "-32700"}, {"\"\xff\"", 200, "-3"}, {"7", 200, "-32600"},
		{`[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]`, 200, "-32600"},
		{`{"jsonrpc":"2.0","method":"GetTask","params":{"id":"x"}}`, 200, "-32600"},
		{`{"jsonrpc":"1.0","id":1,"method":"GetTask"}`, 200, "-32600"},
		{`{"jsonrpc":"2.0","id":{},"method":"GetTask"}`, 200, "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":"None"}`, 200, "-32601"},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}`, 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}`, 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x","tenant":"t"}}`, 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"no such task"}}`, 200, "-32001"},
		{`{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"no such task"}}`, 200, "-32001"},
		{`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"no such task"}}`, 200, "-32001"},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"a/b:c\u0000"}}`, 200, "-32001"},
		{`{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"a/b:cancel"}}`, 200, "-32001"},
		{`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"a/b"}}`, 200, "-32001"},
		{`{"jsonrpc":"2.0","id":1,"method":"ListTaskPushNotificationConfigs","params":{"taskId":"a/b"}}`, 200, "-32001"},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"a/b"}}`, 200, "-32001"},
		{request("SendMessage", message("m", "x", `,"taskId":"a/b:c"`)), 200, "-32001"},
		{request("SendStreamingMessage", message("m", "x", `,"taskId":"`+strings.Repeat("x", 100_000)+`"`)), 200, "-32001"},
		{request("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"AA==","mediaType":"application/x-unsupported"}]}}`), 200, "-32005"},
		{request("SendStreamingMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","mediaType":"no type"}]}}`), 200, "-32005"},
		{request("message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"video"}]}}`), 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":0}}`, 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":101}}`, 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageToken":"rubbish"}}`, 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"historyLength":-1}}`, 200, "-32602"},
	} {
		b.Post("/a2a/steps", x.body).Want(t, x.status, x.want)
	}
	for body, want := range map[string]string{
		`{}`: "message", `{"message":{}}`: "messageId",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}`:                                                  "parts",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}]}}`:                                                "parts",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a","url":"b"}]}}`:                            "parts",
		`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}}`:                                     "ROLE_USER",
		`{"message":{"messageId":"m","role":"ROLE_OTHER","parts":[{"text":"a"}]}}`:                                     "role",
		`{"message":{"messageId":"` + strings.Repeat("m", 256) + `","role":"ROLE_USER","parts":[{"text":"a"}]}}`:       "messageId",
		message("m", "x", `,"contextId":"`+strings.Repeat("x", 256)+`"`):                                               "255",
		message("m", "x", `,"contextId":"a\u0007b"`):                                                                   "printable",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]},"tenant":"t"}`:                         "tenant",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"historyLength":-1}}`: "historyLength",
	} {
		b.Post("/a2a/steps/message:send", body).Want(t, 400, "INVALID_ARGUMENT", want)
		b.Post("/a2a/steps/message:stream", body).Want(t, 400, "INVALID_ARGUMENT", want)
	}
	b.Do("POST", "/a2a/steps", `{}`, "Content-Type", "text/plain").Want(t, 415, `"jsonrpc":"2.0"`, "-32005")
	b.Do("POST", "/a2a/steps/message:send", `{}`, "Content-Type", "text/plain").Want(t, 415, "must be application/json")
	b.Post("/a2a/nobody", request("GetTask", `{"id":"x"}`)).Want(t, 404, "Known agents")
	for _, path := range []string{"/a2a/steps/tasks/a%3Acancel", "/a2a/steps/tasks/%E2%98%83"} {
		b.Get(path).Want(t, 404, "TASK_NOT_FOUND")
	}
	for _, path := range []string{"/a2a/steps/tasks/a%2Fb", "/a2a/steps/tasks/a%2Fb/pushNotificationConfigs", "/a2a/a%2Fb/tasks"} { // of every path of the bridge
		b.Get(path).Want(t, 400, `"status":"INVALID_ARGUMENT"`, "encoded slash")
		b.Post(path+":cancel", "").Want(t, 400, `"status":"INVALID_ARGUMENT"`, "encoded slash")
	}
	b.Get("/a2a/steps/tasks/a/b").Want(t, 404, `"status":"UNIMPLEMENTED"`, "nothing at this path")
	for body, want := range map[string]string{
		"{": `{"code":-32700,`, "": `{"code":-32602,"message":"message must`,
		`{"message":{"messageId":"m","role":"ROLE_USER","content":[]}}`:                                               `{"code":-32602,"message":"message.content must have at least one part.`,
		`{"message":{"messageId":"m","role":"ROLE_USER","content":[{}]}}`:                                             `{"code":-32602,"message":"message.content[0] must have exactly one of text, file and data.`,
		`{"message":{"messageId":"m","role":"ROLE_USER","content":[{"file":{"name":"a\u0000","fileWithBytes":""}}]}}`: `{"code":-32602,"message":"message.content[0].file.name must`,
	} {
		b.Post("/a2a/steps/v1/message:send", body).Want(t, 400, want)
	}
	b.Get("/a2a/steps/v1/nothing").Want(t, 404, `{"code":-32601,`)
	b.Get("/a2a/steps/v1/tasks/a%2Fb").Want(t, 400, `{"code":-32602,"message":"The path`, `"status":"INVALID_ARGUMENT"`) // refused before the face
	b.Post("/a2a/steps/tasks/a%3Acancel", "").Want(t, 405)
	if n := b.Get("/a2a/steps/tasks").OK().At("totalSize"); n != 0.0 {
		t.Errorf("there are %v tasks", n)
	}
}

// TestHugeMessages checks that messages and files beyond the limits are refused in the form of A2A, and begin nothing.
func TestHugeMessages(t *testing.T) {
	t.Parallel()
	b := served(t, "limits: {body: 100KB, artifact: 10KB}")
	file := func(n int) string {
		raw := base64.StdEncoding.EncodeToString(make([]byte, n))
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"` + raw + `","filename":"a.bin"}]}}`
	}
	for _, action := range []string{"send", "stream"} {
		b.Post("/a2a/steps/message:"+action, file(100_000)).Want(t, 413, `"error":{"code":413`)
		b.Post("/a2a/steps/message:"+action, file(20_000)).Want(t, 413, `"error":{"code":413`, "limits.artifact")
	}
	b.Post("/a2a/steps", request("SendMessage", file(100_000))).Want(t, 413, `"code":413`)
	b.Post("/a2a/steps", request("SendStreamingMessage", file(20_000))).Want(t, 413, `"jsonrpc":"2.0"`, `"code":-32600`)
	if n := b.Get("/a2a/steps/tasks").OK().At("totalSize"); n != 0.0 {
		t.Errorf("there are %v tasks", n)
	}
	b.Post("/a2a/steps/message:send", file(1000)).Want(t, 200, "COMPLETED")
}

// TestTokensInURLs checks that a key in a URL is no key, and that the token in the URL of a push is in no log.
func TestTokensInURLs(t *testing.T) {
	t.Parallel()
	const key = "a-key-of-alice-which-is-long"
	b := served(t, "auth: {keys: [{id: alice, key: "+key+"}]}")
	for _, name := range []string{"api_key", "x-api-key", "access_token", "token", "key"} {
		b.Get("/a2a/steps/tasks?"+name+"="+key).Want(t, 401, `"status":"UNAUTHENTICATED"`)
		b.Post("/a2a/steps?"+name+"="+key, request("ListTasks", "{}")).Want(t, 401)
	}
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(gone.Close)
	send := strings.TrimSuffix(message("m", "hi", ""), "}") + `,"configuration":{"taskPushNotificationConfig":{"url":"` + gone.URL + `/hook?token=abc-of-the-receiver"}}}`
	b.Do("POST", "/a2a/steps/message:send", send, "X-Api-Key", key).Want(t, 200, "COMPLETED")
	rig.Eventually(t, "the delivery is given up", func() bool { return strings.Contains(logged(b), "webhook given up") })
	if all := logged(b); strings.Contains(all, "abc-of-the-receiver") || strings.Contains(all, key) {
		t.Errorf("a token is logged:\n%s", all)
	}
}

// logged returns everything that a bridge has logged.
func logged(b *rig.Bridge) string {
	var all strings.Builder
	for _, e := range b.Logs.All() {
		fmt.Fprintln(&all, e.Message, e.ContextMap())
	}
	return all.String()
}

// TestContexts checks that the client's own contexts are kept, whatever their script (litellm PR 28664), that each is a
// thread of its agent and caller, and that a known thread is its own context.
func TestContexts(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	c := client{b, "steps"}
	for i, name := range []string{"x", "with spaces / and : signs", "контекст ☃ 文脈", strings.Repeat("é", 255), "6f0c3a52-0000-4000-8000-000000000001", "null"} {
		id := fmt.Sprint("m-", i)
		first := c.call("SendMessage", message(id, "hi", `,"contextId":"`+name+`"`)).Want(t, 200, "COMPLETED")
		second := c.call("SendMessage", message(id+"b", "hi", `,"contextId":"`+name+`"`)).Want(t, 200, "COMPLETED")
		if first.Text("result.task.contextId") != name || second.Text("result.task.contextId") != name || first.Text("result.task.id") == second.Text("result.task.id") {
			t.Errorf("context %q: %s\n%s", name, first.Body, second.Body)
		}
		if got := c.call("ListTasks", `{"contextId":"`+name+`"}`).OK(); len(got.List("result.tasks")) != 2 {
			t.Errorf("the tasks of context %q are %s", name, got.Body)
		}
		if got := c.task(first.Text("result.task.id")).Text("result.contextId"); got != name {
			t.Errorf("context %q is then %q", name, got)
		}
	}
	thread := b.Post("/threads", "{}").OK().Text("thread_id")
	got := client{b, "chat"}.call("SendMessage", message("m", "hi", `,"contextId":"`+thread+`"`)).Want(t, 200, "COMPLETED")
	if got.Text("result.task.contextId") != thread {
		t.Errorf("a thread as the context: %s", got.Body)
	}
	b.Get("/threads/"+thread+"/state").Want(t, 200, "the answer is 42")
	task := c.call("SendMessage", message("m", "hi", "")).Text("result.task.id")
	c.fails(-32602, "SendMessage", message("m2", "hi", `,"contextId":"another","taskId":"`+task+`"`))
	client{b, "chat"}.fails(-32001, "GetTask", `{"id":"`+task+`"}`)
	client{b, "chat"}.fails(-32001, "SendMessage", message("m2", "hi", `,"taskId":"`+task+`"`))
}

// TestQuestionsOfGraphs checks that a graph's question can be answered with words, or with a data part by its id
// (harness-sdk PR 3486, mcp-context-forge#6703).
func TestQuestionsOfGraphs(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]string{
		"words": `[{"text":"yes"}]`, "data": `[{"data":[{"type":"accept","args":null}]}]`, "data by id": `[{"data":{"74462228383d847ecfda1c079720e8fc":[{"type":"accept"}]}}]`,
	} {
		c := client{served(t, ""), "ask"}
		asked := c.call("SendMessage", message("m", "hi", "")).Want(t, 200, "INPUT_REQUIRED", `"interrupt_id"`)
		task := asked.Text("result.task.id")
		c.fails(-32602, "SendMessage", message("m-1", "x", `,"metadata":{"interruptId":"no such question"},"taskId":"`+task+`"`))
		answer := `{"message":{"messageId":"m-2","role":"ROLE_USER","taskId":"` + task + `","parts":` + parts + `}}`
		frames := c.stream("SendStreamingMessage", answer, 0)
		if got := added(t, nil, frames); got.state != "TASK_STATE_COMPLETED" || got.tasks != 1 || c.at(frames[0], "task.id") != task {
			t.Errorf("%s: %v %+v", name, kinds(frames), got)
		}
		end := c.task(task)
		var said []string
		for _, m := range end.List("result.history") {
			if rig.Dig(m, "role") == "ROLE_USER" {
				said = append(said, rig.TextOf(rig.Dig(m, "messageId")))
			}
		}
		// The agent of this test has a message of its own in the place of the first.
		if len(said) != 2 || said[1] != "m-2" || end.Text("result.artifacts.0.parts.0.text") != added(t, nil, frames).texts[end.Text("result.artifacts.0.artifactId")] {
			t.Errorf("%s: the task is %s, and its stream %v", name, end.Body, kinds(frames))
		}
	}
}

// TestNewTasksDropQuestions checks that a message with the context alone begins a new task, and that the task that waited
// is canceled for everybody (S 3.4.2).
func TestNewTasksDropQuestions(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	for _, agent := range []string{"asks", "ask"} {
		c := client{b, agent}
		asked := c.call("SendMessage", message("m", "hi", `,"contextId":"c"`)).Want(t, 200, "INPUT_REQUIRED").Text("result.task.id")
		other := c.call("SendMessage", message("m-2", "something new", `,"contextId":"c"`)).Is(200).Text("result.task.id")
		if other == asked {
			t.Errorf("%s: the message answered the question", agent)
		}
		if got := c.task(asked).Text("result.status.state"); got != "TASK_STATE_CANCELED" {
			t.Errorf("%s: the task that waited is %s", agent, got)
		}
	}
}

// TestDroppedQuestionsTakeNoAnswer checks that a task whose question was dropped by a client of another dialect takes no
// answer, and is canceled by the next message to its context.
func TestDroppedQuestionsTakeNoAnswer(t *testing.T) {
	t.Parallel()
	c := client{served(t, ""), "ask"}
	asked := c.call("SendMessage", message("m", "hi", "")).Want(t, 200, "INPUT_REQUIRED")
	task, context := asked.Text("result.task.id"), asked.Text("result.task.contextId")
	c.Post("/threads/"+context+"/runs/wait", `{"assistant_id":"ask","input":{"messages":[{"role":"user","content":"something new"}]}}`).OK()
	c.fails(-32004, "SendMessage", message("m-2", "late", `,"taskId":"`+task+`"`))
	c.call("SendMessage", message("m-3", "and more", `,"contextId":"`+context+`"`)).Is(200)
	if got := c.task(task).Text("result.status.state"); got != "TASK_STATE_CANCELED" {
		t.Errorf("the task is %s", got)
	}
	end := c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 0, "Last-Event-ID", "0")
	if got := c.at(end[len(end)-1], "statusUpdate.status.state"); got != "TASK_STATE_CANCELED" {
		t.Errorf("its stream ends with %q", got)
	}
}

// TestParts checks that each kind of part reaches the agent's thread and comes back in the history (litellm#26411).
func TestParts(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	raw := base64.StdEncoding.EncodeToString([]byte("roses are red"))
	send := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"see"},{"data":{"n":1.50}},{"raw":"` + raw + `","filename":"poem.txt","mediaType":"text/plain"},` +
		`{"url":"https://example.com/a.png","mediaType":"image/png"},{"raw":"","filename":"empty.txt"}]}}`
	done := b.Post("/a2a/steps/message:send", send).Want(t, 200, "COMPLETED")
	parts, _ := rig.Dig(done.At("task.history.0"), "parts").([]any)
	if len(parts) != 5 || rig.Dig(parts[1], "data.n") != 1.5 || rig.Dig(parts[2], "raw") != raw || rig.Dig(parts[2], "filename") != "poem.txt" || rig.Dig(parts[3], "url") != "https://example.com/a.png" ||
		rig.Dig(parts[4], "raw") != "" || rig.Dig(parts[4], "filename") != "empty.txt" {
		t.Errorf("the history has %v", parts)
	}
	if rig.Dig(parts[3], "filename") != nil {
		t.Errorf("a link got the name %v", rig.Dig(parts[3], "filename"))
	}
	empty := b.Post("/a2a/steps/message:send", message("empty", "", "")).Is(200)
	if first := empty.At("task.history.0"); rig.Dig(first, "messageId") != "empty" || rig.Dig(first, "parts.0.text") != "" {
		t.Errorf("the history of an empty message begins with %v", first)
	}
	if !strings.Contains(done.String(), `{"n":1.50}`) {
		t.Errorf("the number lost digits: %s", done.Body)
	}
}

// TestLargeFilesOfMessages checks that a file above a2a.max_inline is a link to its bytes in every history, for callers of
// its tenant.
func TestLargeFilesOfMessages(t *testing.T) {
	t.Parallel()
	c := client{served(t, "a2a: {max_inline: 10}\nauth: {keys: [{id: a, key: key-of-a-which-is-long, tenant: a}, {id: b, key: key-of-b-which-is-long, tenant: b}]}"), "steps"}
	as := []string{"X-Api-Key", "key-of-a-which-is-long"}
	poem := "<b>roses are red</b>"
	send := `{"message":{"messageId":"m","role":"ROLE_USER","contextId":"c","parts":[{"text":"see"},{"raw":"` + base64.StdEncoding.EncodeToString([]byte(poem)) + `","filename":"poem.html","mediaType":"text/html"}]}}`
	done := c.call("SendMessage", send, as...).Want(t, 200, "COMPLETED")
	task := done.Text("result.task.id")
	again := c.stream("SendStreamingMessage", send, 0, as...)
	for what, file := range map[string]any{
		"a call":   done.At("result.task.history.0.parts.1"),
		"GetTask":  c.call("GetTask", `{"id":"`+task+`"}`, as...).At("result.history.0.parts.1"),
		"a list":   c.call("ListTasks", `{}`, as...).At("result.tasks.0.history.0.parts.1"),
		"a stream": again[0].At("result.task.history.0.parts.1"),
	} {
		link := rig.TextOf(rig.Dig(file, "url"))
		if !strings.HasPrefix(link, c.URL) || rig.Dig(file, "filename") != "poem.html" || rig.Dig(file, "mediaType") != "text/html" {
			t.Fatalf("%s has the file %v", what, file)
		}
		path := strings.TrimPrefix(link, c.URL)
		if got := c.Do("GET", path, "", as...).OK(); string(got.Body) != poem || got.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %s has %q", what, link, got.Body)
		}
		c.Do("GET", path, "", "X-Api-Key", "key-of-b-which-is-long").Is(404)
		c.Get(path).Want(t, 401)
	}
	// An agent with a state of its own keeps the file there, where no client can download it.
	chat := client{c.Bridge, "chat"}
	for _, f := range chat.stream("SendStreamingMessage", send, 0, as...) {
		if strings.Contains(f.Data, `"raw"`) {
			t.Errorf("a frame has the bytes: %s", f.Data)
		}
	}
}

// TestPagesOfTasks walks through a list page by page.
func TestPagesOfTasks(t *testing.T) {
	t.Parallel()
	c := client{served(t, ""), "chat"}
	made := map[string]bool{}
	for i := range 5 {
		made[c.call("SendMessage", message(fmt.Sprint("m", i), "hi", "")).Text("result.task.id")] = true
	}
	token, pages := "", 0
	for {
		page := c.call("ListTasks", `{"pageSize":2,"pageToken":"`+token+`","status":"TASK_STATE_COMPLETED"}`).OK()
		for _, task := range page.List("result.tasks") {
			id := rig.TextOf(rig.Dig(task, "id"))
			if !made[id] {
				t.Errorf("task %s is there twice, or is none", id)
			}
			delete(made, id)
		}
		pages++
		if page.At("result.totalSize") != 5.0 {
			t.Errorf("%s", page.Body)
		}
		if token = page.Text("result.nextPageToken"); token == "" {
			break
		}
	}
	if len(made) > 0 || pages != 3 {
		t.Errorf("%d pages, without %v", pages, made)
	}
	for _, none := range []string{`{"status":"TASK_STATE_FAILED"}`, `{"status":"TASK_STATE_AUTH_REQUIRED"}`, `{"contextId":"unknown"}`, `{"statusTimestampAfter":"2999-01-01T00:00:00Z"}`} {
		if got := c.call("ListTasks", none).OK(); len(got.List("result.tasks")) > 0 || got.At("result.nextPageToken") != "" {
			t.Errorf("%s: %s", none, got.Body)
		}
	}
}

// TestAcceptedOutputModes checks that parts of other types are left out, unless nothing would be left. A stream adds up to
// the artifacts of a call, also if it is continued after any of its frames.
func TestAcceptedOutputModes(t *testing.T) {
	t.Parallel()
	for agent, artifacts := range map[string]int{"steps": 2, "chat": 1} {
		c := client{served(t, ""), agent}
		for modes, want := range map[string]int{`["text/plain"]`: 1, `["application/octet-stream"]`: 1, `["image/png"]`: artifacts, `["text/*","application/*"]`: artifacts} {
			params := func(id string) string {
				return strings.TrimSuffix(message(fmt.Sprintf("%s %x", id, modes), "hi", ""), "}") + `,"configuration":{"acceptedOutputModes":` + modes + `}}`
			}
			sent := c.call("SendMessage", params("send")).Is(200)
			whole := sumOf(t, rig.Answer{T: t, Body: raw(t, map[string]any{"result": sent.At("result.task")})})
			if len(whole.texts) != want {
				t.Errorf("%s, %s: %s", agent, modes, sent.Body)
			}
			frames := c.stream("SendStreamingMessage", params("stream"), 0)
			streamed := added(t, nil, frames)
			if diff := cmp.Diff(textsOf(whole), textsOf(streamed)); diff != "" || streamed.state != "TASK_STATE_COMPLETED" {
				t.Errorf("%s, %s: the task is %s (-call +stream):\n%s", agent, modes, streamed.state, diff)
			}
			if inCall, inStream := rig.Says(sent.String(), "omittedOutputModes"), frames[len(frames)-1].At("result.statusUpdate.metadata.omittedOutputModes") != nil; inCall != inStream {
				t.Errorf("%s, %s: types are named in the call: %v, in the stream: %v", agent, modes, inCall, inStream)
			}
			for n := range frames {
				if frames[n].ID == "" {
					continue
				}
				rest := c.stream("SendStreamingMessage", params("stream"), 0, "Last-Event-ID", frames[n].ID)
				if got := added(t, added(t, nil, frames[:n+1]), rest); n < len(frames)-1 && !cmp.Equal(textsOf(streamed), textsOf(got)) {
					t.Errorf("%s, %s: continued after frame %d: %v", agent, modes, n, got)
				}
			}
		}
	}
}

// textsOf returns the contents of the artifacts of a task, sorted.
func textsOf(s *sum) []string { return slices.Sorted(maps.Values(s.texts)) }
