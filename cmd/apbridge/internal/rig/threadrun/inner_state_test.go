package threadrun

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

const (
	bottom = `"checkpoint":{"checkpoint_ns":"` + adaptertest.BottomNS + `"}`
	middle = `"checkpoint":{"checkpoint_ns":"` + adaptertest.MiddleNS + `"}`
)

// TestStatesOfInnerGraphsAreReadFromTheAgent reads inner states in the tasks of the current and earlier states of a
// thread, and by namespace. All of them name the bridge's thread.
func TestStatesOfInnerGraphsAreReadFromTheAgent(t *testing.T) {
	t.Parallel()
	b, _, at := inFrontOfInner(t)
	thread := strings.TrimPrefix(at, "/threads/")
	check := func(st any, name string) {
		t.Helper()
		inner := rig.Dig(st, "tasks.0.state.tasks.0.state")
		want := map[string]any{"next": []any{"question"}, "checkpoint.checkpoint_ns": adaptertest.BottomNS, "checkpoint.thread_id": thread,
			"metadata.thread_id": thread, "tasks.0.interrupts.0.value": "How deep?"}
		for path, value := range want {
			if diff := cmp.Diff(value, rig.Dig(inner, path)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, path, diff)
			}
		}
		root, mapped := rig.Dig(st, "checkpoint.checkpoint_id"), rig.Dig(inner, "checkpoint.checkpoint_map")
		if m, _ := mapped.(map[string]any); m[""] != root {
			t.Errorf("%s: the root is %v, want %v", name, m[""], root)
		}
	}
	head := b.Get(at + "/state?subgraphs=true").OK()
	check(head.At(""), "the head")
	check(b.Get(at+"/state/"+head.Text("checkpoint.checkpoint_id")+"?subgraphs=true").OK().At(""), "its id")
	check(b.Post(at+"/state/checkpoint", `{"subgraphs":true}`).OK().At(""), "by POST")
	if got := b.Get(at + "/state").OK().At("tasks.0.state"); got != nil {
		t.Errorf("without subgraphs: %v", got)
	}

	state := b.Post(at+"/state/checkpoint", `{`+bottom+`}`).OK()
	if state.Text("checkpoint.thread_id") != thread || state.Text("next.0") != "question" {
		t.Errorf("by namespace: %s", state.Body)
	}
	list := b.Post(at+"/history", `{`+bottom+`,"limit":10}`).OK()
	if got := rig.Pluck(list.List(""), "metadata.step"); fmt.Sprint(got) != "[1 0]" {
		t.Errorf("history of steps %v", got)
	}
	before := fmt.Sprint(rig.Dig(list.List("")[0], "checkpoint.checkpoint_id"))
	if got := b.Post(at+"/history", `{`+bottom+`,"before":"`+before+`"}`).OK().List(""); len(got) != 1 {
		t.Errorf("before the newest: %v", got)
	}
	older := fmt.Sprint(rig.Dig(list.List("")[1], "checkpoint.checkpoint_id"))
	if got := b.Post(at+"/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"`+adaptertest.BottomNS+`","checkpoint_id":"`+older+`"}}`).OK(); got.Text("next.0") != "think" {
		t.Errorf("an older state: %s", got.Body)
	}
	if got := b.Post(at+"/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"nowhere:1"}}`).OK(); got.At("created_at") != nil || len(got.List("next")) != 0 {
		t.Errorf("a graph that does not exist: %s", got.Body)
	}
}

// TestStatesOfInnerGraphsAfterAnAnswer checks a run that answers: it repeats the checkpoint at which it continues, and
// may ask again before the next one. The agent's checkpoint is still that of the previous run.
func TestStatesOfInnerGraphsAfterAnAnswer(t *testing.T) {
	t.Parallel()
	b, agent, at := inFrontOfInner(t)
	again := adaptertest.InnerPlay(false)
	again.Frames = append(again.Frames[:1:1], again.Frames[3:]...) // without the input
	made := strings.NewReplacer("{{run}}", agent.Done()[0], "{{checkpoint}}", "1f1e5690-23fd-62e0-8000-000000000001")
	again.State, again.Deep = made.Replace(again.State), made.Replace(again.Deep)
	agent.Play(again)
	b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":"very"}}`).OK()
	b.Expect(at, "status", "interrupted")
	if got := b.Get(at + "/state?subgraphs=true").OK(); rig.Dig(got.At(""), "tasks.0.state.tasks.0.state.next.0") != "question" {
		t.Errorf("%s", got.Body)
	}
	for i, st := range b.Get(at + "/history?limit=2").OK().List("") {
		if got := rig.Dig(st, "tasks.0.checkpoint.checkpoint_ns"); got != adaptertest.MiddleNS {
			t.Errorf("state %d: the task's namespace is %v", i, got)
		}
	}
}

// TestProtocolReadsTheStatesOfInnerGraphs reads inner states by namespace, as a list of segments.
func TestProtocolReadsTheStatesOfInnerGraphs(t *testing.T) {
	t.Parallel()
	b, _, at := inFrontOfInner(t)
	ask := func(method, ns string) rig.Answer {
		t.Helper()
		return command(b, at, `{"id":1,"method":"`+method+`","params":{"namespace":["`+strings.ReplaceAll(ns, "|", `","`)+`"]}}`)
	}
	if got := ask("state.get", adaptertest.BottomNS); got.At("result.checkpoint.ns") != adaptertest.BottomNS || len(got.List("result.values.messages")) != 2 {
		t.Errorf("%s", got.Body)
	}
	list := ask("state.listCheckpoints", adaptertest.BottomNS)
	if got := rig.Pluck(list.List("result.checkpoints"), "step"); fmt.Sprint(got) != "[1 0]" {
		t.Errorf("%s", list.Body)
	}
	for _, method := range []string{"state.get", "state.listCheckpoints"} {
		if got := ask(method, "nowhere:1"); got.At("error") != "no_such_namespace" {
			t.Errorf("%s of an unknown namespace: %s", method, got.Body)
		}
	}
}

// TestHistoryHasTheTasksOfTheAgent checks that the results of a state's tasks, which are not logged, come from the
// agent. If it is unavailable, the history lacks them.
func TestHistoryHasTheTasksOfTheAgent(t *testing.T) {
	t.Parallel()
	b, agent, at := inFrontOfInner(t)
	b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":"very"}}`).OK()
	task := func() any {
		t.Helper()
		for _, st := range b.Post(at+"/history", `{"limit":100}`).OK().List("") {
			if fmt.Sprint(rig.Dig(st, "next")) == "[middle]" {
				return rig.Dig(st, "tasks.0")
			}
		}
		t.Fatal("there is no such state")
		return nil
	}
	got := task()
	if rig.Dig(got, "id") != "83ead7bf-0621-5d7d-a143-7e1daa873a81" || rig.Dig(got, "checkpoint.checkpoint_ns") != adaptertest.MiddleNS ||
		rig.Dig(got, "checkpoint.thread_id") != strings.TrimPrefix(at, "/threads/") {
		t.Errorf("task %v", got)
	}
	asked := agent.Calls("POST /threads/{t}/history")
	if b.Post(at+"/history", `{"select":["values"]}`).OK(); agent.Calls("POST /threads/{t}/history") != asked {
		t.Error("the agent is called although no client requested tasks")
	}
	agent.Drop()
	if got := task(); rig.Dig(got, "name") != "middle" {
		t.Errorf("without the agent's copy: %v", got)
	}
}

// TestUpdateOfAnInnerGraphIsForwarded checks that the agent performs the update and the thread continues from it.
func TestUpdateOfAnInnerGraphIsForwarded(t *testing.T) {
	t.Parallel()
	b, agent, at := inFrontOfInner(t)
	before := b.Get(at + "/state").OK().Text("checkpoint.checkpoint_id")
	made := b.Post(at+"/state", `{`+bottom+`,"values":{"messages":[{"type":"ai","content":"put inside"}]},"as_node":"think"}`).OK()
	if made.Text("checkpoint.checkpoint_ns") != adaptertest.BottomNS || made.Text("checkpoint.thread_id") != strings.TrimPrefix(at, "/threads/") {
		t.Errorf("%s", made.Body)
	}
	if got := b.Post(at+"/state/checkpoint", `{`+bottom+`}`).OK().Text("values.messages.0.content"); got != "put inside" {
		t.Errorf("the state is %s", got)
	}
	if after := b.Get(at + "/state").OK().Text("checkpoint.checkpoint_id"); after != before {
		t.Error("the thread's own state has changed")
	}
	b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":"very"}}`).OK()
	b.Expect(at, "status", "idle")
	if agent.Threads() != 1 || agent.Work() != 2 {
		t.Errorf("%d threads and %d runs at the agent", agent.Threads(), agent.Work())
	}

	b.Do("POST", at+"/state", `{`+bottom+`,"values":{}}`, "Idempotency-Key", "k").Want(t, 422, mapping.CodeNotSupported)
	// The agent refuses the update, so the bridge creates the state, and the agent's copy is no longer the newest.
	agent.Canned = map[string]*adaptertest.Canned{"POST /threads/{t}/state": {Status: 405}}
	b.Post(at+"/state", `{"values":{"messages":[{"type":"human","content":"moved on"}]},"checkpoint":{"checkpoint_id":"`+before+`"}}`).OK()
	agent.Canned = nil
	b.Post(at+"/state", `{`+bottom+`,"values":{}}`).Want(t, 409, mapping.CodeUpstreamLost)
}

// TestAgentWithoutInnerGraphs covers a task/step agent, which is presented as a graph of one node, and a thread
// without a run.
func TestAgentWithoutInnerGraphs(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, rig.Curious(1))
	asked, _ := atItsQuestion(b, "")
	for name, at := range map[string]string{"at a question": asked, "without a run": b.Thread()} {
		for _, path := range []string{"/state?subgraphs=true", "/state"} {
			st := b.Get(at + path).OK()
			if n := len(st.List("tasks")); st.At("tasks.0.state") != nil || name == "at a question" && n != 1 {
				t.Errorf("%s: %s", name, st.Body)
			}
		}
		if got := b.Post(at+"/state/checkpoint", `{`+middle+`}`).OK(); got.At("checkpoint") != nil {
			t.Errorf("%s: %s", name, got.Body)
		}
		if got := b.Post(at+"/history", `{`+middle+`}`).OK(); len(got.List("")) != 0 {
			t.Errorf("%s: %s", name, got.Body)
		}
		b.Post(at+"/state", `{`+middle+`,"values":{}}`).Want(t, 409, mapping.CodeUpstreamLost)
	}
}

// TestInnerGraphsThatCannotBeRead checks that the reason is reported by its code, and that the bridge's own data is
// returned as usual.
func TestInnerGraphsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(b *rig.Bridge, agent *adaptertest.ThreadAgent, at string) string // returns the thread
		status int
		code   string
	}{
		"the agent has lost its copy": {func(_ *rig.Bridge, agent *adaptertest.ThreadAgent, at string) string {
			agent.Drop()
			return at
		}, 502, mapping.CodeUpstreamLost},
		"the thread is a copy": {func(b *rig.Bridge, _ *adaptertest.ThreadAgent, at string) string {
			return "/threads/" + b.Post(at+"/copy", ``).OK().Text("thread_id")
		}, 502, mapping.CodeUpstreamLost},
		"the agent refuses": {func(_ *rig.Bridge, agent *adaptertest.ThreadAgent, at string) string {
			no := &adaptertest.Canned{Status: http.StatusForbidden}
			agent.Canned = map[string]*adaptertest.Canned{"GET /threads/{t}/state": no, "POST /threads/{t}/state/checkpoint": no, "POST /threads/{t}/history": no}
			return at
		}, 502, mapping.CodeUpstreamError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, agent, at := inFrontOfInner(t)
			at = c.change(b, agent, at)
			b.Get(at+"/state?subgraphs=true").Want(t, c.status, c.code)
			b.Post(at+"/history", `{`+bottom+`}`).Want(t, c.status, c.code)
			b.Post(at+"/state/checkpoint", `{`+bottom+`}`).Want(t, c.status, c.code)
			b.Get(at + "/state").OK()
			b.Post(at+"/history", `{}`).OK()
		})
	}
}

// TestInnerGraphsOfEarlierCopies checks that the inner states of an upstream thread can be read after a new upstream
// thread has replaced it.
func TestInnerGraphsOfEarlierCopies(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.InnerPlay(false)}}
	b := rig.InFront(t, agent)
	at, _ := atItsQuestion(b, "")
	first := b.Get(at + "/history").OK().List("")
	agent.Play(adaptertest.ChatPlay())
	b.Post(at+"/state", `{"values":{"messages":[]},"checkpoint":{"checkpoint_id":"`+fmt.Sprint(rig.Dig(first[len(first)-1], "checkpoint.checkpoint_id"))+`"}}`).OK()
	b.Post(at+"/runs/wait", `{`+saysAgent+rig.SaysHi+`}`).OK()
	if n := agent.Threads(); n != 2 {
		t.Fatalf("%d threads at the agent", n)
	}
	if got := b.Post(at+"/history", `{`+bottom+`}`).OK().List(""); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestInnerGraphsAreOnlyForTheOwner checks that a key only sees the inner states of its own threads and agents.
func TestInnerGraphsAreOnlyForTheOwner(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.InnerPlay(false)}}
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL)})
	cfg.Auth.Keys = []config.Key{
		{ID: "one", Key: "the key of the first", Tenant: "a"}, {ID: "two", Key: "the key of the other", Tenant: "b"},
		{ID: "reader", Key: "the key of a reader", Tenant: "a", Rights: []string{mapping.RightRead}},
	}
	b := rig.StartBridge(t, cfg)
	owner, stranger, reader := []string{"x-api-key", "the key of the first"}, []string{"x-api-key", "the key of the other"}, []string{"x-api-key", "the key of a reader"}
	at := "/threads/" + b.Do("POST", "/threads", `{}`, owner...).OK().Text("thread_id")
	b.Do("POST", at+"/runs/wait", `{`+saysAgent+rig.SaysHi+`}`, owner...).OK()
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/state?subgraphs=true", ""}, {"POST", "/state/checkpoint", `{` + bottom + `}`}, {"POST", "/history", `{` + bottom + `}`}, {"POST", "/state", `{` + bottom + `,"values":{}}`},
	} {
		b.Do(c.method, at+c.path, c.body, stranger...).Want(t, 404, mapping.CodeThreadNotFound)
		b.Do(c.method, at+c.path, c.body, owner...).OK()
		if got := b.Do(c.method, at+c.path, c.body, reader...); (got.Status == 403) != (c.path == "/state") {
			t.Errorf("a reader's %s %s: %d", c.method, c.path, got.Status)
		}
	}
}
