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
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// This file has tests of failures that users report of other implementations of A2A. Section G of docs/faults.md lists
// all of these failures with their tests, many of which are elsewhere.

// inFront returns a client of a bridge in front of an agent.
func inFront(t *testing.T, agent http.Handler, dialect string) client {
	t.Helper()
	return client{rig.InFront(t, agent, func(a *config.Agent) { a.Dialect = dialect }), "agent"}
}

// TestEndedTasksAreNotSubscribedTo checks that a subscription to a task that has ended is refused at once with a document
// instead of a stream, unless the client continues an earlier stream (a2a-dotnet#340, #341, agent-framework PR 5275).
func TestEndedTasksAreNotSubscribedTo(t *testing.T) {
	t.Parallel()
	b := served(t, "")
	for agent, state := range map[string]string{"steps": "TASK_STATE_COMPLETED", "fail": "TASK_STATE_FAILED", "asks": "TASK_STATE_CANCELED"} {
		c := client{b, agent}
		task := c.call("SendMessage", message("m", "hi", "")).Is(200).Text("result.task.id")
		if state == "TASK_STATE_CANCELED" {
			c.call("CancelTask", `{"id":"`+task+`"}`).Is(200)
		}
		c.fails(-32004, "SubscribeToTask", `{"id":"`+task+`"}`).Want(t, 200, state)
		b.Post("/a2a/"+agent+"/tasks/"+task+":subscribe", "").Want(t, 400, "UNSUPPORTED_OPERATION", state)
		b.Post("/a2a/"+agent, request("tasks/resubscribe", `{"id":"`+task+`"}`)).Want(t, 200, "-32004")
		frames := c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 0, "Last-Event-ID", "0")
		if got := c.at(frames[len(frames)-1], "statusUpdate.status.state"); got != state {
			t.Errorf("%s: the continued stream ends with %q", agent, got)
		}
	}
}

// TestFailuresOfA2AAgents checks that a failed task of an A2A agent is a failed task for A2A clients, and an error for
// others, with the agent's words but without an answer (adk-python#6708, #4309).
func TestFailuresOfA2AAgents(t *testing.T) {
	t.Parallel()
	c := inFront(t, &adaptertest.A2AAgent{}, "a2a")
	failed := c.call("SendMessage", message("m", "fail now", "")).Want(t, 200, "TASK_STATE_FAILED", `"code":"agent_failed"`)
	if text := rig.TextOf(rig.Dig(failed.At("result.task.status.message.parts.0"), "text")); !strings.Contains(text, "the disk is full") {
		t.Errorf("the task failed with %q", text)
	}
	if answers := failed.List("result.task.artifacts"); len(answers) > 0 {
		t.Errorf("a failed task has the answer %v", answers)
	}
	frames := c.stream("SendStreamingMessage", message("m-2", "fail now", ""), 0)
	if got := c.at(frames[len(frames)-1], "statusUpdate.status.state"); got != "TASK_STATE_FAILED" || slices.Contains(kinds(frames), "artifactUpdate") {
		t.Errorf("the stream has %v and ends with %q", kinds(frames), got)
	}
	run := c.Post("/runs/wait", `{"agent_id":"agent","input":{"messages":[{"role":"user","content":"fail now"}]}}`).OK()
	if run.Text("run.status") != "error" || !strings.Contains(run.String(), "the disk is full") {
		t.Errorf("a run is %s", run.Body)
	}
}

// TestQuestionsOfA2AAgents checks that the question of an A2A agent is an open question in every dialect, and that the
// answer goes to the agent's own task (A2A#332, mcp-context-forge#6703).
func TestQuestionsOfA2AAgents(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{}
	c := inFront(t, a, "a2a")
	asked := c.call("SendMessage", message("m", "ask me", "")).Want(t, 200, "TASK_STATE_INPUT_REQUIRED", "Which colour?", `"interrupt_id"`)
	task, context := asked.Text("result.task.id"), asked.Text("result.task.contextId")
	c.Expect("/threads/"+context, "status", "interrupted")
	answered := c.call("SendMessage", message("m-2", "red", `,"taskId":"`+task+`","contextId":"`+context+`"`)).Want(t, 200, "TASK_STATE_COMPLETED", "painted red")
	if got := answered.Text("result.task.id"); got != task {
		t.Errorf("the answer is in task %q, and the question in %q", got, task)
	}
	if m := a.Seen[1]; m["taskId"] != "task-1" || m["contextId"] != "context-of-task-1" {
		t.Errorf("the agent got the answer as %v", m)
	}
	step := c.Post("/ap/v1/agent/tasks/"+c.Post("/ap/v1/agent/tasks", `{"input":"ask me"}`).OK().Text("task_id")+"/steps", "").OK()
	for step.At("is_last") != true && step.Text("output") != "Which colour?" {
		step = c.Post("/ap/v1/agent/tasks/"+step.Text("task_id")+"/steps", "").OK()
	}
	if step.At("is_last") != false {
		t.Errorf("a step that asks is the last one: %s", step.Body)
	}
}

// TestAnswersAtOnce sends several answers to a question at once. One of them counts, and the others are refused (mastra
// PR 20708).
func TestAnswersAtOnce(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{}
	c := inFront(t, a, "a2a")
	task := c.call("SendMessage", message("m", "ask me", "")).Want(t, 200, "TASK_STATE_INPUT_REQUIRED").Text("result.task.id")
	var answers []func() rig.Answer
	for i := range 6 {
		answers = append(answers, later(t, func() rig.Answer {
			return c.call("SendMessage", message("m-"+strconv.Itoa(i), "red "+strconv.Itoa(i), `,"taskId":"`+task+`"`))
		}))
	}
	taken := 0
	for _, answer := range answers {
		switch got := answer(); {
		case got.At("error.code") == -32004.0:
		case got.Text("result.task.status.state") == "TASK_STATE_COMPLETED":
			taken++
		default:
			t.Errorf("an answer is answered with %s", got.Body)
		}
	}
	if taken != 1 || a.Work() != 2 {
		t.Errorf("%d answers were taken, and the agent received %d messages", taken, a.Work())
	}
}

// TestMessagesToAContextAtOnce sends messages to one context at once. Each begins a task, and the tasks are worked on one
// after the other (mastra#4415).
func TestMessagesToAContextAtOnce(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{}
	c := inFront(t, a, "a2a")
	var tasks []func() rig.Answer
	for i := range 4 {
		tasks = append(tasks, later(t, func() rig.Answer {
			return c.call("SendMessage", message("m-"+strconv.Itoa(i), "say", `,"contextId":"c"`))
		}))
	}
	ids := map[string]bool{}
	for _, task := range tasks {
		got := task().Want(t, 200, "TASK_STATE_COMPLETED")
		ids[got.Text("result.task.id")] = true
	}
	if len(ids) != len(tasks) || a.Work() != len(tasks) {
		t.Errorf("%d tasks, and the agent received %d messages", len(ids), a.Work())
	}
	for _, m := range a.Seen[1:] {
		if m["contextId"] != "context-of-task-1" {
			t.Errorf("a message went to the context %v", m["contextId"])
		}
	}
}

// TestBlockingInVersion1 checks that a client of version 1.0 that sends the member blocking of 0.3 does not wait for the
// task (a2a-go#346).
func TestBlockingInVersion1(t *testing.T) {
	t.Parallel()
	c, gate := held(t)
	send := strings.TrimSuffix(message("m", "hi", ""), "}") + `,"configuration":{"blocking":false}}`
	task := c.call("SendMessage", send).Want(t, 200, "TASK_STATE_SUBMITTED").Text("result.task.id")
	gate.Open()
	c.awaitState(task, "TASK_STATE_COMPLETED")
}

// TestDataOfA2AAgents checks that data of an A2A agent reaches clients, and that an answer of data alone does not repeat
// the turn before it (LangGraph 0.16, litellm#28577).
func TestDataOfA2AAgents(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{}
	a.Change = func(ev map[string]any) {
		u, _ := ev["artifactUpdate"].(map[string]any)
		if u == nil || len(a.Seen) < 2 {
			return
		}
		u["artifact"].(map[string]any)["parts"] = []any{map[string]any{"data": map[string]any{"degrees": 21}}}
	}
	c := inFront(t, a, "a2a")
	c.call("SendMessage", message("m", "say", `,"contextId":"c"`)).Want(t, 200, "third")
	got := c.call("SendMessage", message("m-2", "say", `,"contextId":"c"`)).Want(t, 200, "TASK_STATE_COMPLETED")
	answer := string(raw(t, got.At("result.task.artifacts")))
	if !strings.Contains(answer, `degrees`) || strings.Contains(answer, "third") {
		t.Errorf("the answer is %s", answer)
	}
}

// TestTasksThatCannotStart checks that a task whose agent cannot be reached fails with the reason, for callers that wait
// and for those that do not (xagent PR 838).
func TestTasksThatCannotStart(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"taskstep", "threadrun", "a2a"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			c := client{rig.InFrontOf(t, "http://127.0.0.1:9", func(a *config.Agent) { a.Dialect = dialect }), "agent"}
			c.call("SendMessage", message("m", "hi", "")).Want(t, 200, "TASK_STATE_FAILED", `"code":"upstream_unreachable"`)
			frames := c.stream("SendStreamingMessage", message("m-2", "hi", ""), 0)
			if got := c.at(frames[len(frames)-1], "statusUpdate.status.state"); got != "TASK_STATE_FAILED" {
				t.Errorf("the stream ends with %s", frames[len(frames)-1].Data)
			}
			c.awaitState(c.begun("m-3", ""), "TASK_STATE_FAILED")
			for _, state := range []string{"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"} {
				if list := c.call("ListTasks", `{"status":"`+state+`"}`).OK(); list.At("result.totalSize") != 0.0 {
					t.Errorf("tasks are still %s: %s", state, list.Body)
				}
			}
		})
	}
}

// TestMessagesToTasksAtWork checks that a message to a task that is at work or waits for its turn is refused, and that the
// task continues (A2A#1992).
func TestMessagesToTasksAtWork(t *testing.T) {
	t.Parallel()
	c, gate := held(t)
	working := c.begun("m", `,"contextId":"c"`)
	gate.Await(t)
	c.awaitState(working, "TASK_STATE_WORKING")
	queued := c.begun("m-2", `,"contextId":"c"`)
	for task, state := range map[string]string{working: "TASK_STATE_WORKING", queued: "TASK_STATE_SUBMITTED"} {
		c.fails(-32004, "SendMessage", message("more", "and this", `,"taskId":"`+task+`"`)).Want(t, 200, state)
		c.fails(-32004, "SendStreamingMessage", message("more", "and this", `,"taskId":"`+task+`","contextId":"c"`))
	}
	gate.Open()
	for _, task := range []string{working, queued} {
		c.awaitState(task, "TASK_STATE_COMPLETED")
		if got := c.task(task); strings.Contains(got.String(), "and this") {
			t.Errorf("a refused message is in the task: %s", got.Body)
		}
	}
	if list := c.call("ListTasks", `{"contextId":"c"}`).OK(); list.At("result.totalSize") != 2.0 {
		t.Errorf("the tasks are %s", list.Body)
	}
}

// TestAnyReplicaServesATask sends, repeats, follows, lists and cancels over two bridges with one database (a2a-rust
// 0.15.0).
func TestAnyReplicaServesATask(t *testing.T) {
	t.Parallel()
	database := storetest.Schema(t)
	gate := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, gate).URL)})
	cfg.Database = database
	one, two := client{rig.StartBridge(t, cfg), "agent"}, client{rig.StartBridge(t, cfg), "agent"}
	begun := one.stream("SendStreamingMessage", message("m", "hi", `,"contextId":"c"`), 3)
	gate.Await(t)
	task := one.at(begun[0], "task.id")
	subscribe := func(c client) func() []rig.Frame {
		return later(t, func() []rig.Frame {
			return c.stream("SubscribeToTask", `{"id":"`+task+`"}`, 0, "Last-Event-ID", begun[2].ID)
		})
	}
	streams := []func() []rig.Frame{subscribe(one), subscribe(two), later(t, func() []rig.Frame {
		return two.stream("SendStreamingMessage", message("m", "hi", `,"contextId":"c"`), 0, "Last-Event-ID", begun[2].ID)
	})}
	two.fails(-32004, "SendMessage", message("m-2", "more", `,"taskId":"`+task+`"`))
	queued := two.begun("m-3", `,"contextId":"c"`)
	one.call("CancelTask", `{"id":"`+queued+`"}`).Want(t, 200, "TASK_STATE_CANCELED")
	gate.Open()
	first := streams[0]()
	for _, other := range streams[1:] {
		if diff := cmp.Diff(first, other()); diff != "" {
			t.Errorf("readers on two bridges got different frames (-first +other):\n%s", diff)
		}
	}
	for _, c := range []client{one, two} {
		got := added(t, added(t, nil, begun), first)
		if diff := cmp.Diff(sumOf(t, c.task(task)), got, cmp.AllowUnexported(sum{})); diff != "" || got.state != "TASK_STATE_COMPLETED" {
			t.Errorf("the task is %s (-GetTask +streams):\n%s", got.state, diff)
		}
		if list := c.call("ListTasks", `{"contextId":"c"}`).OK(); list.At("result.totalSize") != 2.0 {
			t.Errorf("the context has the tasks %s", list.Body)
		}
	}
}
