package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// flavour is one of the two families of clients that call the same routes: a
// LangGraph client names an assistant, an Agent Protocol client an agent or
// nothing.
type flavour struct{ name, agent string }

var flavours = []flavour{
	{"langgraph", `"assistant_id":"agent",`},
	{"agent protocol", `"agent_id":"agent",`},
	{"agent protocol, nothing named", ``},
}

func (f flavour) langGraph() bool { return f.name == "langgraph" }

// conflict is a method and path, or a matter of several, that the Agent
// Protocol and LangGraph want differently, and a check of what either gets.
type conflict struct {
	name  string
	check func(t *testing.T, b *bridge, f flavour)
}

// TestConflicts: one server for both, each row for each flavour and before
// agents of both kinds.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for kind, peer := range eitherKind() {
		for _, f := range flavours {
			t.Run(kind+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				b := inFront(t, peer())
				for _, c := range append(runConflicts(), threadConflicts()...) {
					t.Run(c.name, func(t *testing.T) {
						on := *b
						on.t = t
						c.check(t, &on, f)
					})
				}
			})
		}
	}
}

func runConflicts() []conflict {
	return []conflict{
		{"POST /runs/wait", checkWaitShape},
		{"POST /runs", checkRunShape},
		{"POST /runs/stream", checkModesByFlavour},
		{"GET /runs/{id}/stream", checkJoinWithoutThread},
		{"routes of the Agent Protocol alone", checkProtocolRoutes},
		{"runs of a thread", checkThreadRuns},
		{"cancel", checkCancelStatus},
		{"validation", checkValidation},
	}
}

// checkWaitShape: {run, values, messages}, or the bare values.
func checkWaitShape(t *testing.T, b *bridge, f flavour) {
	got := b.post("/runs/wait", `{`+f.agent+saysHi+`}`).ok()
	members := keysOf(t, got.at(""))
	if f.langGraph() {
		if got.at("messages.0.type") != "human" || strings.Contains(members, "run") {
			t.Errorf("bare values, want messages with types: %s of %s", members, got.body)
		}
		return
	}
	if members != "messages run values" || got.at("run.status") != "success" || got.at("run.agent_id") != "agent" {
		t.Errorf("answer: %s with %v", members, got.at("run"))
	}
	if got.at("messages.0.role") != "user" || got.at("messages.1.role") != "assistant" || got.at("values.messages.0.type") != "human" {
		t.Errorf("messages: %s", got.body)
	}
}

// checkRunShape: the union of both, pending in either.
func checkRunShape(t *testing.T, b *bridge, f flavour) {
	got := b.post("/runs", `{`+f.agent+`"after_seconds":600,`+saysHi+`}`).ok()
	strategy := "reject"
	if f.langGraph() {
		strategy = "enqueue"
	}
	for path, want := range map[string]any{"status": "pending", "agent_id": "agent", "assistant_id": mapping.AssistantID("agent"), "multitask_strategy": strategy} {
		if got.at(path) != want {
			t.Errorf("%s is %v, want %v", path, got.at(path), want)
		}
	}
	for _, path := range []string{"run_id", "thread_id", "metadata", "kwargs", "created_at", "updated_at"} {
		if got.at(path) == nil {
			t.Errorf("%s is missing: %s", path, got.body)
		}
	}
	if said := got.at("input.messages.0.content"); !f.langGraph() && said != "hi" {
		t.Errorf("an Agent Protocol run tells its input: %s", got.body)
	}
	if got.header.Get("Content-Location") != "/runs/"+got.text("run_id") {
		t.Errorf("Content-Location %q", got.header.Get("Content-Location"))
	}
}

// checkModesByFlavour: the Agent Protocol knows four modes.
func checkModesByFlavour(t *testing.T, b *bridge, f flavour) {
	for _, mode := range everyMode {
		want := 200
		if !f.langGraph() && !strings.Contains("values messages updates custom", mode) {
			want = 422
		}
		got, frames := b.stream("POST", "/runs/stream", `{`+f.agent+`"stream_mode":"`+mode+`",`+saysHi+`}`, 1)
		got.is(want)
		if want == 200 && (len(frames) != 1 || frames[0].event != "metadata") {
			t.Errorf("%s begins with %s", mode, eventNames(frames))
		}
	}
}

// checkJoinWithoutThread: without Last-Event-ID only what is yet to come.
func checkJoinWithoutThread(t *testing.T, b *bridge, f flavour) {
	run := "/runs/" + b.post("/runs", `{`+f.agent+`"on_completion":"keep",`+saysHi+`}`).ok().text("run_id")
	b.get(run + "/join").ok()
	if got, frames := b.stream("GET", run+"/stream", "", 0); len(frames) != 0 {
		t.Errorf("after its end: %d, %s", got.status, eventNames(frames))
	}
	got, frames := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	if len(frames) < 3 || got.header.Get("Location") != run+"/stream" {
		t.Errorf("from its start: %s at %s", eventNames(frames), got.header.Get("Location"))
	}
}

// checkProtocolRoutes: what LangGraph does not have is there for its runs, too.
func checkProtocolRoutes(t *testing.T, b *bridge, f flavour) {
	mark := mapping.NewID()
	made := b.post("/runs", `{`+f.agent+`"on_completion":"keep","metadata":{"mark":"`+mark+`"},`+saysHi+`}`).ok()
	run := "/runs/" + made.text("run_id")
	waited := b.get(run + "/wait").ok()
	if waited.at("run.status") != "success" || waited.at("status") != nil {
		t.Errorf("wait: %s", waited.body)
	}
	b.expect(run, "status", "success")
	found := b.post("/runs/search", `{"metadata":{"mark":"`+mark+`"},"status":"success"}`).ok()
	if diff := cmp.Diff([]any{made.at("run_id")}, pluck(found.list(""), "run_id")); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
	b.do("DELETE", run, "").is(http.StatusNoContent)
	b.get(run).is(http.StatusNotFound)
}

// checkThreadRuns: an assistant may be missing, the shape is LangGraph's, but
// for the wait, which has a status at the top as the README reads it.
func checkThreadRuns(t *testing.T, b *bridge, f flavour) {
	at := b.thread()
	run := at + "/runs/" + b.post(at+"/runs", `{`+f.agent+saysHi+`}`).ok().text("run_id")
	waited := b.get(run + "/wait").ok()
	if keysOf(t, waited.at("")) != "messages run status values" || waited.at("status") != "success" {
		t.Errorf("wait: %s", waited.body)
	}
	if joined := b.get(run + "/join").ok(); joined.at("messages.0.type") != "human" || joined.at("run") != nil {
		t.Errorf("join: %s", joined.body)
	}
}

// checkCancelStatus: under a thread 202, or 204 when it was waited for; 204 on
// the Agent Protocol's path. wait=0 is no.
func checkCancelStatus(t *testing.T, b *bridge, f flavour) {
	for query, want := range map[string]int{"": 202, "?wait=0": 202, "?wait=false": 202, "?wait=1": 204, "?wait=true": 204} {
		made := b.post("/runs", `{`+f.agent+`"after_seconds":600,"on_completion":"keep",`+saysHi+`}`).ok()
		b.post("/threads/"+made.text("thread_id")+"/runs/"+made.text("run_id")+"/cancel"+query, "").is(want)
		made = b.post("/runs", `{`+f.agent+`"after_seconds":600,"on_completion":"keep",`+saysHi+`}`).ok()
		b.post("/runs/"+made.text("run_id")+"/cancel"+query, "").is(http.StatusNoContent)
	}
}

func checkValidation(t *testing.T, b *bridge, f flavour) {
	for path, body := range map[string]string{
		"/runs":        `{` + f.agent + `"stream_mode":7}`,
		"/runs/wait":   `{` + f.agent + `"config":{"recursion_limit":"x"}}`,
		"/runs/stream": `{` + f.agent + `"multitask_strategy":"later"}`,
	} {
		got := b.post(path, body).is(http.StatusUnprocessableEntity)
		if detail := got.list("detail"); len(detail) != 1 || dig(detail[0], "field") == nil || dig(detail[0], "message") == nil {
			t.Errorf("%s: the detail names no field: %s", path, got.body)
		}
	}
}

// keysOf are an object's members, in order of their names.
func keysOf(t *testing.T, v any) string {
	t.Helper()
	object, _ := v.(map[string]any)
	raw, err := json.Marshal(object) // sorts them
	if err != nil {
		t.Fatal(err)
	}
	dec, names := json.NewDecoder(strings.NewReader(string(raw))), []string{}
	_, _ = dec.Token()
	for dec.More() {
		name, _ := dec.Token()
		names = append(names, name.(string))
		var skip json.RawMessage
		_ = dec.Decode(&skip)
	}
	return strings.Join(names, " ")
}

// TestBusyAndRunningByFlavour: while a run is under way a second one is
// refused with 409 in every flavour, and the Agent Protocol calls the first
// one pending, since it has no other word.
func TestBusyAndRunningByFlavour(t *testing.T) {
	t.Parallel()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 2)
	b := inFront(t, g)
	at := b.thread()
	thread := strings.TrimPrefix(at, "/threads/")
	run := b.begin(at, "")
	g.await(t)
	id := run[strings.LastIndex(run, "/")+1:]
	const reject = `"multitask_strategy":"reject",`
	for _, f := range flavours {
		for _, tail := range []string{"", "/wait", "/stream"} {
			for path, body := range map[string]string{at + "/runs" + tail: `{` + f.agent + reject + saysHi + `}`, "/runs" + tail: `{` + f.agent + reject + `"thread_id":"` + thread + `",` + saysHi + `}`} {
				if got := b.post(path, body).is(http.StatusConflict); got.text("code") != "thread_busy" || got.text("detail.run_id") != id {
					t.Errorf("%s, %s: %s", f.name, path, got.body)
				}
			}
		}
	}
	b.expect(run, "status", "running")
	b.expect("/runs/"+id, "status", "pending")
	for status, want := range map[string]int{"pending": 1, "success": 0} {
		if found := b.post("/runs/search", `{"thread_id":"`+thread+`","status":"`+status+`"}`).ok().list(""); len(found) != want {
			t.Errorf("%d runs found as %s, want %d", len(found), status, want)
		}
	}
	for status, want := range map[string]int{"running": 1, "pending": 0} {
		if listed := b.get(at + "/runs?status=" + status).ok().list(""); len(listed) != want {
			t.Errorf("%d runs listed as %s, want %d", len(listed), status, want)
		}
	}
	b.post("/runs/search", `{"status":"running"}`).is(http.StatusUnprocessableEntity)
	g.open()
	b.get(run + "/join").ok()
	b.expect("/runs/"+id, "status", "success")
}

// TestFailureAndQuestionByFlavour: only __error__ or __interrupt__ for
// LangGraph's clients; a run with its error, or with interrupts, for others.
func TestFailureAndQuestionByFlavour(t *testing.T) {
	t.Parallel()
	for _, f := range flavours {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			asks, fails := inFront(t, curious(1)), inFront(t, faultyStep(adaptertest.Plain, adaptertest.HTML500)())
			asked, failed := asks.post("/runs/wait", `{`+f.agent+saysHi+`}`).ok(), fails.post("/runs/wait", `{`+f.agent+saysHi+`}`).ok()
			if f.langGraph() {
				if keysOf(t, asked.at("")) != "__interrupt__" || keysOf(t, failed.at("")) != "__error__" || failed.at("__error__.error") != "upstream_error" {
					t.Errorf("asked %s\nfailed %s", asked.body, failed.body)
				}
				return
			}
			if asked.at("run.status") != "interrupted" || asked.at("interrupts.0.value.0.action_request.args.question") != "Which colour?" {
				t.Errorf("asked %s", asked.body)
			}
			if failed.at("run.status") != "error" || !says(failed.text("run.error"), "500") {
				t.Errorf("failed %s", failed.body)
			}
		})
	}
}

// TestMissingAgent: without a default one, an agent must be named; of several
// the default one is meant.
func TestMissingAgent(t *testing.T) {
	t.Parallel()
	agents := map[string]config.Agent{
		"agent": agentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL),
		"other": agentAt("http://" + adaptertest.Nowhere(t)),
	}
	cfg := configFor(t, agents)
	with := startBridge(t, cfg)
	without := configFor(t, agents)
	without.DefaultAgent = ""
	bare := startBridge(t, without)
	for _, path := range []string{"/runs", "/runs/wait", "/runs/stream", "{thread}/runs", "{thread}/runs/wait"} {
		at := strings.ReplaceAll(path, "{thread}", with.thread())
		with.do("POST", at, `{`+saysHi+`}`).ok()
		at = strings.ReplaceAll(path, "{thread}", bare.thread())
		if got := bare.post(at, `{`+saysHi+`}`).is(http.StatusUnprocessableEntity); !says(got.text("message"), "agent", "other") {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}
