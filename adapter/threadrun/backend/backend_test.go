package backend

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

// run runs a task on a scripted agent.
func run(t *testing.T, a *adaptertest.ThreadAgent, task adapter.Assignment) adaptertest.Trace {
	t.Helper()
	return adaptertest.Collect(within(t), scripted(t, a), task, 0)
}

func scripted(t *testing.T, a *adaptertest.ThreadAgent) adapter.Backend {
	t.Helper()
	b, err := quick(adaptertest.Upstream(adaptertest.Serve(t, a).URL))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), adaptertest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// traced summarizes the events of a trace: kind, node or name, and SSE id.
func traced(tr adaptertest.Trace) []string {
	var list []string
	for _, ev := range tr.Events {
		s := string(ev.Kind)
		if name := ev.Head.Node + ev.Head.Name; name != "" {
			s += " " + name
		}
		if cp := ev.Head.Checkpoint; cp != nil {
			s += " " + cp.Source + "→" + strings.Join(cp.Next, ",")
		}
		if ev.Head.UpstreamID != "" {
			s += " #" + ev.Head.UpstreamID
		}
		list = append(list, s)
	}
	return list
}

var chatEvents = []string{
	"linked", "linked",
	"state checkpoints input→__start__ #1",
	"state values #2",
	"state checkpoints loop→plan #3",
	"chunk tasks #4",
	"delta #5",
	"custom #6",
	"update plan #7",
	"chunk tasks #8",
	"state values #9",
	"state checkpoints loop→think #10",
	"update think #11",
	"state values #12",
	"state checkpoints loop→answer #13",
	"update answer #14",
	"state values #15",
	"state checkpoints loop→ #16",
	"end",
}

func TestEventsAndCallsOfANewThread(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	tr := run(t, a, adaptertest.NewTask(nil))
	if diff := cmp.Diff(chatEvents, traced(tr)); diff != "" || tr.Err != nil {
		t.Errorf("error %v, events (-want +got):\n%s", tr.Err, diff)
	}
	for route, want := range map[string]int{routeGraph: 1, routeThread: 0, routeStart: 1, routeState: 0, routeList: 0, routeJoin: 0} {
		if got := a.Calls(route); got != want {
			t.Errorf("%d calls of %s, want %d", got, route, want)
		}
	}
	update := tr.Outputs()[1]
	if want := `{"messages":[{"content":"thinking <b>","id":"run-2","tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{},"type":"ai"}]}`; string(update.Data) != want {
		t.Errorf("delta %s, want the agent's own bytes", update.Data)
	}
	link := linkOf(tr)
	if link.RemoteRun != "01a1fc7d-bb54-710b-addd-000000000001" || link.RemoteMark != link.RemoteRun+"@3" || !link.Agreed() {
		t.Errorf("link %+v", link)
	}
}

func TestRequestBodies(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	task := adaptertest.NewTask(nil)
	task.Run.Metadata = json.RawMessage(`{"team":"a"}`)
	task.Run.Kwargs = json.RawMessage(`{"durability":"sync"}`)
	task.Run.Options.Config = json.RawMessage(`{"tags":["x"],"configurable":{"thread_id":"ours","model":"m"}}`)
	task.Run.Options.Context = json.RawMessage(`{"user":1}`)
	task.Run.Options.StreamModes = []string{"values", "events", "nonsense"}
	task.Run.Options.Subgraphs = true
	task.Run.Options.InterruptBefore = []string{"plan"}
	task.Run.Options.InterruptAfter = []string{"*"}
	if tr := run(t, a, task); tr.Err != nil {
		t.Fatal(tr.Err)
	}
	sameJSON(t, a.Bodies(routeThread)[0], `{"thread_id":"`+mapping.MessageID(adaptertest.RunID, "thread/1")+`","if_exists":"do_nothing",
		"metadata":{"graph_id":"agent","apbridge_thread_id":"`+adaptertest.ThreadID+`"}}`)
	sameJSON(t, a.Bodies(routeStart)[0], `{"assistant_id":"fe096781-5601-53d2-b2f6-0d3403f7e9ca",
		"input":`+string(task.Input.Raw)+`,"config":{"tags":["x"],"recursion_limit":21,"configurable":{"model":"m"}},"context":{"user":1},
		"metadata":{"team":"a","apbridge_run_id":"`+adaptertest.RunID+`"},
		"stream_mode":["values","updates","messages-tuple","custom","tasks","checkpoints","events"],"stream_subgraphs":true,
		"stream_resumable":true,"on_disconnect":"continue","multitask_strategy":"reject","interrupt_before":["plan"],"interrupt_after":"*","durability":"sync"}`)
}

func sameJSON(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	var x, y any
	if json.Unmarshal(got, &x) != nil || json.Unmarshal([]byte(want), &y) != nil {
		t.Fatalf("not JSON: %s or %s", got, want)
	}
	if diff := cmp.Diff(y, x); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInputAndCommand(t *testing.T) {
	t.Parallel()
	open := []mapping.Interrupt{{ID: "q1"}}
	for _, c := range []struct {
		name string
		task func(*adapter.Assignment)
		want string // the expected members input and command
	}{
		{"no input", func(t *adapter.Assignment) { t.Input = rule.Input{} }, `{"input":null}`},
		{"answer", func(t *adapter.Assignment) {
			t.Resume, t.Run.Options.Resume, t.Run.Options.Asked = true, json.RawMessage(`"yes"`), open
		}, `{"command":{"resume":"yes"}}`},
		{"answer and update", func(t *adapter.Assignment) {
			t.Resume, t.Run.Options.Resume, t.Run.Options.Update = true, json.RawMessage(`{"a":1}`), json.RawMessage(`{"k":2}`)
		}, `{"command":{"resume":{"a":1},"update":{"k":2}}}`},
		{"empty answer", func(t *adapter.Assignment) {
			t.Resume, t.Run.Options.Resume, t.Run.Options.Asked = true, json.RawMessage(`""`), open
		}, `{"command":{"resume":{"q1":""}}}`},
		{"leave to go on", func(t *adapter.Assignment) { t.Resume, t.Input = true, rule.Input{} }, `{"input":null}`},
		{"update", func(t *adapter.Assignment) { t.Run.Options.Update = json.RawMessage(`{"k":2}`) }, `{"command":{"update":{"k":2}}}`},
		{"goto", func(t *adapter.Assignment) { t.Run.Options.Goto = json.RawMessage(`"act"`) }, `{"command":{"goto":"act"}}`},
		{"update and goto", func(t *adapter.Assignment) {
			t.Run.Options.Update, t.Run.Options.Goto = json.RawMessage(`{"k":2}`), json.RawMessage(`["act",{"node":"see","input":1}]`)
		}, `{"command":{"update":{"k":2},"goto":["act",{"node":"see","input":1}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := playing(adaptertest.ChatPlay())
			task := adaptertest.NewTask(nil)
			c.task(&task)
			task.Link = mapping.Link{Remote: openRemote(t, a)}
			b := scripted(t, a)
			adaptertest.Collect(within(t), b, task, 0)
			body := object(a.Bodies(routeStart)[0])
			got, _ := json.Marshal(map[string]json.RawMessage{"input": body["input"], "command": body["command"]})
			if body["input"] == nil {
				got = objectOf([]rawjson.Member{{Name: "command", Value: body["command"]}})
			} else if body["command"] == nil {
				got = objectOf([]rawjson.Member{{Name: "input", Value: body["input"]}})
			}
			sameJSON(t, got, c.want)
		})
	}
}

// openRemote creates a thread on the agent's server.
func openRemote(t *testing.T, a *adaptertest.ThreadAgent) string {
	t.Helper()
	c, err := newClient(adaptertest.Upstream(adaptertest.Serve(t, a).URL))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var th threadWire
	if err := c.writeJSON(within(t), "POST", "/threads", map[string]any{}, &th); err != nil {
		t.Fatal(err)
	}
	return th.ID
}

// TestBrokenStreamsAreContinued checks that broken streams are resumed and that no frame is repeated or lost (A3, A10,
// A11).
func TestBrokenStreamsAreContinued(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		harm  func(*adaptertest.ThreadPlay)
		joins int
	}{
		{"connections break", func(p *adaptertest.ThreadPlay) { p.CutAfter = []int{3, 4, 0, 1} }, 4},
		{"a proxy closes", func(p *adaptertest.ThreadPlay) { p.CloseAfter = []int{4, 5} }, 2},
		{"the server sends the last frame again", func(p *adaptertest.ThreadPlay) { p.CutAfter, p.Resume = []int{3, 4, 1, 0}, adaptertest.ResumeAt }, 4},
		{"the server begins at the first frame", func(p *adaptertest.ThreadPlay) { p.CutAfter, p.Resume = []int{8, 5, 12}, adaptertest.ResumeAll }, 3},
		{"a proxy closes, and the server begins at the first frame", func(p *adaptertest.ThreadPlay) { p.CloseAfter, p.Resume = []int{8, 12}, adaptertest.ResumeAll }, 2},
		{"the answer to the POST is lost", func(p *adaptertest.ThreadPlay) { p.LoseAnswer = true }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := adaptertest.ChatPlay()
			c.harm(&p)
			a := playing(p)
			tr := run(t, a, adaptertest.NewTask(nil))
			if tr.Err != nil || a.Work() != 1 || a.Calls(routeJoin) != c.joins {
				t.Errorf("error %v, %d runs, %d joins", tr.Err, a.Work(), a.Calls(routeJoin))
			}
			got := traced(tr)
			want := append(append([]string{}, chatEvents[:len(chatEvents)-1]...), "state", "linked", "end")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutcomeIsUnknownWhenTheServerCannotBeAsked(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	a.Canned = map[string]*adaptertest.Canned{routeStart: {}, routeList: {}}
	if tr := run(t, a, adaptertest.NewTask(nil)); tr.Code() != mapping.CodeOutcomeUnknown || a.Calls(routeStart) != 1 {
		t.Errorf("error %v, %d POSTs", tr.Err, a.Calls(routeStart))
	}
}

func TestSilentRunIsEndedAndCancelledUpstream(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.HangPlay())
	up := adaptertest.Upstream(adaptertest.Serve(t, a).URL)
	up.Config.StepTimeout = 2 * time.Second
	b, err := quick(up)
	if err != nil {
		t.Fatal(err)
	}
	tr := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
	if tr.Code() != mapping.CodeStepTimeout || mapping.Classify(tr.Err).Class != mapping.Timeout || a.Calls(routeCancel) != 1 {
		t.Errorf("error %v, %d cancellations", tr.Err, a.Calls(routeCancel))
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	a.Canned = map[string]*adaptertest.Canned{routeStart: {Status: 503, Header: map[string]string{"Retry-After": "1"}, Times: 1}}
	begun := time.Now()
	if tr := run(t, a, adaptertest.NewTask(nil)); tr.Err != nil || time.Since(begun) < time.Second {
		t.Errorf("error %v after %s", tr.Err, time.Since(begun))
	}
}

func TestForgottenThread(t *testing.T) {
	t.Parallel()
	for _, resume := range []bool{false, true} {
		a := playing(adaptertest.ChatPlay())
		b := scripted(t, a)
		first := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
		a.Drop()
		task := then(first, "again")
		task.Resume = resume
		task.State, _ = state.NewFold(json.RawMessage(`{"messages":[{"id":"h1","type":"human","content":"hi"}]}`))
		tr := adaptertest.Collect(within(t), b, task, 0)
		if resume {
			if tr.Code() != mapping.CodeUpstreamLost {
				t.Errorf("answer: error %v", tr.Err)
			}
			continue
		}
		if tr.Err != nil || linkOf(tr).Remote == linkOf(first).Remote {
			t.Errorf("run: error %v, link %+v", tr.Err, linkOf(tr))
		}
		sameJSON(t, a.Bodies(routeUpdate)[0], `{"values":{"messages":[{"id":"h1","type":"human","content":"hi"}]},"as_node":"answer"}`)
	}
}

func TestDriftIsYieldedAsASeparateState(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	b := scripted(t, a)
	first := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
	a.Use(linkOf(first).Remote, `{"values":{"messages":[]},"next":[],"tasks":[],"metadata":{"source":"update","step":9},"checkpoint":{"checkpoint_id":"1f1e5690-0000-6000-8000-000000000000"}}`)
	tr := adaptertest.Collect(within(t), b, then(first, "again"), 0)
	want := append([]string{"state upstream→", "linked"}, chatEvents[2:]...)
	if diff := cmp.Diff(want, traced(tr)); diff != "" || tr.Err != nil {
		t.Errorf("error %v, events (-want +got):\n%s", tr.Err, diff)
	}
	if tr.Events[0].Head.Checkpoint.Remote != "1f1e5690-0000-6000-8000-000000000000" || tr.Events[0].Head.Checkpoint.Step != 9 {
		t.Errorf("checkpoint %+v", tr.Events[0].Head.Checkpoint)
	}
}

func TestBusyThread(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.HangPlay(), adaptertest.ChatPlay())
	b := scripted(t, a)
	left := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 2) // its run continues upstream
	tr := adaptertest.Collect(within(t), b, then(left, "again"), 0)
	if tr.Err != nil || a.Calls(routeCancel) != 1 {
		t.Errorf("a run of ours that nobody follows: error %v, %d cancellations", tr.Err, a.Calls(routeCancel))
	}

	a = playing(adaptertest.ChatPlay())
	a.Canned = map[string]*adaptertest.Canned{routeStart: {Status: 409, Type: "text/plain", Body: "busy"}}
	if tr := run(t, a, adaptertest.NewTask(nil)); tr.Code() != mapping.CodeThreadBusy || a.Work() != 0 {
		t.Errorf("a run of another client: error %v", tr.Err)
	}
}

func TestSeedFallsBackToTheInput(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	a.Canned = map[string]*adaptertest.Canned{routeUpdate: {Status: 500, Type: "text/plain", Body: "Internal Server Error"}}
	task := adaptertest.NewTask(nil)
	task.Graph.Values = json.RawMessage(`{"messages":[{"id":"h1","type":"human","content":"one"}],"files":{"/a":"1"},"n":1}`)
	task.Input.Raw = json.RawMessage(`{"messages":[{"id":"h2","type":"human","content":"two"}],"files":{"/b":"2"}}`)
	if tr := run(t, a, task); tr.Err != nil {
		t.Fatal(tr.Err)
	}
	sameJSON(t, object(a.Bodies(routeStart)[0])["input"],
		`{"messages":[{"id":"h1","type":"human","content":"one"},{"id":"h2","type":"human","content":"two"}],"files":{"/a":"1","/b":"2"},"n":1}`)

	task.Input.Raw = json.RawMessage(`[1]`)
	if tr := run(t, a, task); tr.Code() != mapping.CodeIncompatibleState {
		t.Errorf("an input that is not an object: %v", tr.Err)
	}
	task.Resume = true
	if tr := run(t, a, task); tr.Code() != mapping.CodeIncompatibleState {
		t.Errorf("an answer on a fresh thread: %v", tr.Err)
	}
}

func TestLockstep(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.StepPlays()...)
	b := scripted(t, a)
	task := adaptertest.NewTask(nil)
	task.OneStep = true
	var log []mapping.Event
	for i, want := range []string{"plan", "think", "answer"} {
		tr := adaptertest.Collect(within(t), b, task, 0)
		if tr.Err != nil || nodesOf(tr) != want || tr.End().Parked != (i < 2) {
			t.Fatalf("step %d: updates of %q, outcome %+v, error %v", i, nodesOf(tr), tr.End(), tr.Err)
		}
		log = append(log, tr.Events[:len(tr.Events)-1]...)
		task.After, task.Link = log, linkOf(tr)
	}
	for i, body := range a.Bodies(routeStart) {
		if m := object(body); string(m["interrupt_after"]) != `"*"` || (i > 0) != rawjson.IsNull(m["input"]) {
			t.Errorf("request %d: %s", i, body)
		}
	}
}

func TestLockstepPickedUpInMidStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		n    int // number of logged events of the second step
		runs int
		want string
	}{
		{"the run is known", 1, 2, "think"},
		{"its output is logged", 2, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := playing(adaptertest.StepPlays()...)
			b := scripted(t, a)
			task := adaptertest.NewTask(nil)
			task.OneStep = true
			one := adaptertest.Collect(within(t), b, task, 0)
			task.After, task.Link = one.Events[:len(one.Events)-1], linkOf(one)
			if c.n > 0 {
				two := adaptertest.Collect(within(t), b, task, c.n)
				task.After = append(append([]mapping.Event{}, task.After...), two.Events...)
			}
			task.InDoubt = true
			tr := adaptertest.Collect(within(t), b, task, 0)
			if tr.Err != nil || a.Work() != c.runs || nodesOf(tr) != c.want {
				t.Errorf("updates of %q, %d runs, error %v", nodesOf(tr), a.Work(), tr.Err)
			}
		})
	}
}

func TestCancelForgetAndUpdate(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.HangPlay())
	b := scripted(t, a).(*backend)
	task := adaptertest.NewTask(nil)
	tr := adaptertest.Collect(within(t), b, task, 2)
	link := linkOf(tr)
	const cancel = "POST /threads/{t}/runs/{r}/cancel"
	if err := b.Cancel(within(t), link, "an older run"); err != nil || a.Calls(cancel) != 0 {
		t.Errorf("for an older run %d were cancelled, %v", a.Calls(cancel), err)
	}
	for range 2 {
		if err := b.Cancel(within(t), link, task.Run.ID); err != nil {
			t.Error(err)
		}
	}
	if n := a.Calls(cancel); n != 1 {
		t.Errorf("cancelled %d times, want once", n)
	}
	if _, err := b.UpdateState(within(t), adapter.Copy{Link: link}, nil, json.RawMessage(`{"n":1}`), "plan"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := b.Forget(within(t), link); err != nil {
			t.Error(err)
		}
	}
	_, err := b.UpdateState(within(t), adapter.Copy{Link: link}, nil, json.RawMessage(`{"n":1}`), "plan")
	if mapping.Classify(err).Code != mapping.CodeUpstreamLost {
		t.Errorf("update of a forgotten thread: %v", err)
	}
	if err := b.Cancel(within(t), link, task.Run.ID); err != nil {
		t.Errorf("cancelling on a forgotten thread: %v", err)
	}
}
