package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/adaptertest/toy"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// face is a conversation of two turns in one dialect, followed by reads of all its results.
type face struct {
	name string
	talk func(t *testing.T, b *rig.Bridge, who rig.Behind)
}

// TestMatrix uses every face with every kind of agent.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, f := range []face{{"langgraph", talkLangGraph}, {"agentprotocol", talkAgentProtocol}, {"taskstep", talkTaskStep}, {"a2a", talkA2A}, {"toy", talkToy}} {
		for _, who := range slices.Concat(rig.AgentsBehind(), rig.A2ABehind(), []rig.Behind{rig.ToyBehind()}) {
			t.Run(f.name+"/"+who.Name, func(t *testing.T) {
				t.Parallel()
				peer := who.Peer()
				b := inFrontSpeaking(t, withToy(), peer)
				f.talk(t, b, who)
				checkCounts(t, f, who, peer)
			})
		}
	}
}

// talkLangGraph creates runs on a thread in LangGraph's form. It waits for the first and streams the second.
func talkLangGraph(t *testing.T, b *rig.Bridge, who rig.Behind) {
	thread := b.Post("/threads", `{}`).OK().Text("thread_id")
	at := "/threads/" + thread
	waited := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	rig.CheckTurns(t, "wait", waited.At(""), who, 1)
	res, frames := b.Stream("POST", at+"/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","values"],`+rig.SaysMore+`}`, 0)
	res.OK()
	rig.CheckFrames(t, frames, who)
	rig.CheckTurns(t, "stream", rig.LastFrame(t, frames, "values").At(""), who, 2)
	run := frames[0].At("run_id").(string)
	joined := b.Get(at + "/runs/" + run + "/join").OK()
	rig.SameJSON(t, "join and the last values of the stream", joined.Body, []byte(rig.LastFrame(t, frames, "values").Data))
	checkThread(t, b, thread, who, joined)
	checkRunsAsTasks(t, b, thread, who)
}

// talkAgentProtocol uses the Agent Protocol's own routes, where the body names the thread.
func talkAgentProtocol(t *testing.T, b *rig.Bridge, who rig.Behind) {
	thread := b.Post("/threads", `{}`).OK().Text("thread_id")
	waited := b.Post("/runs/wait", `{"agent_id":"agent","thread_id":"`+thread+`",`+rig.SaysHi+`}`).OK()
	if waited.Text("run.status") != "success" || waited.Text("run.thread_id") != thread {
		t.Errorf("the response to wait: %s", waited.Body)
	}
	rig.CheckTurns(t, "wait", waited.At("values"), who, 1)
	if diff := cmp.Diff(append([]any{"hi"}, rig.Anys(who.Texts)...), rig.Pluck(waited.List("messages"), "content")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	res, frames := b.Stream("POST", "/runs/stream", `{"agent_id":"agent","thread_id":"`+thread+`","stream_mode":["updates","values"],`+rig.SaysMore+`}`, 0)
	res.OK()
	rig.CheckFrames(t, frames, who)
	run := frames[0].At("run_id").(string)
	again := b.Get("/runs/" + run + "/wait").OK()
	rig.CheckTurns(t, "wait for what was streamed", again.At("values"), who, 2)
	if diff := cmp.Diff(rig.LastFrame(t, frames, "values").At(""), again.At("values")); diff != "" {
		t.Errorf("stream and wait differ (-stream +wait):\n%s", diff)
	}
	if got := b.Get("/runs/" + run).OK(); got.Text("status") != "success" || got.Text("agent_id") != "agent" {
		t.Errorf("the ended run: %s", got.Body)
	}
	checkThread(t, b, thread, who, b.Get("/runs/"+run+"/join").OK())
	checkRunsAsTasks(t, b, thread, who)
}

// talkTaskStep pulls the steps of a task to the last one, then sends a follow-up.
func talkTaskStep(t *testing.T, b *rig.Bridge, who rig.Behind) {
	const tasks = "/ap/v1/agent/tasks"
	task := b.Post(tasks, `{"input":"hi","additional_input":{"k":1}}`).OK().Text("task_id")
	at := tasks + "/" + task
	uploaded := b.Upload(at+"/artifacts", "data.txt", "in", "given").OK()
	if uploaded.At("agent_created") != false || uploaded.At("file_name") != "data.txt" {
		t.Errorf("the upload: %s", uploaded.Body)
	}
	if th := b.Get("/threads/" + task).OK(); th.Text("status") != "idle" || th.Text("metadata.apbridge.task_id") != task {
		t.Errorf("a task before its first step, as a thread: %s", th.Body)
	}
	first := rig.PullAll(t, b, at, "")
	rig.CheckSteps(t, who, first)
	second := rig.PullAll(t, b, at, `{"input":"more"}`)
	rig.CheckSteps(t, who, second)
	checkTask(t, b, task, append(first, second...))
	checkArtifacts(t, b, at, who)
	th := b.Get("/threads/" + task).OK()
	if th.Text("status") != "idle" {
		t.Errorf("the task's thread is %s", th.Text("status"))
	}
	rig.CheckTurns(t, "the task's thread", th.At("values"), who, 2)
	found := b.Post("/threads/search", `{"metadata":{"apbridge":{"task_id":"`+task+`"}}}`).OK()
	if diff := cmp.Diff([]any{task}, rig.Pluck(found.List(""), "thread_id")); diff != "" {
		t.Errorf("threads found by the task's id (-want +got):\n%s", diff)
	}
}

// talkA2A sends two messages in one context. The response to the first, over JSON-RPC, is the ended task. The second is
// streamed over HTTP+JSON.
func talkA2A(t *testing.T, b *rig.Bridge, who rig.Behind) {
	said := func(id, text, context string) string {
		return `{"message":{"messageId":"` + id + `","role":"ROLE_USER",` + context + `"parts":[{"text":"` + text + `"}]}}`
	}
	first := b.Do("POST", "/a2a/agent", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+said("m-1", "hi", "")+`}`, "A2A-Version", "1.0").OK()
	const task = "result.task."
	if state := first.Text(task + "status.state"); state != "TASK_STATE_COMPLETED" {
		t.Fatalf("the task is %s: %s", state, first.Body)
	}
	var texts []any
	addText := func(parts any) {
		text := ""
		for _, p := range parts.([]any) { // an A2A agent may have several
			text += rig.TextOf(rig.Dig(p, "text"))
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	for _, m := range first.List(task + "history")[1:] { // without the user's
		addText(rig.Dig(m, "parts"))
	}
	for _, a := range first.List(task + "artifacts") {
		addText(rig.Dig(a, "parts"))
	}
	if diff := cmp.Diff(rig.Anys(who.Texts), texts); diff != "" {
		t.Errorf("messages and response of the first task (-want +got):\n%s", diff)
	}
	context := first.Text(task + "contextId")
	res, frames := b.Stream("POST", "/a2a/agent/message:stream", said("m-2", "more", `"contextId":"`+context+`",`), 0)
	res.OK()
	texts = nil
	for _, f := range frames {
		if f.At("artifactUpdate.lastChunk") == true {
			addText(f.At("artifactUpdate.artifact.parts"))
		}
	}
	if diff := cmp.Diff(rig.Anys(who.Texts), texts); diff != "" {
		t.Errorf("responses of the second task (-want +got):\n%s", diff)
	}
	if got := frames[len(frames)-1].At("statusUpdate.status.state"); got != "TASK_STATE_COMPLETED" {
		t.Errorf("the stream ends with %v", got)
	}
	th := b.Get("/threads/" + context).OK()
	rig.CheckTurns(t, "the context as a thread", th.At("values"), who, 2)
	runs := b.Get("/threads/" + context + "/runs").OK().List("")
	checkThread(t, b, context, who, b.Get("/runs/"+rig.Dig(runs[0], "run_id").(string)+"/join").OK())
	checkRunsAsTasks(t, b, context, who)
}

// talkToy sends two messages in one conversation, which is an ordinary thread.
func talkToy(t *testing.T, b *rig.Bridge, who rig.Behind) {
	thread := ""
	for _, words := range []string{"hi", "more"} {
		said := b.Do("POST", "/toy/say", words, "Content-Type", "text/plain", "Toy-Talk", thread).OK()
		thread = said.Header.Get("Toy-Talk")
		var texts []string
		for line := range strings.Lines(said.String()) {
			text, err := strconv.Unquote(strings.TrimPrefix(strings.TrimSpace(line), "- "))
			if err != nil {
				text = line
			}
			texts = append(texts, text)
		}
		if diff := cmp.Diff(append(who.Texts[:len(who.Texts):len(who.Texts)], ".\n"), texts); diff != "" {
			t.Errorf("response to %q (-want +got):\n%s", words, diff)
		}
	}
	th := b.Get("/threads/" + thread).OK()
	rig.CheckTurns(t, "the conversation as a thread", th.At("values"), who, 2)
	runs := b.Get("/threads/" + thread + "/runs").OK().List("")
	checkThread(t, b, thread, who, b.Get("/runs/"+rig.Dig(runs[0], "run_id").(string)+"/join").OK())
	checkRunsAsTasks(t, b, thread, who)
}

// checkTask checks that reading a task returns the steps as they were handed out.
func checkTask(t *testing.T, b *rig.Bridge, task string, steps []rig.Answer) {
	t.Helper()
	at := "/ap/v1/agent/tasks/" + task
	got := b.Get(at).OK()
	if got.Text("input") != "hi" || got.At("additional_input.k") != 1.0 {
		t.Errorf("the task: %s", got.Body)
	}
	list := b.Get(at + "/steps?page_size=50").OK()
	var want []any
	for _, s := range steps {
		want = append(want, s.At(""))
		read := b.Get(at + "/steps/" + s.Text("step_id")).OK()
		if diff := cmp.Diff(s.At(""), read.At(""), sinceModified); diff != "" {
			t.Errorf("a step (-handed out +read):\n%s", diff)
		}
	}
	if diff := cmp.Diff(want, list.List("steps"), sinceModified); diff != "" {
		t.Errorf("steps listed (-handed out +listed):\n%s", diff)
	}
	if list.At("pagination.total_items") != float64(len(steps)) {
		t.Errorf("pagination %v, want %d items", list.At("pagination"), len(steps))
	}
	all := b.Get("/ap/v1/agent/tasks").OK()
	if diff := cmp.Diff([]any{task}, rig.Pluck(all.List("tasks"), "task_id")); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

// sinceModified removes the time at which a file was last written, since a later step may have rewritten it.
var sinceModified = cmp.FilterPath(func(p cmp.Path) bool {
	key, ok := p.Last().(cmp.MapIndex)
	return ok && key.Key().String() == "modified_at"
}, cmp.Ignore())

// checkArtifacts checks that the upload and the agent's file can be listed and read.
func checkArtifacts(t *testing.T, b *rig.Bridge, at string, who rig.Behind) {
	t.Helper()
	want := map[string]string{"data.txt": "given"}
	if who.Steps {
		want["result.txt"] = "42"
	}
	got := map[string]string{}
	for _, a := range b.Get(at + "/artifacts").OK().List("artifacts") {
		content := b.Get(at + "/artifacts/" + rig.Dig(a, "artifact_id").(string)).OK()
		got[rig.Dig(a, "file_name").(string)] = string(content.Body)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}

// checkThread checks that thread, state and history agree with the frames of the run.
func checkThread(t *testing.T, b *rig.Bridge, thread string, who rig.Behind, truth rig.Answer) {
	t.Helper()
	at := "/threads/" + thread
	th := b.Get(at).OK()
	if th.Text("status") != "idle" {
		t.Errorf("the thread is %s", th.Text("status"))
	}
	if diff := cmp.Diff(truth.At(""), th.At("values")); diff != "" {
		t.Errorf("the thread's values (-run +thread):\n%s", diff)
	}
	state := b.Get(at + "/state").OK()
	if diff := cmp.Diff(truth.At(""), state.At("values")); diff != "" {
		t.Errorf("state (-run +state):\n%s", diff)
	}
	if len(state.List("next")) != 0 || len(state.List("tasks")) != 0 {
		t.Errorf("next and tasks of a thread at rest: %s", state.Body)
	}
	history := b.Get(at + "/history?limit=100").OK().List("")
	want := 2 * who.Checkpoints
	if who.Checkpoints == rig.InputAndSteps {
		want++ // the root, before the first input
	}
	if len(history) != want {
		t.Errorf("%d checkpoints, want %d: %v", len(history), want, rig.Pluck(history, "metadata"))
	}
	if len(history) > 0 {
		if diff := cmp.Diff(state.At("checkpoint"), rig.Dig(history[0], "checkpoint")); diff != "" {
			t.Errorf("the head of the history (-state +history):\n%s", diff)
		}
	}
	for i := range len(history) - 1 {
		if diff := cmp.Diff(rig.Dig(history[i+1], "checkpoint"), rig.Dig(history[i], "parent_checkpoint")); diff != "" {
			t.Errorf("checkpoint %d does not follow from %d (-want +got):\n%s", i, i+1, diff)
		}
	}
}

// checkRunsAsTasks checks that every run created through threads is a separate task.
func checkRunsAsTasks(t *testing.T, b *rig.Bridge, thread string, who rig.Behind) {
	t.Helper()
	runs := b.Get("/threads/" + thread + "/runs").OK().List("") // newest first
	tasks := b.Get("/ap/v1/agent/tasks").OK().List("tasks")     // oldest first
	if len(runs) != 2 || len(tasks) != 2 {
		t.Fatalf("%d runs and %d tasks, want 2 of each", len(runs), len(tasks))
	}
	for i, words := range []string{"hi", "more"} {
		run, task := rig.Dig(runs[1-i], "run_id"), tasks[i]
		if rig.Dig(task, "task_id") != run || rig.Dig(task, "input") != words {
			t.Errorf("task %d is %v, want run %v with the input %q", i, task, run, words)
		}
		steps := b.Get(fmt.Sprintf("/ap/v1/agent/tasks/%v/steps", run)).OK().List("steps")
		if diff := cmp.Diff(rig.Anys(who.Texts), rig.Pluck(steps, "output")); diff != "" {
			t.Errorf("steps of run %d (-want +got):\n%s", i, diff)
		}
		for k, last := range rig.Pluck(steps, "is_last") {
			if last != (k == len(steps)-1) {
				t.Errorf("run %d, step %d: is_last is %v", i, k+1, last)
			}
		}
	}
}

// checkCounts checks that the agent received every expected request once, and no others.
func checkCounts(t *testing.T, f face, who rig.Behind, peer adaptertest.Peer) {
	t.Helper()
	if said, ok := peer.(*toy.Agent); ok {
		if want := 2 * len(who.Texts); said.Work() != want {
			t.Errorf("the toy made %d outputs, want %d", said.Work(), want)
		}
		return
	}
	if said, ok := peer.(*adaptertest.A2AAgent); ok {
		if said.Work() != 2 {
			t.Errorf("the agent received %d messages, want 2", said.Work())
		}
		return
	}
	agent, ok := peer.(*adaptertest.StepAgent)
	if !ok {
		upstream := peer.(*adaptertest.ThreadAgent)
		if upstream.Work() != 2 || upstream.Threads() != 1 {
			t.Errorf("%d runs on %d threads, want 2 on 1", upstream.Work(), upstream.Threads())
		}
		// The first run's request creates the thread. Before the second run, the bridge reads the state to see whether
		// another client used the thread.
		if made, read := upstream.Calls("POST /threads"), upstream.Calls("GET /threads/{t}/state"); made != 0 || read != 1 {
			t.Errorf("%d threads created separately, the state read %d times, want 0 and 1", made, read)
		}
		return
	}
	got := agent.Counts()
	want := adaptertest.Counts{Creates: 2, Steps: 2 * len(who.Texts)}
	if who.TakesFiles {
		want.Uploads = 1 // the second task receives the file of the first
		if f.name == "taskstep" {
			want.Uploads = 3 // the client's, and both again for the second
		}
	}
	got.Downloads, got.Lists, got.Probes = 0, 0, 0 // reading twice does no harm
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests to the agent (-want +got):\n%s", diff)
	}
}
