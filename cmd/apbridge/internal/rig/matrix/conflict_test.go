package matrix

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// flavour is one of the two families of clients that call the same routes. A LangGraph client names an assistant; an
// Agent Protocol client names an agent or nothing.
type flavour struct{ name, agent string }

var flavours = []flavour{
	{"langgraph", `"assistant_id":"agent",`},
	{"agent protocol", `"agent_id":"agent",`},
	{"agent protocol, nothing named", ``},
}

func (f flavour) langGraph() bool { return f.name == "langgraph" }

// conflict is a difference between the Agent Protocol and LangGraph, with a check of the responses for each. If it
// concerns one route, its name contains the method and path.
type conflict struct {
	name  string
	check func(t *testing.T, b *rig.Bridge, f flavour)
}

// TestConflicts checks that one server serves both: each row runs for each flavour and with agents of both kinds.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for kind, peer := range rig.EitherKind() {
		for _, f := range flavours {
			t.Run(kind+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				b := rig.InFront(t, peer())
				for _, c := range append(runConflicts(), threadConflicts()...) {
					t.Run(c.name, func(t *testing.T) {
						on := *b
						on.T = t
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

// checkWaitShape checks that the response is {run, values, messages} or the bare values.
func checkWaitShape(t *testing.T, b *rig.Bridge, f flavour) {
	got := b.Post("/runs/wait", `{`+f.agent+rig.SaysHi+`}`).OK()
	members := keysOf(t, got.At(""))
	if f.langGraph() {
		if got.At("messages.0.type") != "human" || strings.Contains(members, "run") {
			t.Errorf("bare values, want messages with types: %s of %s", members, got.Body)
		}
		return
	}
	if members != "messages run values" || got.At("run.status") != "success" || got.At("run.agent_id") != "agent" {
		t.Errorf("the response has %s with %v", members, got.At("run"))
	}
	if got.At("messages.0.role") != "user" || got.At("messages.1.role") != "assistant" || got.At("values.messages.0.type") != "human" {
		t.Errorf("messages: %s", got.Body)
	}
}

// checkRunShape checks that a run has the members of both flavours.
func checkRunShape(t *testing.T, b *rig.Bridge, f flavour) {
	got := b.Post("/runs", `{`+f.agent+`"after_seconds":600,`+rig.SaysHi+`}`).OK()
	strategy := "reject"
	if f.langGraph() {
		strategy = "enqueue"
	}
	for path, want := range map[string]any{"status": "pending", "agent_id": "agent", "assistant_id": mapping.AssistantID("agent"), "multitask_strategy": strategy} {
		if got.At(path) != want {
			t.Errorf("%s is %v, want %v", path, got.At(path), want)
		}
	}
	for _, path := range []string{"run_id", "thread_id", "metadata", "kwargs", "created_at", "updated_at"} {
		if got.At(path) == nil {
			t.Errorf("%s is missing: %s", path, got.Body)
		}
	}
	if said := got.At("input.messages.0.content"); !f.langGraph() && said != "hi" {
		t.Errorf("an Agent Protocol run shows its input: %s", got.Body)
	}
	if got.Header.Get("Content-Location") != "/runs/"+got.Text("run_id") {
		t.Errorf("Content-Location %q", got.Header.Get("Content-Location"))
	}
}

// checkModesByFlavour checks that the Agent Protocol has only four modes.
func checkModesByFlavour(t *testing.T, b *rig.Bridge, f flavour) {
	for _, mode := range everyMode {
		want := 200
		if !f.langGraph() && !strings.Contains("values messages updates custom", mode) {
			want = 422
		}
		got, frames := b.Stream("POST", "/runs/stream", `{`+f.agent+`"stream_mode":"`+mode+`",`+rig.SaysHi+`}`, 1)
		got.Is(want)
		if want == 200 && (len(frames) != 1 || frames[0].Event != "metadata") {
			t.Errorf("%s begins with %s", mode, rig.EventNames(frames))
		}
	}
}

// checkJoinWithoutThread checks that a stream without Last-Event-ID has only future events.
func checkJoinWithoutThread(t *testing.T, b *rig.Bridge, f flavour) {
	run := "/runs/" + b.Post("/runs", `{`+f.agent+`"on_completion":"keep",`+rig.SaysHi+`}`).OK().Text("run_id")
	b.Get(run + "/join").OK()
	if got, frames := b.Stream("GET", run+"/stream", "", 0); len(frames) != 0 {
		t.Errorf("after its end: %d, %s", got.Status, rig.EventNames(frames))
	}
	got, frames := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	if len(frames) < 3 || got.Header.Get("Location") != run+"/stream" {
		t.Errorf("from its start: %s at %s", rig.EventNames(frames), got.Header.Get("Location"))
	}
}

// checkProtocolRoutes checks that routes that LangGraph lacks also work for its runs.
func checkProtocolRoutes(t *testing.T, b *rig.Bridge, f flavour) {
	mark := mapping.NewID()
	made := b.Post("/runs", `{`+f.agent+`"on_completion":"keep","metadata":{"mark":"`+mark+`"},`+rig.SaysHi+`}`).OK()
	run := "/runs/" + made.Text("run_id")
	waited := b.Get(run + "/wait").OK()
	if waited.At("run.status") != "success" || waited.At("status") != nil {
		t.Errorf("wait: %s", waited.Body)
	}
	b.Expect(run, "status", "success")
	found := b.Post("/runs/search", `{"metadata":{"mark":"`+mark+`"},"status":"success"}`).OK()
	if diff := cmp.Diff([]any{made.At("run_id")}, rig.Pluck(found.List(""), "run_id")); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
	b.Do("DELETE", run, "").Is(http.StatusNoContent)
	b.Get(run).Is(http.StatusNotFound)
}

// checkThreadRuns checks that the assistant is optional and the responses have LangGraph's form. The response to wait
// also has a status at the top level, as in the Agent Protocol's README.
func checkThreadRuns(t *testing.T, b *rig.Bridge, f flavour) {
	at := b.Thread()
	run := at + "/runs/" + b.Post(at+"/runs", `{`+f.agent+rig.SaysHi+`}`).OK().Text("run_id")
	waited := b.Get(run + "/wait").OK()
	if keysOf(t, waited.At("")) != "messages run status values" || waited.At("status") != "success" {
		t.Errorf("wait: %s", waited.Body)
	}
	if joined := b.Get(run + "/join").OK(); joined.At("messages.0.type") != "human" || joined.At("run") != nil {
		t.Errorf("join: %s", joined.Body)
	}
}

// checkCancelStatus checks that the status is 202 below a thread, or 204 if the request waited, and 204 on the Agent
// Protocol's path. wait=0 means false.
func checkCancelStatus(t *testing.T, b *rig.Bridge, f flavour) {
	for query, want := range map[string]int{"": 202, "?wait=0": 202, "?wait=false": 202, "?wait=1": 204, "?wait=true": 204} {
		made := b.Post("/runs", `{`+f.agent+`"after_seconds":600,"on_completion":"keep",`+rig.SaysHi+`}`).OK()
		b.Post("/threads/"+made.Text("thread_id")+"/runs/"+made.Text("run_id")+"/cancel"+query, "").Is(want)
		made = b.Post("/runs", `{`+f.agent+`"after_seconds":600,"on_completion":"keep",`+rig.SaysHi+`}`).OK()
		b.Post("/runs/"+made.Text("run_id")+"/cancel"+query, "").Is(http.StatusNoContent)
	}
}

func checkValidation(t *testing.T, b *rig.Bridge, f flavour) {
	for path, body := range map[string]string{
		"/runs":        `{` + f.agent + `"stream_mode":7}`,
		"/runs/wait":   `{` + f.agent + `"config":{"recursion_limit":"x"}}`,
		"/runs/stream": `{` + f.agent + `"multitask_strategy":"later"}`,
	} {
		got := b.Post(path, body).Is(http.StatusUnprocessableEntity)
		if detail := got.List("detail"); len(detail) != 1 || rig.Dig(detail[0], "field") == nil || rig.Dig(detail[0], "message") == nil {
			t.Errorf("%s: the detail names no field: %s", path, got.Body)
		}
	}
}

// keysOf returns an object's keys, sorted.
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

// TestBusyAndRunningByFlavour checks that a second run on a busy thread is refused with 409 in every flavour, and that
// the Agent Protocol calls the first one pending, since it has no other status.
func TestBusyAndRunningByFlavour(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	b := rig.InFront(t, g)
	at := b.Thread()
	thread := strings.TrimPrefix(at, "/threads/")
	run := b.Begin(at, "")
	g.Await(t)
	id := run[strings.LastIndex(run, "/")+1:]
	const reject = `"multitask_strategy":"reject",`
	for _, f := range flavours {
		for _, tail := range []string{"", "/wait", "/stream"} {
			for path, body := range map[string]string{at + "/runs" + tail: `{` + f.agent + reject + rig.SaysHi + `}`, "/runs" + tail: `{` + f.agent + reject + `"thread_id":"` + thread + `",` + rig.SaysHi + `}`} {
				if got := b.Post(path, body).Is(http.StatusConflict); got.Text("code") != "thread_busy" || got.Text("detail.run_id") != id {
					t.Errorf("%s, %s: %s", f.name, path, got.Body)
				}
			}
		}
	}
	b.Expect(run, "status", "running")
	b.Expect("/runs/"+id, "status", "pending")
	for status, want := range map[string]int{"pending": 1, "success": 0} {
		if found := b.Post("/runs/search", `{"thread_id":"`+thread+`","status":"`+status+`"}`).OK().List(""); len(found) != want {
			t.Errorf("%d runs found as %s, want %d", len(found), status, want)
		}
	}
	for status, want := range map[string]int{"running": 1, "pending": 0} {
		if listed := b.Get(at + "/runs?status=" + status).OK().List(""); len(listed) != want {
			t.Errorf("%d runs listed as %s, want %d", len(listed), status, want)
		}
	}
	b.Post("/runs/search", `{"status":"running"}`).Is(http.StatusUnprocessableEntity)
	g.Open()
	b.Get(run + "/join").OK()
	b.Expect("/runs/"+id, "status", "success")
}

// TestFailureAndQuestionByFlavour checks that LangGraph's clients get only __error__ or __interrupt__, and others a run
// with its error or interrupts.
func TestFailureAndQuestionByFlavour(t *testing.T) {
	t.Parallel()
	for _, f := range flavours {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			asks, fails := rig.InFront(t, rig.Curious(1)), rig.InFront(t, rig.FaultyStep(adaptertest.Plain, adaptertest.HTML500)())
			asked, failed := asks.Post("/runs/wait", `{`+f.agent+rig.SaysHi+`}`).OK(), fails.Post("/runs/wait", `{`+f.agent+rig.SaysHi+`}`).OK()
			if f.langGraph() {
				if keysOf(t, asked.At("")) != "__interrupt__" || keysOf(t, failed.At("")) != "__error__" || failed.At("__error__.error") != "upstream_error" {
					t.Errorf("asked %s\nfailed %s", asked.Body, failed.Body)
				}
				return
			}
			if asked.At("run.status") != "interrupted" || asked.At("interrupts.0.value.action_request.args.question") != "Which colour?" {
				t.Errorf("asked %s", asked.Body)
			}
			if failed.At("run.status") != "error" || !rig.Says(failed.Text("run.error"), "500") {
				t.Errorf("failed %s", failed.Body)
			}
		})
	}
}

// TestMissingAgent checks that an agent must be named if there is no default one, and that otherwise the default one is
// used.
func TestMissingAgent(t *testing.T) {
	t.Parallel()
	agents := map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL),
		"other": rig.AgentAt("http://" + adaptertest.Nowhere(t)),
	}
	cfg := rig.ConfigFor(t, agents)
	with := rig.StartBridge(t, cfg)
	without := rig.ConfigFor(t, agents)
	without.DefaultAgent = ""
	bare := rig.StartBridge(t, without)
	for _, path := range []string{"/runs", "/runs/wait", "/runs/stream", "{thread}/runs", "{thread}/runs/wait"} {
		at := strings.ReplaceAll(path, "{thread}", with.Thread())
		with.Do("POST", at, `{`+rig.SaysHi+`}`).OK()
		at = strings.ReplaceAll(path, "{thread}", bare.Thread())
		if got := bare.Post(at, `{`+rig.SaysHi+`}`).Is(http.StatusUnprocessableEntity); !rig.Says(got.Text("message"), "agent", "other") {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
}
