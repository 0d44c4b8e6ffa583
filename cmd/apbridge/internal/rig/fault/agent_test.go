package fault

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// agentFault is a failing agent with the error that its client must receive.
type agentFault struct {
	name   string // begins with the fault's id
	peer   func() adaptertest.Peer
	agent  func(*config.Agent)
	status string   // of the run
	code   string   // of its error
	named  string   // the name of the error that the agent gives; "" if it gives none
	words  []string // that its message must have
	works  int      // the agent's total work in the failed run
	asked  int      // step POSTs or requests for a run that it received
	heals  bool     // the next run works
}

// TestFaultyAgents checks that a run whose agent fails ends with a code and a readable message, that all routes report
// the same, that nothing was executed twice, and that the thread is free for the next run.
func TestFaultyAgents(t *testing.T) {
	t.Parallel()
	for _, f := range append(stepFaults(), threadFaults()...) {
		t.Run(f.name+"/threadrun", func(t *testing.T) { t.Parallel(); f.throughThreads(t) })
		t.Run(f.name+"/taskstep", func(t *testing.T) { t.Parallel(); f.throughTasks(t) })
	}
}

func neverEnding() adaptertest.Peer {
	return &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"on and on"`, Repeat: true}}}
}

// The limits leave enough time on a busy machine for the run after the hanging one, whose agent answers at once.
func quickly(a *config.Agent)   { a.StepTimeout = 3 * time.Second }
func quickRun(a *config.Agent)  { a.RunTimeout = 5 * time.Second }
func fourSteps(a *config.Agent) { a.MaxSteps = 4 }
func credential(a *config.Agent) {
	a.Headers = map[string]config.Secret{"Authorization": "Bearer " + adaptertest.Canary}
}
func quickThread(a *config.Agent) { rig.AsThreads(a); quickly(a) }

func stepFaults() []agentFault {
	plain := func(f adaptertest.Fault) func() adaptertest.Peer { return rig.FaultyStep(adaptertest.Plain, f) }
	return []agentFault{
		{name: "A12_HangsInAStep", peer: plain(adaptertest.Hang), agent: quickly, status: "timeout", code: "step_timeout",
			words: []string{`"agent"`, "step_timeout", "3s"}, works: 1, asked: 2, heals: true},
		{name: "A12_RunTakesTooLong", peer: plain(adaptertest.Hang), agent: quickRun, status: "timeout", code: "run_timeout",
			words: []string{"agent", "run_timeout"}, works: 1, asked: 2, heals: true},
		{name: "A14_HTML500", peer: plain(adaptertest.HTML500), agent: credential, status: "error", code: "upstream_error",
			words: []string{`"agent"`, "500", "Oh no"}, works: 1, asked: 2, heals: true},
		{name: "A14_401WithTheKey", peer: plain(adaptertest.Unauthorized), agent: credential, status: "error", code: "upstream_error",
			words: []string{`"agent"`, "401", "credentials"}, works: 1, asked: 2, heals: true},
		{name: "A13_Overloaded", peer: plain(adaptertest.Overloaded), status: "error", code: "upstream_error",
			words: []string{"overloaded", "429", "7"}, works: 1, asked: 2, heals: true},
		{name: "A15_HalfADocument", peer: plain(adaptertest.BadJSON), status: "error", code: "bad_upstream_response",
			words: []string{"POST steps", "not JSON"}, works: 2, asked: 2, heals: true},
		{name: "A15_WrongType", peer: plain(adaptertest.WrongType), status: "error", code: "bad_upstream_response",
			words: []string{"step_id"}, works: 2, asked: 2, heals: true},
		{name: "A15_WithoutID", peer: plain(adaptertest.NoID), status: "error", code: "bad_upstream_response",
			words: []string{"step_id"}, works: 2, asked: 2, heals: true},
		{name: "A17_ForgetsTheTask", peer: plain(adaptertest.Forget), status: "error", code: "upstream_state_lost",
			words: []string{"no longer knows", "Start a new run"}, works: 1, asked: 2, heals: true},
		{name: "A17_ForgetsTheTaskWith500", peer: rig.FaultyStep(adaptertest.Forge, adaptertest.Forget), status: "error", code: "upstream_state_lost",
			words: []string{"no longer knows"}, works: 1, asked: 2, heals: true},
		{name: "A18_NeverEnds", peer: neverEnding, agent: fourSteps, status: "error", code: "step_limit",
			words: []string{"4 steps", "max_steps"}, works: 4, asked: 4},
		{name: "A19_StepOfAnotherTask", peer: plain(adaptertest.WrongTask), status: "error", code: "bad_upstream_response",
			words: []string{"another task"}, works: 2, asked: 2, heals: true},
		{name: "A10_DiesAndCannotTell", peer: rig.FaultyStep(adaptertest.JS, adaptertest.DieDone), status: "error", code: "outcome_unknown",
			words: []string{"do a step", "not told again"}, works: 2, asked: 2, heals: true},
		{name: "A10_DiesBeforeItHeard", peer: plain(adaptertest.DieUnheard), status: "error", code: "outcome_unknown",
			words: []string{"do a step"}, works: 1, asked: 2, heals: true},
		{name: "A10_DiesBeforeItListed", peer: rig.FaultyStep(adaptertest.Python, adaptertest.DieUnheard), status: "error", code: "outcome_unknown",
			words: []string{"do a step", "not told again", "start a new run"}, works: 1, asked: 2, heals: true},
		{name: "E12_RedirectsElsewhere", peer: plain(adaptertest.Redirect), status: "error", code: "upstream_error",
			words: []string{"redirect", "302"}, works: 1, asked: 2, heals: true},
	}
}

func threadFaults() []agentFault {
	play := func(p adaptertest.ThreadPlay) func() adaptertest.Peer {
		return func() adaptertest.Peer {
			return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{p, adaptertest.ChatPlay()}}
		}
	}
	canned := func(route string, c adaptertest.Canned) func() adaptertest.Peer {
		return func() adaptertest.Peer {
			c := c
			return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}, Canned: map[string]*adaptertest.Canned{route: &c}}
		}
	}
	page := "<html><body>Bad gateway " + adaptertest.Canary + "</body></html>"
	return []agentFault{
		{name: "A12_GraphHangs", peer: play(adaptertest.HangPlay()), agent: quickThread, status: "timeout", code: "step_timeout",
			words: []string{`"agent"`, "step_timeout", "3s"}, works: 1, asked: 1, heals: true},
		{name: "A14_GraphHTML500", peer: canned(rig.StartRoute, adaptertest.Canned{Status: 500, Type: "text/html", Body: page, Times: 1}), agent: credential,
			status: "error", code: "upstream_error", words: []string{`"agent"`, "500", "HTML page"}, works: 0, asked: 1, heals: true},
		{name: "A15_GraphFrameIsNoJSON", peer: play(adaptertest.ThreadPlay{Frames: []string{`metadata {"run_id":"{{run}}"}`, `values {"messages":`}}),
			status: "error", code: "bad_upstream_response", words: []string{"values", "not valid JSON"}, works: 1, asked: 1, heals: true},
		{name: "A15_GraphAnswersAPage", peer: canned(rig.StartRoute, adaptertest.Canned{Status: 200, Type: "text/html", Body: page, Times: 1}),
			status: "error", code: "bad_upstream_response", words: []string{"text/html", "event stream"}, works: 0, asked: 1, heals: true},
		{name: "A17_GraphForgetsTheRun", peer: forgetsTheRun, status: "error", code: "upstream_state_lost",
			words: []string{"no longer knows the run"}, works: 1, asked: 1},
		{name: "A14_GraphFails", peer: play(adaptertest.FailPlay()), status: "error", code: "upstream_error", named: "RangeError",
			words: []string{"the agent failed on purpose"}, works: 1, asked: 1, heals: true},
	}
}

// cutShort returns an agent whose stream breaks in its first run and which then responds to join as given.
func cutShort(join adaptertest.Canned) *adaptertest.ThreadAgent {
	p := adaptertest.ChatPlay()
	p.CutAfter = []int{3}
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{p}, Canned: map[string]*adaptertest.Canned{
		"GET /threads/{t}/runs/{r}/stream": &join,
	}}
}

func forgetsTheRun() adaptertest.Peer {
	return cutShort(adaptertest.Canned{Status: 404, Type: "text/plain", Body: "Run not found"})
}

// TestGraphWithUnknownOutcome covers a graph that crashes, so that the outcome of its run cannot be determined.
func TestGraphWithUnknownOutcome(t *testing.T) {
	t.Parallel()
	agent := cutShort(adaptertest.Canned{})
	b := rig.InFront(t, agent)
	failed := b.Post("/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	if failed.At("__error__.code") != "outcome_unknown" || !rig.Says(failed.Text("__error__.message"), "lost during the run") {
		t.Errorf("wait: %s", failed.Body)
	}
	if agent.Work() != 1 || agent.Calls(rig.StartRoute) != 1 {
		t.Errorf("%d runs, %d requests for one; want 1", agent.Work(), agent.Calls(rig.StartRoute))
	}
}

func (f agentFault) start(t *testing.T) (*rig.Bridge, adaptertest.Peer) {
	t.Helper()
	peer := f.peer()
	if f.agent == nil {
		return rig.InFront(t, peer), peer
	}
	return rig.InFront(t, peer, f.agent), peer
}

// error returns the name of the error for clients of threads and runs.
func (f agentFault) error() string {
	if f.named != "" {
		return f.named
	}
	return f.code
}

// throughThreads checks that stream, join, run and thread all report the failure.
func (f agentFault) throughThreads(t *testing.T) {
	b, peer := f.start(t)
	at := "/threads/" + b.Post("/threads", `{}`).OK().Text("thread_id")
	res, frames := b.Stream("POST", at+"/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","values"],`+rig.SaysHi+`}`, 0)
	res.OK()
	last := frames[len(frames)-1]
	if last.Event != "error" || last.At("error") != f.error() || last.At("code") != f.code {
		t.Errorf("the last frame is %s %s", last.Event, last.Data)
	}
	message, _ := last.At("message").(string)
	f.checkMessage(t, message)
	run := frames[0].At("run_id").(string)
	fault := map[string]any{"error": f.error(), "message": message, "code": f.code}
	if diff := cmp.Diff(any(map[string]any{"__error__": fault}), b.Get(at+"/runs/"+run+"/join").OK().At("")); diff != "" {
		t.Errorf("join (-want +got):\n%s", diff)
	}
	waited := b.Get("/runs/" + run + "/wait").OK()
	if waited.Text("run.status") != f.status || waited.Text("run.error") != message || waited.Text("run.error_code") != f.code || f.named != "" && waited.Text("run.error_name") != f.named {
		t.Errorf("wait: %s", waited.Body)
	}
	if got := b.Get(at + "/runs/" + run).OK(); got.Text("status") != f.status || got.Text("error") != message {
		t.Errorf("the run: %s", got.Body)
	}
	f.checkThread(t, b, at, message)
	f.checkWork(t, peer)
	next := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK()
	f.checkNext(t, next, next.At("__error__.code"))
}

// throughTasks checks that the last step reports the failure, with 200, and that repeated requests have no further
// effect.
func (f agentFault) throughTasks(t *testing.T) {
	b, peer := f.start(t)
	task := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
	at := "/ap/v1/agent/tasks/" + task
	steps := rig.PullAll(t, b, at, "")
	last := steps[len(steps)-1]
	if last.Text("status") != "completed" || last.At("additional_output.error.type") != f.code {
		t.Errorf("the last step: %s", last.Body)
	}
	message, _ := last.At("additional_output.error.message").(string)
	f.checkMessage(t, message)
	if last.Text("output") != "Error: "+message {
		t.Errorf("the output is %q", last.Text("output"))
	}
	rig.SameJSON(t, "the last step and the one after it", b.Post(at+"/steps", "").OK().Body, last.Body)
	rig.SameJSON(t, "the last step and what is read of it", b.Get(at+"/steps/"+last.Text("step_id")).OK().Body, last.Body)
	f.checkThread(t, b, "/threads/"+task, message)
	f.checkWork(t, peer)
	again := rig.PullAll(t, b, at, `{"input":"try it again"}`)
	next := again[len(again)-1]
	f.checkNext(t, next, next.At("additional_output.error.type"))
}

// steps reports whether the agent is known to be a task/step agent.
func (f agentFault) steps() bool {
	if f.peer == nil {
		return false
	}
	_, ok := f.peer().(*adaptertest.StepAgent)
	return ok
}

func (f agentFault) checkMessage(t *testing.T, message string) {
	t.Helper()
	if !rig.Says(message, f.words...) || rig.Says(message, "<") || rig.Says(message, adaptertest.Canary) {
		t.Errorf("the message is %q, want one with %q and neither markup nor credentials", message, f.words)
	}
}

// checkNext checks that the thread is free. The next run succeeds if the agent has recovered, and otherwise fails in
// the same way.
func (f agentFault) checkNext(t *testing.T, next rig.Answer, code any) {
	t.Helper()
	want := any(f.code)
	if f.heals {
		want = nil
	}
	if code != want {
		t.Errorf("the next run ended with %v, want %v: %.400s", code, want, next.Body)
	}
}

func (f agentFault) checkThread(t *testing.T, b *rig.Bridge, at, message string) {
	t.Helper()
	if got := b.Get(at).OK().Text("status"); got != "error" {
		t.Errorf("the thread is %s", got)
	}
	state := b.Get(at + "/state").OK()
	if !f.steps() {
		return // its own checkpoints say what was next
	}
	if len(state.List("next")) == 0 || rig.Dig(state.List("tasks"), "0.error") == nil {
		t.Errorf("state after the failure: %s", state.Body)
	}
}

func (f agentFault) checkWork(t *testing.T, peer adaptertest.Peer) {
	t.Helper()
	asked := 0
	switch p := peer.(type) {
	case *adaptertest.StepAgent:
		asked = len(p.Inputs())
	case *adaptertest.ThreadAgent:
		asked = p.Calls(rig.StartRoute)
	}
	if peer.Work() != f.works || asked != f.asked {
		t.Errorf("the agent received %d requests and did %d, want %d and %d", asked, peer.Work(), f.asked, f.works)
	}
}

// TestUnreachableAgent checks that the error names the agent and its address, in both dialects and before the
// agent's dialect is known.
func TestUnreachableAgent(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"auto", "taskstep", "threadrun"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			address := adaptertest.Nowhere(t)
			b := rig.InFrontOf(t, "http://"+address, func(a *config.Agent) { a.Dialect = dialect })
			f := agentFault{status: "error", code: "upstream_unreachable", words: []string{"agent", address}}
			at := "/threads/" + b.Post("/threads", `{}`).OK().Text("thread_id")
			for range 2 { // the second request does not get 409, because the thread is free
				failed := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
				if failed.At("__error__.code") != f.code {
					t.Fatalf("wait: %s", failed.Body)
				}
				f.checkMessage(t, failed.Text("__error__.message"))
			}
			f.checkThread(t, b, at, "")
			task := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
			step := b.Post("/ap/v1/agent/tasks/"+task+"/steps", "").OK()
			if step.At("is_last") != true || step.At("additional_output.error.type") != f.code {
				t.Errorf("the step: %s", step.Body)
			}
			f.checkMessage(t, strings.TrimPrefix(step.Text("output"), "Error: "))
		})
	}
}

// TestBrokenConnectionIsResolvedByTheAgent breaks a connection to an agent that can report the result of the call. The
// run succeeds and nothing is done twice.
func TestBrokenConnectionIsResolvedByTheAgent(t *testing.T) {
	t.Parallel()
	type scene struct {
		kind  adaptertest.Kind
		fault adaptertest.Fault
	}
	for _, s := range []scene{
		{adaptertest.Plain, adaptertest.DieDone}, {adaptertest.Plain, adaptertest.DieHalfway}, {adaptertest.Python, adaptertest.DieRunning},
		{adaptertest.Forge, adaptertest.DieDone}, {adaptertest.Plain, adaptertest.CreateDies}, {adaptertest.JS, adaptertest.CreateDies},
	} {
		for _, faceName := range []string{"threadrun", "taskstep"} {
			t.Run(faceName+"/"+string(s.kind)+"/"+string(s.fault), func(t *testing.T) {
				t.Parallel()
				agent := adaptertest.NewStepAgent(s.kind)
				if strings.HasPrefix(string(s.fault), "create") {
					agent.CreateFault = s.fault
				} else {
					agent.Script[1].Fault = s.fault
				}
				b := rig.InFront(t, agent)
				who := rig.Behind{Texts: []string{"one", "two", "three"}, Steps: true}
				if faceName == "taskstep" {
					rig.CheckSteps(t, who, rig.PullAll(t, b, "/ap/v1/agent/tasks/"+b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id"), ""))
				} else {
					rig.CheckTurns(t, "wait", b.Post("/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK().At(""), who, 1)
				}
				if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
					t.Errorf("%d tasks and %d steps, want 1 and 3", c.Creates, c.Steps)
				}
			})
		}
	}
}

// TestStreamIsRejoined checks that a graph's broken stream is resumed and that the result of an unanswered call is
// looked up.
func TestStreamIsRejoined(t *testing.T) {
	t.Parallel()
	cut, lost := adaptertest.ChatPlay(), adaptertest.ChatPlay()
	cut.CutAfter, lost.LoseAnswer = []int{7, 2}, true
	for name, play := range map[string]adaptertest.ThreadPlay{"cut": cut, "lost answer": lost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}
			b := rig.InFront(t, agent)
			res, frames := b.Stream("POST", "/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","values"],`+rig.SaysHi+`}`, 0)
			res.OK()
			who := rig.Behind{Texts: []string{"planning", "thinking <b>", "the answer is 42"}}
			rig.CheckFrames(t, frames, who)
			rig.CheckTurns(t, "the last values", rig.LastFrame(t, frames, "values").At(""), who, 1)
			if agent.Work() != 1 || agent.Calls(rig.StartRoute) != 1 {
				t.Errorf("%d runs, %d requests for one; want 1", agent.Work(), agent.Calls(rig.StartRoute))
			}
		})
	}
}

// TestGraphForgetsTheThread checks that the next run starts on a new upstream thread with the state kept by the bridge.
func TestGraphForgetsTheThread(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	b := rig.InFront(t, agent)
	at := "/threads/" + b.Post("/threads", `{}`).OK().Text("thread_id")
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	agent.Drop()
	next := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK()
	if next.At("__error__") != nil {
		t.Errorf("the next run: %s", next.Body)
	}
	if n := agent.Work(); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
}

// TestServerThatIsNoAgent covers a server that is not an agent.
func TestServerThatIsNoAgent(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<h1>It works!</h1>"))
	}))
	failed := b.Post("/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	if failed.At("__error__.code") != "bad_upstream_response" || !rig.Says(failed.Text("__error__.message"), "none of the dialects", "agents.agent.url") {
		t.Errorf("wait: %s", failed.Body)
	}
}
