package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/google/go-cmp/cmp"
)

// behind is a kind of agent to stand in front of.
type behind struct {
	name string
	peer func() adaptertest.Peer
	// texts are the outputs of one turn as every face shows them.
	texts []string
	// takesFiles: files reach the agent.
	takesFiles bool
	steps      bool // a task/step agent
}

// file is where the state has what the agent wrote as out/result.txt.
func (w behind) file() string {
	if w.name == string(adaptertest.Bee) {
		return "/result.txt" // it hands files over without their folders
	}
	return "/out/result.txt"
}

// face is a way to talk to the bridge: a conversation of two turns with
// everything that can be read of it afterwards.
type face struct {
	name string
	talk func(t *testing.T, b *bridge, who behind)
}

// TestMatrix has every face talk with every kind of agent.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, f := range []face{{"langgraph", talkLangGraph}, {"agentprotocol", talkAgentProtocol}, {"taskstep", talkTaskStep}} {
		for _, who := range agentsBehind() {
			t.Run(f.name+"/"+who.name, func(t *testing.T) {
				t.Parallel()
				peer := who.peer()
				b := inFront(t, peer)
				f.talk(t, b, who)
				checkCounts(t, f, who, peer)
			})
		}
	}
}

func agentsBehind() []behind {
	var list []behind
	for _, kind := range adaptertest.Kinds {
		texts := []string{"one", "two", "three"}
		switch kind {
		case adaptertest.Bee:
			texts = []string{`{"text":"one"}`, `{"text":"two"}`, `{"text":"three"}`}
		case adaptertest.Evo:
			texts = []string{`"one"`, `"two"`, `"three"`}
		}
		peer := func() adaptertest.Peer { return adaptertest.NewStepAgent(kind) }
		list = append(list, behind{string(kind), peer, texts, kind != adaptertest.Bee, true})
	}
	peer := func() adaptertest.Peer {
		return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay(), secondPlay()}}
	}
	return append(list, behind{"threadrun", peer, []string{"planning", "thinking <b>", "the answer is 42"}, false, false})
}

// secondPlay is a second turn of the conversation that ChatPlay begins: the
// same outputs under new ids, behind the messages of the first.
func secondPlay() adaptertest.ThreadPlay {
	play := adaptertest.ChatPlay()
	_, said, _ := strings.Cut(play.State, `"messages":[`)
	said, _, _ = strings.Cut(said, `]},"next"`)
	anew := strings.NewReplacer(`"run-`, `"more-`, "000000000004", "000000000005", `"content":"hi"`, `"content":"more"`)
	whole := strings.NewReplacer(`"messages":[]`, `"messages":[`+said+`]`, `"messages":[`, `"messages":[`+said+`,`)
	for i, f := range play.Frames {
		play.Frames[i] = anew.Replace(f)
		if strings.HasPrefix(f, "values") || strings.HasPrefix(f, "checkpoints") {
			play.Frames[i] = whole.Replace(play.Frames[i])
		}
	}
	play.State = whole.Replace(anew.Replace(play.State))
	return play
}

const (
	saysHi   = `"input":{"messages":[{"id":"0190c9a2-0000-7000-8000-000000000004","role":"user","content":"hi"}]}`
	saysMore = `"input":{"messages":[{"id":"0190c9a2-0000-7000-8000-000000000005","role":"user","content":"more"}]}`
)

// talkLangGraph: runs on a thread in LangGraph's shape, the first waited for,
// the second streamed.
func talkLangGraph(t *testing.T, b *bridge, who behind) {
	thread := b.post("/threads", `{}`).ok().text("thread_id")
	at := "/threads/" + thread
	waited := b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysHi+`}`).ok()
	checkTurns(t, "wait", waited.at(""), who, 1)
	res, frames := b.stream("POST", at+"/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","values"],`+saysMore+`}`, 0)
	res.ok()
	checkFrames(t, frames, who)
	checkTurns(t, "stream", lastFrame(t, frames, "values").at(""), who, 2)
	run := frames[0].at("run_id").(string)
	joined := b.get(at + "/runs/" + run + "/join").ok()
	same(t, "join and the last values of the stream", joined.body, []byte(lastFrame(t, frames, "values").data))
	checkThread(t, b, thread, who, joined)
	checkRunsAsTasks(t, b, thread, who)
}

// talkAgentProtocol: the Agent Protocol's own routes, where the thread stands
// in the body.
func talkAgentProtocol(t *testing.T, b *bridge, who behind) {
	thread := b.post("/threads", `{}`).ok().text("thread_id")
	waited := b.post("/runs/wait", `{"agent_id":"agent","thread_id":"`+thread+`",`+saysHi+`}`).ok()
	if waited.text("run.status") != "success" || waited.text("run.thread_id") != thread {
		t.Errorf("the run waited for: %s", waited.body)
	}
	checkTurns(t, "wait", waited.at("values"), who, 1)
	if diff := cmp.Diff(append([]any{"hi"}, anys(who.texts)...), pluck(waited.list("messages"), "content")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	res, frames := b.stream("POST", "/runs/stream", `{"agent_id":"agent","thread_id":"`+thread+`","stream_mode":["updates","values"],`+saysMore+`}`, 0)
	res.ok()
	checkFrames(t, frames, who)
	run := frames[0].at("run_id").(string)
	again := b.get("/runs/" + run + "/wait").ok()
	checkTurns(t, "wait for what was streamed", again.at("values"), who, 2)
	if diff := cmp.Diff(lastFrame(t, frames, "values").at(""), again.at("values")); diff != "" {
		t.Errorf("stream and wait differ (-stream +wait):\n%s", diff)
	}
	if got := b.get("/runs/" + run).ok(); got.text("status") != "success" || got.text("agent_id") != "agent" {
		t.Errorf("the run afterwards: %s", got.body)
	}
	checkThread(t, b, thread, who, b.get("/runs/"+run+"/join").ok())
	checkRunsAsTasks(t, b, thread, who)
}

// talkTaskStep: a task whose steps are pulled to the last, then more words.
func talkTaskStep(t *testing.T, b *bridge, who behind) {
	const tasks = "/ap/v1/agent/tasks"
	task := b.post(tasks, `{"input":"hi","additional_input":{"k":1}}`).ok().text("task_id")
	at := tasks + "/" + task
	uploaded := b.upload(at+"/artifacts", "data.txt", "in", "given").ok()
	if uploaded.at("agent_created") != false || uploaded.at("file_name") != "data.txt" {
		t.Errorf("the upload: %s", uploaded.body)
	}
	if th := b.get("/threads/" + task).ok(); th.text("status") != "idle" || th.text("metadata.apbridge.task_id") != task {
		t.Errorf("a task before its first step, as a thread: %s", th.body)
	}
	first := pullAll(t, b, at, "")
	checkSteps(t, who, first)
	second := pullAll(t, b, at, `{"input":"more"}`)
	checkSteps(t, who, second)
	checkTask(t, b, task, append(first, second...))
	checkArtifacts(t, b, at, who)
	th := b.get("/threads/" + task).ok()
	if th.text("status") != "idle" {
		t.Errorf("the task's thread is %s", th.text("status"))
	}
	checkTurns(t, "the task's thread", th.at("values"), who, 2)
	found := b.post("/threads/search", `{"metadata":{"apbridge":{"task_id":"`+task+`"}}}`).ok()
	if diff := cmp.Diff([]any{task}, pluck(found.list(""), "thread_id")); diff != "" {
		t.Errorf("threads found by the task's id (-want +got):\n%s", diff)
	}
}

// pullAll posts for steps until the last one; the first POST has a body.
func pullAll(t *testing.T, b *bridge, at, body string) []answer {
	t.Helper()
	return pullAtMost(t, b, at, body, 12)
}

func pullAtMost(t *testing.T, b *bridge, at, body string, most int) []answer {
	t.Helper()
	var steps []answer
	for len(steps) < most {
		step := b.post(at+"/steps", body).ok()
		steps, body = append(steps, step), ""
		if step.at("is_last") == true {
			return steps
		}
	}
	t.Fatalf("no step was the last: %s", steps[len(steps)-1].body)
	return nil
}

// checkSteps: one turn's steps are the agent's outputs in order, and only the
// last is the last.
func checkSteps(t *testing.T, who behind, steps []answer) {
	t.Helper()
	var texts []string
	for i, s := range steps {
		texts = append(texts, s.text("output"))
		if s.at("status") != "completed" || s.at("is_last") != (i == len(steps)-1) {
			t.Errorf("step %d: %s", i+1, s.body)
		}
	}
	if diff := cmp.Diff(who.texts, texts); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// checkTask: what is read of a task is what was handed out.
func checkTask(t *testing.T, b *bridge, task string, steps []answer) {
	t.Helper()
	at := "/ap/v1/agent/tasks/" + task
	got := b.get(at).ok()
	if got.text("input") != "hi" || got.at("additional_input.k") != 1.0 {
		t.Errorf("the task: %s", got.body)
	}
	list := b.get(at + "/steps?page_size=50").ok()
	var want []any
	for _, s := range steps {
		want = append(want, s.at(""))
		read := b.get(at + "/steps/" + s.text("step_id")).ok()
		if diff := cmp.Diff(s.at(""), read.at(""), sinceModified); diff != "" {
			t.Errorf("a step (-handed out +read):\n%s", diff)
		}
	}
	if diff := cmp.Diff(want, list.list("steps"), sinceModified); diff != "" {
		t.Errorf("steps listed (-handed out +listed):\n%s", diff)
	}
	if list.at("pagination.total_items") != float64(len(steps)) {
		t.Errorf("pagination %v, want %d items", list.at("pagination"), len(steps))
	}
	all := b.get("/ap/v1/agent/tasks").ok()
	if diff := cmp.Diff([]any{task}, pluck(all.list("tasks"), "task_id")); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

// sinceModified leaves out when a file was written last: a later step may have.
var sinceModified = cmp.FilterPath(func(p cmp.Path) bool {
	key, ok := p.Last().(cmp.MapIndex)
	return ok && key.Key().String() == "modified_at"
}, cmp.Ignore())

// checkArtifacts: the upload and the agent's file can be listed and read.
func checkArtifacts(t *testing.T, b *bridge, at string, who behind) {
	t.Helper()
	want := map[string]string{"data.txt": "given"}
	if who.steps {
		want["result.txt"] = "42"
	}
	got := map[string]string{}
	for _, a := range b.get(at + "/artifacts").ok().list("artifacts") {
		content := b.get(at + "/artifacts/" + dig(a, "artifact_id").(string)).ok()
		got[dig(a, "file_name").(string)] = string(content.body)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}

// checkTurns: the state holds the words of each turn, each with its outputs.
func checkTurns(t *testing.T, what string, values any, who behind, turns int) {
	t.Helper()
	var want []any
	for _, words := range []string{"hi", "more"}[:turns] {
		want = append(append(want, words), anys(who.texts)...)
	}
	list, _ := dig(values, "messages").([]any)
	if diff := cmp.Diff(want, pluck(list, "content")); diff != "" {
		t.Errorf("%s: messages (-want +got):\n%s", what, diff)
	}
	seen := map[any]bool{}
	for _, id := range pluck(list, "id") {
		if id == nil || seen[id] {
			t.Errorf("%s: the message id %v is missing or there twice", what, id)
		}
		seen[id] = true
	}
	if !who.steps {
		return
	}
	files, _ := dig(values, "files").(map[string]any)
	if file := dig(files[who.file()], "content"); file != "42" {
		t.Errorf("%s: the agent's file is %v among %v", what, file, files)
	}
}

// checkFrames: metadata first, one update per step, every frame with an id
// that is new.
func checkFrames(t *testing.T, frames []frame, who behind) {
	t.Helper()
	if len(frames) == 0 || frames[0].event != "metadata" {
		t.Fatalf("frames %s", eventNames(frames))
	}
	seen, updates := map[string]bool{}, 0
	for _, f := range frames {
		if f.id == "" || seen[f.id] {
			t.Errorf("frame %s has id %q", f.event, f.id)
		}
		seen[f.id] = true
		if f.event == "updates" {
			updates++
		}
	}
	if updates != len(who.texts) {
		t.Errorf("%d updates, want %d: %s", updates, len(who.texts), eventNames(frames))
	}
}

// checkThread: thread, state and history say what the run's reader was told.
func checkThread(t *testing.T, b *bridge, thread string, who behind, truth answer) {
	t.Helper()
	at := "/threads/" + thread
	th := b.get(at).ok()
	if th.text("status") != "idle" {
		t.Errorf("the thread is %s", th.text("status"))
	}
	if diff := cmp.Diff(truth.at(""), th.at("values")); diff != "" {
		t.Errorf("the thread's values (-run +thread):\n%s", diff)
	}
	state := b.get(at + "/state").ok()
	if diff := cmp.Diff(truth.at(""), state.at("values")); diff != "" {
		t.Errorf("state (-run +state):\n%s", diff)
	}
	if len(state.list("next")) != 0 || len(state.list("tasks")) != 0 {
		t.Errorf("next and tasks of a thread at rest: %s", state.body)
	}
	history := b.get(at + "/history?limit=100").ok().list("")
	// Of each turn: the input and a checkpoint per step; the scripted server
	// tells two more at the beginning.
	want := 2 * (1 + len(who.texts))
	if !who.steps {
		want = 2 * 5
	}
	if len(history) != want {
		t.Errorf("%d checkpoints, want %d: %v", len(history), want, pluck(history, "metadata"))
	}
	if len(history) > 0 {
		if diff := cmp.Diff(state.at("checkpoint"), dig(history[0], "checkpoint")); diff != "" {
			t.Errorf("the head of the history (-state +history):\n%s", diff)
		}
	}
	for i := range len(history) - 1 {
		if diff := cmp.Diff(dig(history[i+1], "checkpoint"), dig(history[i], "parent_checkpoint")); diff != "" {
			t.Errorf("checkpoint %d does not follow from %d (-want +got):\n%s", i, i+1, diff)
		}
	}
}

// checkRunsAsTasks: every run made through threads is a task of its own.
func checkRunsAsTasks(t *testing.T, b *bridge, thread string, who behind) {
	t.Helper()
	runs := b.get("/threads/" + thread + "/runs").ok().list("") // newest first
	tasks := b.get("/ap/v1/agent/tasks").ok().list("tasks")     // oldest first
	if len(runs) != 2 || len(tasks) != 2 {
		t.Fatalf("%d runs and %d tasks, want 2 of each", len(runs), len(tasks))
	}
	for i, words := range []string{"hi", "more"} {
		run, task := dig(runs[1-i], "run_id"), tasks[i]
		if dig(task, "task_id") != run || dig(task, "input") != words {
			t.Errorf("task %d is %v, want run %v with the input %q", i, task, run, words)
		}
		steps := b.get(fmt.Sprintf("/ap/v1/agent/tasks/%v/steps", run)).ok().list("steps")
		if diff := cmp.Diff(anys(who.texts), pluck(steps, "output")); diff != "" {
			t.Errorf("steps of run %d (-want +got):\n%s", i, diff)
		}
		for k, last := range pluck(steps, "is_last") {
			if last != (k == len(steps)-1) {
				t.Errorf("run %d, step %d: is_last is %v", i, k+1, last)
			}
		}
	}
}

// checkCounts: the agent was asked for everything once, and for nothing else.
func checkCounts(t *testing.T, f face, who behind, peer adaptertest.Peer) {
	t.Helper()
	agent, ok := peer.(*adaptertest.StepAgent)
	if !ok {
		upstream := peer.(*adaptertest.ThreadAgent)
		if upstream.Work() != 2 || upstream.Threads() != 1 {
			t.Errorf("%d runs on %d threads, want 2 on 1", upstream.Work(), upstream.Threads())
		}
		// The first run's request makes the thread; before the second it is
		// looked whether somebody else used it.
		if made, read := upstream.Calls("POST /threads"), upstream.Calls("GET /threads/{t}/state"); made != 0 || read != 1 {
			t.Errorf("%d threads made beforehand, the state read %d times, want 0 and 1", made, read)
		}
		return
	}
	got := agent.Counts()
	want := adaptertest.Counts{Creates: 2, Steps: 2 * len(who.texts)}
	if who.takesFiles {
		want.Uploads = 1 // the second task is given the file of the first
		if f.name == "taskstep" {
			want.Uploads = 3 // the client's, and both again for the second
		}
	}
	got.Downloads, got.Lists, got.Probes = 0, 0, 0 // reading twice does no harm
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the agent was asked for (-want +got):\n%s", diff)
	}
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
