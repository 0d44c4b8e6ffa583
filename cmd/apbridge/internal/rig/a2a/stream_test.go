package a2a

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// TestReconnectMissesNothing cuts a stream after each of its frames and continues it with Last-Event-ID, by repeating
// the message and by subscribing: the client gets the rest, once (A2A#1635, #1410, a2a-rs#186).
func TestReconnectMissesNothing(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	for _, agent := range []string{"steps", "chat", "asks", "fail"} {
		c := client{b, agent}
		send := message("m-"+agent, "hi", "")
		whole := c.stream("SendStreamingMessage", send, 0)
		task := c.at(whole[0], "task.id")
		for n := 1; n < len(whole); n++ {
			got := c.stream("SendStreamingMessage", send, 0, "Last-Event-ID", whole[n-1].ID)
			if diff := cmp.Diff(whole[n:], got); diff != "" {
				t.Errorf("%s: the message repeated after frame %d (-want +got):\n%s", agent, n, diff)
			}
			got = c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 0, "Last-Event-ID", whole[n-1].ID)
			if diff := cmp.Diff(whole[n:], got); diff != "" {
				t.Errorf("%s: subscribed after frame %d (-want +got):\n%s", agent, n, diff)
			}
		}
	}
}

// TestStreamsAddUpToTheTask checks that clients which aggregate a stream end with the task that GetTask returns, and that
// only the first frame is a task (a2a-python#501, PR 964).
func TestStreamsAddUpToTheTask(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	for _, agent := range []string{"steps", "chat", "asks", "ask", "fail"} {
		c := client{b, agent}
		frames := c.stream("SendStreamingMessage", message("m", "hi", ""), 0)
		got := added(t, nil, frames)
		task := c.at(frames[0], "task.id")
		want := sumOf(t, c.task(task))
		if got.tasks != 1 || kinds(frames)[0] != "task" {
			t.Errorf("%s: the frames are %v", agent, kinds(frames))
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sum{})); diff != "" {
			t.Errorf("%s: (-GetTask +stream):\n%s", agent, diff)
		}
	}
}

// held is a bridge whose agent is held back at its second step until the gate opens.
func held(t *testing.T) (client, *rig.Gate) {
	t.Helper()
	gate := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	b := rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, gate).URL)}))
	return client{b, "agent"}, gate
}

// begun starts a task without waiting for it, and returns its id.
func (c client) begun(id, more string) string {
	c.T.Helper()
	params := strings.TrimSuffix(message(id, "hi", more), "}") + `,"configuration":{"returnImmediately":true}}`
	return c.call("SendMessage", params).Is(200).Text("result.task.id")
}

// TestSubscribersOfARunningTask checks that each subscriber gets the task as it is and then what follows, and that the
// stream ends with the task (a2a-dotnet#340, agentstack#1591).
func TestSubscribersOfARunningTask(t *testing.T) {
	t.Parallel()
	c, gate := held(t)
	task := c.begun("m", "")
	gate.Await(t)
	rig.Eventually(t, "the first step is an artifact", func() bool { return len(c.task(task).List("result.artifacts")) == 1 })
	subscribe := func() []rig.Frame { return c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 0) }
	streams := []func() []rig.Frame{later(t, subscribe), later(t, subscribe)}
	first := c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 1)
	if got := added(t, nil, first); got.tasks != 1 || got.state != "TASK_STATE_WORKING" || len(got.texts) != 1 {
		t.Errorf("the first frame is %s", first[0].Data)
	}
	after := later(t, func() []rig.Frame {
		return c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 0, "Last-Event-ID", first[0].ID)
	})
	gate.Open()
	rest := after()
	for _, stream := range streams {
		frames := stream()
		if got := added(t, nil, frames); got.tasks != 1 || got.state != "TASK_STATE_COMPLETED" {
			t.Errorf("a subscriber got %v", kinds(frames))
		}
	}
	want := sumOf(t, c.task(task))
	got := added(t, added(t, nil, first), rest)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sum{})); diff != "" || slices.Contains(kinds(rest), "task") {
		t.Errorf("the subscriber that came back (-GetTask +streams):\n%s", diff)
	}
}

// TestLongTasksFitIntoFrames checks that no frame is longer than clients accept, also if a stream begins with a task whose
// answer is longer, and that the last one closes the stream.
func TestLongTasksFitIntoFrames(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 5<<16)
	c := client{rig.InFront(t, &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: strconv.Quote(text), Last: true}}}), "agent"}
	send := message("m", "hi", "")
	for _, what := range []string{"new", "repeated"} {
		frames := c.stream("SendStreamingMessage", send, 0)
		for i, f := range frames {
			if len(f.Data) > 4<<20 {
				t.Errorf("%s: frame %d has %d bytes", what, i, len(f.Data))
			}
		}
		got := added(t, nil, frames)
		if diff := cmp.Diff(sumOf(t, c.task(c.at(frames[0], "task.id"))), got, cmp.AllowUnexported(sum{})); diff != "" || got.state != "TASK_STATE_COMPLETED" {
			t.Errorf("%s: (-GetTask +stream): %.500s", what, diff)
		}
		if kind := kinds(frames[len(frames)-1:]); kind[0] != "statusUpdate" {
			t.Errorf("%s: the last frame is a %s", what, kind)
		}
	}
}

// waiting subscribes to a task that waits for an answer, and returns a function that reads the rest of the stream.
func (c client) waiting(task string) func() ([]rig.Frame, error) {
	c.T.Helper()
	req, err := http.NewRequestWithContext(c.T.Context(), http.MethodPost, c.URL+"/a2a/"+c.agent+"/tasks/"+task+":subscribe", nil)
	if err != nil {
		c.T.Fatal(err)
	}
	req.Header.Set("A2A-Version", "1.0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { res.Body.Close() })
	if first, err := rig.ReadFrames(res.Body, 1); err != nil || len(first) != 1 || first[0].At("task.status.state") != "TASK_STATE_INPUT_REQUIRED" {
		c.T.Fatalf("the subscription began with %v, %v", first, err)
	}
	return func() ([]rig.Frame, error) { return rig.ReadFrames(res.Body, 0) }
}

// TestASubscriptionWaitsForTheAnswer checks that a subscription to a task that waits for an answer stays open until the
// task has gone on to its end or its next question (S 3.1.6), was canceled by the next task in its context, or is gone.
func TestASubscriptionWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	asks := adaptertest.ScriptStep{Output: `"Which day?"`, Additional: `{"use_tool":{"name":"ask_user","args":{"question":"Which day?"}}}`}
	script := []adaptertest.ScriptStep{asks, asks, {Output: `"Friday it is."`, Last: true}}
	for name, x := range map[string]struct {
		then func(c client, task, context string)
		last string // member of the last frame and its value
	}{
		"asked again": {func(c client, task, _ string) {
			c.call("SendMessage", message("2", "Friday", `,"taskId":"`+task+`"`)).Want(t, 200, "TASK_STATE_INPUT_REQUIRED")
			c.call("SendMessage", message("3", "Friday", `,"taskId":"`+task+`"`)).Want(t, 200, "TASK_STATE_COMPLETED")
		}, "statusUpdate.status.state TASK_STATE_INPUT_REQUIRED"},
		"superseded": {func(c client, _, context string) {
			c.call("SendMessage", message("2", "Monday", `,"contextId":"`+context+`"`)).Is(200)
		}, "statusUpdate.status.state TASK_STATE_CANCELED"},
		"deleted": {func(c client, _, context string) {
			c.Do("DELETE", "/threads/"+context, "").Is(204)
		}, "error.details.0.reason TASK_NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client{rig.InFront(t, &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: script}), "agent"}
			asked := c.call("SendMessage", message("1", "hi", "")).Want(t, 200, "TASK_STATE_INPUT_REQUIRED")
			rest := c.waiting(asked.Text("result.task.id"))
			x.then(c, asked.Text("result.task.id"), asked.Text("result.task.contextId"))
			frames, err := rest()
			path, want, _ := strings.Cut(x.last, " ")
			if err != nil || len(frames) == 0 || frames[len(frames)-1].At(path) != want {
				t.Errorf("then it had %v, %v", frames, err)
			}
		})
	}
}

// TestARepeatedMessageHasTheTaskAsItIs checks that a message that is sent again joins its task where it is now, also if the
// task has gone on since the message.
func TestARepeatedMessageHasTheTaskAsItIs(t *testing.T) {
	t.Parallel()
	c := client{served(t, ""), "asks"}
	first := message("1", "hi", "")
	task := c.call("SendMessage", first).Want(t, 200, "TASK_STATE_INPUT_REQUIRED").Text("result.task.id")
	answered := c.stream("SendStreamingMessage", message("2", "Friday", `,"taskId":"`+task+`"`), 0)
	c.call("SendMessage", first).Want(t, 200, "TASK_STATE_COMPLETED")
	frames := c.stream("SendStreamingMessage", first, 0)
	if got := added(t, nil, frames); got.state != "TASK_STATE_COMPLETED" {
		t.Errorf("the repeated stream is %v", frames)
	}
	last := answered[len(answered)-2]
	if frames = c.stream("SendStreamingMessage", first, 0, "Last-Event-ID", last.ID); len(frames) != 1 || c.at(frames[0], "statusUpdate.status.state") != "TASK_STATE_COMPLETED" {
		t.Errorf("after frame %s of its answer: %v", last.ID, frames)
	}
}

// TestClientsThatLeaveStopNothing checks that a task ends although the client of its stream or of a blocking send is gone.
func TestClientsThatLeaveStopNothing(t *testing.T) {
	t.Parallel()
	c, gate := held(t)
	frames := c.stream("SendStreamingMessage", message("m", "hi", ""), 2)
	gate.Await(t)
	gate.Open()
	task := c.at(frames[0], "task.id")
	c.awaitState(task, "TASK_STATE_COMPLETED")
}

// TestPositionsThatAreNone checks that a stream with a bad Last-Event-ID is refused before it begins.
func TestPositionsThatAreNone(t *testing.T) {
	t.Parallel()
	c := client{served(t, ""), "steps"}
	task := c.call("SendMessage", message("m", "hi", "")).Text("result.task.id")
	for _, id := range []string{"x", "-1", "1.x", "99999", "1.2.3", "18446744073709551616"} {
		c.fails(-32602, "SubscribeToTask", `{"id":"`+task+`"}`, "Last-Event-ID", id)
	}
}

// TestRefusedStreamsBeginNothing checks that a message with a Last-Event-ID, which can only be a repeated one, starts
// nothing if it is new.
func TestRefusedStreamsBeginNothing(t *testing.T) {
	t.Parallel()
	c := client{served(t, ""), "steps"}
	c.fails(-32602, "SendStreamingMessage", message("m", "hi", ""), "Last-Event-ID", "2.0")
	if n := c.call("ListTasks", `{}`).At("result.totalSize"); n != 0.0 {
		t.Errorf("there are %v tasks", n)
	}
}

// TestCancel checks that a running task is canceled for everybody, that a question is dropped, and that a repeated
// cancellation is no error (a2a-js#545).
func TestCancel(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	c := client{b, "hang"}
	task := c.begun("m", "")
	c.awaitState(task, "TASK_STATE_WORKING")
	stream := later(t, func() []rig.Frame { return c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 0) })
	first := c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 1)
	if got := added(t, nil, first).state; got != "TASK_STATE_WORKING" {
		t.Errorf("the task is %s", got)
	}
	for range 2 {
		c.call("CancelTask", `{"id":"`+task+`"}`).Want(t, 200, `"state":"TASK_STATE_CANCELED"`)
	}
	frames := stream()
	if got := added(t, nil, frames).state; got != "TASK_STATE_CANCELED" {
		t.Errorf("the stream ends with %s", got)
	}
	for _, agent := range []string{"asks", "ask"} {
		asks := client{b, agent}
		task = asks.call("SendMessage", message("m", "hi", "")).Want(t, 200, "INPUT_REQUIRED").Text("result.task.id")
		asks.call("CancelTask", `{"id":"`+task+`"}`).Want(t, 200, `"state":"TASK_STATE_CANCELED"`)
		asks.fails(-32004, "SendMessage", message("m-2", "late", `,"taskId":"`+task+`"`))
	}
}

// TestTasksSurviveTheProcess kills the bridge while a task is at work: the next process finishes it and serves its
// stream from where the client was.
func TestTasksSurviveTheProcess(t *testing.T) {
	t.Parallel()
	c, gate := held(t)
	frames := c.stream("SendStreamingMessage", message("m", "hi", `,"contextId":"mine"`), 3)
	gate.Await(t)
	task := c.at(frames[0], "task.id")
	c.Kill()
	gate.Open()
	c = client{c.Again(), c.agent}
	rest := c.stream("SendStreamingMessage", message("m", "hi", `,"contextId":"mine"`), 0, "Last-Event-ID", frames[2].ID)
	got := added(t, added(t, nil, frames), rest)
	if diff := cmp.Diff(sumOf(t, c.task(task)), got, cmp.AllowUnexported(sum{})); diff != "" || got.state != "TASK_STATE_COMPLETED" {
		t.Errorf("the task is %s (-GetTask +streams):\n%s", got.state, diff)
	}
	if list := c.call("ListTasks", `{"contextId":"mine"}`).OK().List("result.tasks"); len(list) != 1 {
		t.Errorf("the context has %d tasks", len(list))
	}
}

// TestRepeatedMessagesJoinTheirTask sends the same message several times at once, over both bindings and versions: one
// task is made, and everybody gets it (mastra PR 20708).
func TestRepeatedMessagesJoinTheirTask(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL)}))
	c := client{b, "agent"}
	var ids []func() string
	for i := range 8 {
		ids = append(ids, later(t, func() string {
			switch i % 4 {
			case 0:
				return c.call("SendMessage", message("m", "hi", "")).Text("result.task.id")
			case 1:
				return c.at(c.stream("SendStreamingMessage", message("m", "hi", ""), 0)[0], "task.id")
			case 2:
				return b.Do("POST", "/a2a/agent/message:send", message("m", "hi", "")).Text("task.id")
			default:
				return b.Do("POST", "/a2a/agent", request("message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}`)).Text("result.id")
			}
		}))
	}
	first := ids[0]()
	for _, other := range ids[1:] {
		if id := other(); id != first || id == "" {
			t.Errorf("the message made the tasks %q and %q", first, id)
		}
	}
	if n := agent.Counts().Creates; n != 1 {
		t.Errorf("the agent got %d tasks", n)
	}
	c.fails(-32602, "SendMessage", message("m", "something else", ""))
	if other := c.call("SendMessage", message("m", "hi", `,"contextId":"another"`)).Text("result.task.id"); other == first {
		t.Error("the id of a message in another context is the same message")
	}
}
