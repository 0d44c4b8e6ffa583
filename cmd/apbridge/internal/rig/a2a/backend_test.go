package a2a

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// before is a bridge in front of an A2A agent.
func before(t *testing.T, agent *adaptertest.A2AAgent) client {
	t.Helper()
	path := ""
	if agent.LangGraph {
		path = adaptertest.LangGraphPath
	}
	b := rig.Configured(t, `
webhooks: {allow_private_networks: true}
agents: {agent: {url: $AGENT`+path+`, dialect: a2a}}
`, map[string]http.Handler{"agent": agent})
	return client{b, "agent"}
}

// TestTextOfAnA2AAgentArrivesOnce checks that clients of each kind get the text of growing artifacts in pieces, and once,
// also if the agent's stream breaks.
func TestTextOfAnA2AAgentArrivesOnce(t *testing.T) {
	t.Parallel()
	for _, agent := range []*adaptertest.A2AAgent{{}, {Live: true, CutAfter: 6}, {Live: true, CutAfter: 11}} {
		c := before(t, agent)
		frames := c.stream("SendStreamingMessage", message("m", "type", ""), 0)
		task := c.at(frames[0], "task.id")
		got := added(t, nil, frames)
		if diff := cmp.Diff(sumOf(t, c.task(task)), got, cmp.AllowUnexported(sum{})); diff != "" || got.state != "TASK_STATE_COMPLETED" {
			t.Errorf("the task is %s (-GetTask +stream):\n%s", got.state, diff)
		}
		pieces, reports := 0, []string{}
		for _, f := range frames {
			if f.At("result.artifactUpdate.append") == true {
				pieces++
			}
			if text := rig.TextOf(f.At("result.statusUpdate.status.message.parts.0.text")); text != "" {
				reports = append(reports, text)
			}
		}
		if pieces < 4 || !slices.Contains(reports, "Thinking") {
			t.Errorf("%d pieces, and the reports %q", pieces, reports)
		}
		_, list := c.Stream("POST", "/runs/stream", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"type"}]},"stream_mode":"messages-tuple"}`, 0)
		texts, chunks := map[string]string{}, 0
		for _, f := range list {
			if f.Event == "messages" {
				texts[rig.TextOf(f.At("0.id"))] += rig.TextOf(f.At("0.content"))
				chunks++
			}
		}
		var said []string
		for _, text := range texts {
			said = append(said, text)
		}
		slices.Sort(said)
		if want := []string{"A cat ha ha sleeps.", "A fox jumps over the dog.", "Thinking", "Writing more"}; !slices.Equal(said, want) || chunks < 8 {
			t.Errorf("%d chunks make up %q", chunks, said)
		}
	}
}

// TestBridgesInARow checks a bridge in front of another bridge's A2A agent: a conversation works, and a client of a bridge
// in front of itself learns that its agent is a loop.
func TestBridgesInARow(t *testing.T) {
	t.Parallel()
	var loop atomic.Pointer[url.URL]
	front := rig.Configured(t, `
webhooks: {allow_private_networks: true}
agents:
  asks: {url: "`+served(t, "").URL+`/a2a/asks", dialect: a2a}
  loop: {url: $LOOP/a2a/loop, dialect: a2a}
`, map[string]http.Handler{"loop": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httputil.NewSingleHostReverseProxy(loop.Load()).ServeHTTP(w, r)
	})})
	to, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	loop.Store(to)
	c := client{front, "asks"}
	asked := c.call("SendMessage", message("m", "hi", `,"contextId":"c"`)).Want(t, 200, "TASK_STATE_INPUT_REQUIRED", "Which day?")
	answer := message("m-2", "Friday", `,"taskId":"`+asked.Text("result.task.id")+`"`)
	c.call("SendMessage", answer).Want(t, 200, "TASK_STATE_COMPLETED", "Friday it is.", `"contextId":"c"`)
	client{front, "loop"}.call("SendMessage", message("m", "hi", "")).Want(t, 200, "TASK_STATE_FAILED", "come through this bridge before", `"code":"upstream_error"`)
}

// TestAnAuthorizationIsAwaited checks that clients learn that an A2A agent waits for an authorization: a blocking call
// returns, streams stay open, and thread/run clients get a custom event while their run goes on.
func TestAnAuthorizationIsAwaited(t *testing.T) {
	t.Parallel()
	c := before(t, &adaptertest.A2AAgent{})
	const waits = "TASK_STATE_AUTH_REQUIRED"
	sent := c.call("SendMessage", message("m", "authorize", "")).Want(t, 200, waits, "Sign in at the bank.")
	task := sent.Text("result.task.id")
	c.task(task).Want(t, 200, waits, "Sign in at the bank.")
	frames := c.stream("SendStreamingMessage", message("m", "authorize", ""), 2, "Last-Event-ID", "0")
	if got := c.at(frames[1], "statusUpdate.status.state"); got != waits {
		t.Errorf("the stream has %s", frames[1].Data)
	}
	c.fails(-32004, "SendMessage", message("m-2", "done", `,"taskId":"`+task+`"`))
	thread := sent.Text("result.task.contextId")
	run := c.Get("/threads/" + thread + "/runs").Text("0.run_id")
	c.Get("/threads/"+thread+"/runs/"+run).Want(t, 200, `"running"`)
	c.Get("/threads/"+thread+"/runs/"+run+"/explain").Want(t, 200, "authorization")
	_, list := c.Stream("GET", "/threads/"+thread+"/runs/"+run+"/stream?stream_mode=custom", "", 2, "Last-Event-ID", "-1")
	if last := list[len(list)-1]; last.Event != "custom" || last.At("status.state") != waits {
		t.Errorf("a thread/run client gets %+v", list)
	}
	c.call("CancelTask", `{"id":"`+task+`"}`).Want(t, 200, "TASK_STATE_CANCELED")
	done := c.call("SendMessage", message("m-3", "authorize once", "")).Want(t, 200, "result")
	c.awaitState(done.Text("result.task.id"), "TASK_STATE_COMPLETED")
}

// TestARejectedTask checks that every client learns that the agent refused the work, not that it failed.
func TestARejectedTask(t *testing.T) {
	t.Parallel()
	c := before(t, &adaptertest.A2AAgent{})
	const rejected = "TASK_STATE_REJECTED"
	r := receives(t)
	send := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"reject"}]},"configuration":{"taskPushNotificationConfig":{"url":"` + r.URL + `"}}}`
	task := c.call("SendMessage", send).Want(t, 200, rejected, "not my job", "agent_rejected").Text("result.task.id")
	c.task(task).Want(t, 200, rejected, "not my job")
	frames := c.stream("SendStreamingMessage", message("m-2", "reject", ""), 0)
	if got := added(t, nil, frames).state; got != rejected {
		t.Errorf("the stream ends with %s", got)
	}
	for state, n := range map[string]float64{rejected: 2, "TASK_STATE_FAILED": 0} {
		if got := c.call("ListTasks", `{"status":"`+state+`"}`).At("result.totalSize"); got != n {
			t.Errorf("%v tasks are listed as %s", got, state)
		}
	}
	c.fails(-32004, "SubscribeToTask", `{"id":"`+task+`"}`)
	c.fails(-32004, "SendMessage", message("m-3", "please", `,"taskId":"`+task+`"`))
	for {
		_, v := r.next(t)
		if rig.Dig(v, "task") != nil {
			if got := rig.Dig(v, "task.status.state"); got != rejected {
				t.Errorf("the end is pushed as %v", got)
			}
			break
		}
	}
	c.Post("/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"reject"}]}}`).Want(t, 200, "agent_rejected", "not my job")
}

// TestLangGraphsOwnEndpoint checks that the endpoint of LangGraph Server, which mixes the versions, is served conformantly
// to A2A clients, and with its questions to thread/run clients.
func TestLangGraphsOwnEndpoint(t *testing.T) {
	t.Parallel()
	c := before(t, &adaptertest.A2AAgent{LangGraph: true})
	asked := c.call("SendMessage", message("m-1", "ask", `,"contextId":"not a uuid"`)).Want(t, 200, "INPUT_REQUIRED", "Which colour?", "response_schema", `"contextId":"not a uuid"`)
	task := asked.Text("result.task.id")
	c.call("SendMessage", message("m-2", "red", `,"taskId":"`+task+`"`)).Want(t, 200, "COMPLETED", "painted red")
	frames := c.stream("SendStreamingMessage", message("m-3", "type", `,"contextId":"not a uuid"`), 0)
	got := added(t, nil, frames)
	if diff := cmp.Diff(sumOf(t, c.task(c.at(frames[0], "task.id"))), got, cmp.AllowUnexported(sum{})); diff != "" || got.state != "TASK_STATE_COMPLETED" {
		t.Errorf("the task is %s (-GetTask +stream):\n%s", got.state, diff)
	}
	thread := c.Post("/threads", `{}`).OK().Text("thread_id")
	run := func(fields string) rig.Answer {
		return c.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent",`+fields+`}`).OK()
	}
	if got := run(`"input":{"messages":[{"role":"user","content":"ask"}]}`).At("__interrupt__.0.value"); got != "Which colour?" {
		t.Errorf("the question is %v", got)
	}
	run(`"command":{"resume":"blue"}`).Want(t, 200, "painted blue")
}

// TestAnUnreadableResponseIsNoReasonToRetry checks that retries do not repeat a message to which an agent responded with
// something unreadable, since it may have worked.
func TestAnUnreadableResponseIsNoReasonToRetry(t *testing.T) {
	t.Parallel()
	card, sent := &adaptertest.A2AAgent{}, new(atomic.Int32)
	b := rig.Configured(t, `agents: {agent: {url: $AGENT, dialect: a2a, retries: 2}}`, map[string]http.Handler{"agent": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Body = io.NopCloser(bytes.NewReader(body)); !bytes.Contains(body, []byte(`"messageId"`)) {
			card.ServeHTTP(w, r)
			return
		}
		sent.Add(1)
		_, _ = io.WriteString(w, "<html>")
	})})
	client{b, "agent"}.call("SendMessage", message("m", "say", "")).Want(t, 200, "TASK_STATE_FAILED", `"code":"outcome_unknown"`, "cannot be read")
	if n := sent.Load(); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// TestArtifactsOfASlowAgent checks that a task has a complete artifact while its agent works on, and that a task/step
// client learns which step is the last.
func TestArtifactsOfASlowAgent(t *testing.T) {
	t.Parallel()
	agent, proceed := &adaptertest.A2AAgent{}, make(chan struct{})
	b := rig.Configured(t, `agents: {agent: {url: $AGENT, dialect: a2a}}`, map[string]http.Handler{"agent": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			agent.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		frame := func(result string) {
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","result":`+result+"}\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		frame(`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`)
		frame(`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"one","parts":[{"text":"first"}]},"lastChunk":true}}`)
		select {
		case <-proceed:
		case <-r.Context().Done():
			return
		}
		frame(`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`)
	})})
	c := client{b, "agent"}
	frames := c.stream("SendStreamingMessage", message("m", "say", ""), 1)
	task := c.at(frames[0], "task.id")
	rig.Eventually(t, "the task has the artifact", func() bool { return c.task(task).At("result.artifacts.0.parts.0.text") == "first" })
	if state := c.task(task).Text("result.status.state"); state != "TASK_STATE_WORKING" {
		t.Errorf("the task is %s", state)
	}
	close(proceed)
	c.awaitState(task, "TASK_STATE_COMPLETED")
	steps := c.Do("GET", "/ap/v1/agent/tasks/"+task+"/steps", "").Want(t, 200, `"output":"first"`)
	if steps.At("steps.0.is_last") != false || steps.At("steps.1.is_last") != true || steps.At("steps.2") != nil {
		t.Errorf("the steps are %s", steps.Body)
	}
}
