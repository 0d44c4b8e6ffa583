package backend

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/google/go-cmp/cmp"
)

// TestCallsOfARun counts the calls of a run of three steps for each kind: the probe once per process, one list of files
// at the end, and each file at most twice.
func TestCallsOfARun(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		agent := adaptertest.NewStepAgent(kind)
		b := backendOf(t, agent)
		for range 2 {
			mustSucceed(t, runTask(t, b, adaptertest.NewTask(nil)))
		}
		want := adaptertest.Counts{Creates: 2, Steps: 6, Lists: 2, Downloads: 4, Probes: 1}
		switch kind {
		case adaptertest.Bee:
			want.Lists, want.Downloads = 0, 0 // the task holds its files
		case adaptertest.Evo:
			want.Downloads = 2 // a new artifact for each write, so none is rewritten
		}
		if got := agent.Counts(); got != want {
			t.Errorf("%s: %+v, want %+v", kind, got, want)
		}
	}
}

// TestCallsOfARunWithoutFiles checks that the list is not requested if steps name their files and there are none.
func TestCallsOfARunWithoutFiles(t *testing.T) {
	t.Parallel()
	for kind, lists := range map[adaptertest.Kind]int{adaptertest.Plain: 0, adaptertest.JS: 0, adaptertest.Python: 1, adaptertest.Forge: 1} {
		agent := adaptertest.NewStepAgent(kind)
		agent.Script[1].Files = nil
		mustSucceed(t, runTask(t, backendOf(t, agent), adaptertest.NewTask(nil)))
		if c := agent.Counts(); c.Lists != lists || c.Downloads != 0 {
			t.Errorf("%s: %+v, want %d lists", kind, c, lists)
		}
	}
}

// TestWire checks the requests of a run, byte for byte if that matters.
func TestWire(t *testing.T) {
	t.Parallel()
	type seen struct{ line, contentType, length, body string }
	var mu sync.Mutex
	var got []seen
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		mu.Lock()
		got = append(got, seen{r.Method + " " + r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("Content-Length"), string(body)})
		mu.Unlock()
		for _, unwanted := range []string{"Idempotency-Key", "Cookie", "Expect", "Accept-Encoding"} {
			if v := r.Header.Get(unwanted); v != "" {
				t.Errorf("%s %s has %s: %s", r.Method, r.URL, unwanted, v)
			}
		}
		if r.Header.Get("User-Agent") != "apbridge/test" || !strings.Contains(r.Header.Get("Authorization"), adaptertest.Canary) {
			t.Errorf("headers %v", r.Header)
		}
		agent.ServeHTTP(w, r)
	}))
	mustSucceed(t, runTask(t, backendAt(t, srv.URL), adaptertest.NewTask(nil)))
	task := "/ap/v1/agent/tasks/00000000-aaaa-4000-8000-000000000001"
	step := seen{"POST " + task + "/steps", "application/json", "0", ""}
	create := `{"input":"hi","additional_input":{"apbridge":{"run_id":"` + adaptertest.RunID + `","thread_id":"` + adaptertest.ThreadID + `"}}}`
	want := []seen{
		{"GET /ap/v1/agent/tasks", "", "", ""},
		{"GET /ap/v2/topics", "", "", ""},
		{"POST /ap/v1/agent/tasks", "application/json", strconv.Itoa(len(create)), create},
		step, step,
		{"GET " + task + "/artifacts/00000000-dddd-4000-8000-000000000001", "", "", ""},
		step,
		{"GET " + task + "/artifacts", "", "", ""},
		{"GET " + task + "/artifacts/00000000-dddd-4000-8000-000000000001", "", "", ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(seen{})); diff != "" {
		t.Error(diff)
	}
}

// TestAdditionalInput checks that additional_input is built from the assignment's data, and that reserved members sent
// by a client are replaced.
func TestAdditionalInput(t *testing.T) {
	t.Parallel()
	const ids = `"apbridge":{"run_id":"` + adaptertest.RunID + `","thread_id":"` + adaptertest.ThreadID + `"`
	message := func(text string) json.RawMessage {
		return json.RawMessage(`{"type":"human","content":"` + text + `","id":"` + text + `"}`)
	}
	for name, c := range map[string]struct {
		set    func(*adapter.Assignment)
		budget int
		want   string
	}{
		"nothing":                {func(*adapter.Assignment) {}, 0, `{` + ids + `}}`},
		"the rest of the input":  {func(a *adapter.Assignment) { a.Input.Other = json.RawMessage(`{"n":1}`) }, 0, `{"input":{"n":1},` + ids + `}}`},
		"a client's own members": {func(a *adapter.Assignment) { a.Task.Additional = json.RawMessage(`{"k":1,"memory":2,"apbridge":3}`) }, 0, `{"k":1,` + ids + `}}`},
		"the conversation": {func(a *adapter.Assignment) { a.Task.Messages = []json.RawMessage{message("one"), message("two")} }, 0,
			`{` + ids + `},"messages":[{"role":"user","content":"one","id":"one"},{"role":"user","content":"two","id":"two"}]}`},
		"the newest of it": {func(a *adapter.Assignment) { a.Task.Messages = []json.RawMessage{message("one"), message("two")} }, 60,
			`{` + ids + `},"messages":[{"role":"user","content":"two","id":"two"}]}`},
		"memory": {func(a *adapter.Assignment) {
			a.Memory.Items = []adapter.MemoryItem{{Namespace: []string{"n"}, Key: "k", Value: json.RawMessage(`{"v":1}`)}}
			a.Memory.Store = &adapter.StoreAccess{Namespaces: [][]string{{"n"}}, Writes: true}
		}, 0, `{` + ids + `,"store":{"namespaces":[["n"]],"writes":true}},"memory":[{"namespace":["n"],"key":"k","value":{"v":1}}]}`},
	} {
		task := adaptertest.NewTask(nil)
		c.set(&task)
		got, err := additionalInput(&task, c.budget)
		if err != nil || string(got.Join()) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got.Join(), err, c.want)
		}
	}
}

// TestCreateOmitsEmptyMembers checks that there are no nulls, which forge refuses.
func TestCreateOmitsEmptyMembers(t *testing.T) {
	t.Parallel()
	const mark = `"apbridge":{"run_id":"` + adaptertest.RunID + `","thread_id":"` + adaptertest.ThreadID + `"}`
	for _, c := range []struct{ prompt, words, additional, want string }{
		{"", "", "", `{"additional_input":{` + mark + `}}`},
		{"x", "", "", `{"input":"x","additional_input":{` + mark + `}}`},
		{"", "words", "", `{"input":"words","additional_input":{` + mark + `}}`},
		{"", "", `{"a":1}`, `{"additional_input":{"a":1,` + mark + `}}`},
		{"<&>\"\n", "words", `{"a":1}`, `{"input":"<&>\"\n","additional_input":{"a":1,` + mark + `}}`},
	} {
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		task := adaptertest.NewTask(nil)
		task.Task.Prompt, task.Input.Text, task.Task.Additional = c.prompt, c.words, json.RawMessage(c.additional)
		mustSucceed(t, runTask(t, backendOf(t, agent), task))
		if got := agent.Creates()[0]; got != c.want {
			t.Errorf("create body %s, want %s", got, c.want)
		}
	}
	task := adaptertest.NewTask(nil)
	task.Task.Prompt, task.Input.Text = "", ""
	tr := runTask(t, backendOf(t, adaptertest.NewStepAgent(adaptertest.Forge)), task)
	mustFail(t, tr, mapping.CodeUpstreamError)
	if m := mapping.Classify(tr.Err).Message; !strings.Contains(m, "no input") || !strings.Contains(m, "field required") {
		t.Errorf("message %q", m)
	}
}

// TestLockstep checks one upstream step per call, with the client's text verbatim.
func TestLockstep(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		agent := adaptertest.NewStepAgent(kind)
		b := backendOf(t, agent)
		task := adaptertest.NewTask(nil)
		task.OneStep = true
		words := []string{"", "go <on>\n", ""}
		for i, say := range words {
			task.StepText = nil
			if i != 2 {
				task.StepText = &say
			}
			tr := runTask(t, b, task)
			end := tr.End()
			if tr.Err != nil || end == nil || len(tr.Outputs()) != 1 {
				t.Fatalf("%s, step %d: %v, %+v", kind, i+1, tr.Err, end)
			}
			if last := i == 2; end.Parked == last || (end.Status == mapping.RunSuccess) != last {
				t.Errorf("%s, step %d ended as %+v", kind, i+1, end)
			}
			task = again(task, tr.Events[:len(tr.Events)-1])
		}
		if diff := cmp.Diff([]string{`{"input":""}`, `{"input":"go <on>\n"}`, ""}, agent.Inputs()); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// TestLockstepPickUp checks a requested step that was done before the crash.
func TestLockstepPickUp(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Python)
	url := adaptertest.Serve(t, agent).URL
	say := "words"
	task := adaptertest.NewTask(nil)
	task.OneStep, task.StepText = true, &say
	first := runFor(t, backendAt(t, url), task, 2)
	task = again(task, first.Events[:1])
	task.InDoubt = true
	tr := runTask(t, backendAt(t, url), task)
	if end := tr.End(); tr.Err != nil || end == nil || !end.Parked || agent.Counts().Steps != 1 {
		t.Fatalf("%v, %+v, %+v", tr.Err, end, agent.Counts())
	}
	if in := tr.Outputs()[0].Head.Step.Input; in == nil || *in != say {
		t.Errorf("the step does not have its input: %v", in)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer rule.Answer
		want   string
	}{
		{rule.Answer{Text: "blue"}, `{"input":"blue"}`},
		{rule.Answer{Continue: true}, ""},
	} {
		agent := asking(adaptertest.AutoGPT)
		url := adaptertest.Serve(t, agent).URL
		first := runTask(t, backendAt(t, url), adaptertest.NewTask(nil))
		task := again(adaptertest.NewTask(nil), first.Events)
		task.Run.ID, task.After = "0190c9a2-0000-7000-8000-0000000000ff", nil
		task.Resume, task.Task.Answer = true, c.answer
		rest := runTask(t, backendAt(t, url), task)
		mustSucceed(t, rest)
		if diff := cmp.Diff([]string{"", "", c.want}, agent.Inputs()); diff != "" {
			t.Error(diff)
		}
		if rest.Events[0].Kind != mapping.KindLinked || rest.Outputs()[0].RunID != task.Run.ID || agent.Counts().Creates != 1 {
			t.Errorf("first event %+v, %+v", rest.Events[0], agent.Counts())
		}
	}
}

// TestLockstepResume checks that the answer is sent with one step, and no later one.
func TestLockstepResume(t *testing.T) {
	t.Parallel()
	agent := asking(adaptertest.Forge)
	agent.Script = append(agent.Script[:2], adaptertest.ScriptStep{Output: `"blue, then"`}, adaptertest.ScriptStep{Output: `"done"`, Last: true})
	b := backendOf(t, agent)
	task := again(adaptertest.NewTask(nil), runTask(t, b, adaptertest.NewTask(nil)).Events)
	task.After, task.Resume, task.Task.Answer, task.OneStep = nil, true, rule.Answer{Text: "blue"}, true
	first := runTask(t, b, task)
	if end := first.End(); end == nil || !end.Parked {
		t.Fatalf("%v, %+v", first.Err, end)
	}
	mustSucceed(t, runTask(t, b, again(task, first.Events[:len(first.Events)-1])))
	if diff := cmp.Diff([]string{"", "", `{"input":"blue"}`, ""}, agent.Inputs()); diff != "" {
		t.Error(diff)
	}
}

// TestResumePickUp checks an answer that was delivered but whose step was not logged.
func TestResumePickUp(t *testing.T) {
	t.Parallel()
	agent := asking(adaptertest.Python)
	url := adaptertest.Serve(t, agent).URL
	first := runTask(t, backendAt(t, url), adaptertest.NewTask(nil))
	task := again(adaptertest.NewTask(nil), first.Events)
	task.After, task.Resume, task.Task.Answer = nil, true, rule.Answer{Text: "blue"}
	runFor(t, backendAt(t, url), task, 2)
	task.InDoubt = true
	rest := runTask(t, backendAt(t, url), task)
	mustSucceed(t, rest)
	if n := len(rest.Outputs()); n != 1 || agent.Counts().Steps != 3 {
		t.Errorf("%d outputs, %+v", n, agent.Counts())
	}
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		approval mapping.Approval
		outputs  int
	}{{mapping.ApprovalAuto, 3}, {mapping.ApprovalAsk, 2}, {mapping.ApprovalStep, 1}} {
		agent := adaptertest.NewStepAgent(adaptertest.AutoGPT)
		agent.Script[1].Additional = `{"use_tool":{"name":"write_file","arguments":{"filename":"a"}}}`
		task := adaptertest.NewTask(nil)
		task.Run.Options.Approval = c.approval
		tr := runTask(t, backendOf(t, agent), task)
		end := tr.End()
		if tr.Err != nil || len(tr.Outputs()) != c.outputs || (end.Status == mapping.RunInterrupted) != (c.outputs < 3) {
			t.Errorf("%s: %d outputs, %+v, %v", c.approval, len(tr.Outputs()), end, tr.Err)
		}
	}
}

func TestNeverEnds(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	agent.Script = []adaptertest.ScriptStep{{Output: `"more"`, Repeat: true}}
	task := adaptertest.NewTask(nil)
	task.Run.Options.MaxSteps = 5
	tr := runTask(t, backendOf(t, agent), task)
	mustFail(t, tr, mapping.CodeStepLimit)
	if n := agent.Counts().Steps; n != 5 || len(tr.Outputs()) != 5 {
		t.Errorf("%d steps, %d outputs, want 5", n, len(tr.Outputs()))
	}
}

func TestSameErrorForever(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.AutoGPT)
	agent.Script = []adaptertest.ScriptStep{{Output: `"An error occurred while proposing the next action: no model"`, Repeat: true}}
	url := adaptertest.Serve(t, agent).URL
	tr := runTask(t, backendAt(t, url), adaptertest.NewTask(nil))
	mustFail(t, tr, mapping.CodeUpstreamError)
	if m := mapping.Classify(tr.Err).Message; !strings.Contains(m, "no model") || agent.Counts().Steps != repeatLimit {
		t.Errorf("%q after %d steps", m, agent.Counts().Steps)
	}
	first := adaptertest.Trace{Events: tr.Events[:3]} // link and two of the errors
	tr = runTask(t, backendAt(t, url), again(adaptertest.NewTask(nil), first.Events))
	if mustFail(t, tr, mapping.CodeUpstreamError); len(tr.Outputs()) != 1 {
		t.Errorf("%d further outputs after a pick-up, want 1", len(tr.Outputs()))
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outputs []string
		stuck   bool
	}{
		{[]string{`"Error: a"`, `"Error: a"`, `"Error: a"`}, true},
		{[]string{`"Error: a"`, `"Error: b"`, `"Error: a"`}, false},
		{[]string{`"Error: a"`, `"Error: a"`, `"fine"`, `"Error: a"`}, false},
		{[]string{`"same"`, `"same"`, `"same"`}, false},
		{[]string{`null`, `null`, `null`}, false},
		{[]string{`{"error":1}`, `{"error":1}`, `{"error":1}`}, false},
	} {
		var e repeatGuard
		for _, output := range c.outputs {
			e.add([]byte(output), false)
		}
		if got := e.stuck() != ""; got != c.stuck {
			t.Errorf("%v: stuck %v", c.outputs, got)
		}
	}
}

func TestStepTimeout(t *testing.T) {
	t.Parallel()
	up := adaptertest.Upstream(adaptertest.Serve(t, faulty(adaptertest.Python, adaptertest.Hang)).URL)
	up.Config.StepTimeout = 2 * time.Second
	tr := runTask(t, backendWith(t, up), adaptertest.NewTask(nil))
	mustFail(t, tr, mapping.CodeStepTimeout)
	if c := mapping.Classify(tr.Err).Class; c != mapping.Timeout {
		t.Errorf("class %s, want timeout", c)
	}
}

func TestRunTimeoutOfAStepAgent(t *testing.T) {
	t.Parallel()
	b := backendOf(t, faulty(adaptertest.Python, adaptertest.Hang))
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	tr := adaptertest.Collect(ctx, b, adaptertest.NewTask(nil), 0)
	mustFail(t, tr, mapping.CodeRunTimeout)
}

// TestMessages checks the text of error messages.
func TestMessages(t *testing.T) {
	t.Parallel()
	for fault, want := range map[adaptertest.Fault]string{
		adaptertest.HTML500:      "answered 500: an HTML page, perhaps not from the agent: Oh no it broke near [hidden]",
		adaptertest.Unauthorized: "answered 401: it does not accept the bridge's credentials. Check the headers of the agent in the configuration.",
		adaptertest.Overloaded:   "answered 429: it is overloaded: slow down (Retry-After: 7). Try again later or lower its concurrency.",
		adaptertest.Redirect:     "answered 302: redirects are not followed. Configure the final url.",
		adaptertest.BadJSON:      "gave an answer to POST steps that cannot be used: the answer is not JSON.",
		adaptertest.WrongType:    "gave an answer to POST steps that cannot be used: step_id is neither a string nor a number.",
		adaptertest.NoID:         "gave an answer to POST steps that cannot be used: step_id is missing.",
		adaptertest.WrongTask:    `answered with a step of another task: task_id is "00000000-cccc-4000-8000-000000000001", not "00000000-aaaa-4000-8000-000000000001".`,
		adaptertest.Huge:         "answered with more than limits.event (1048576 bytes).",
	} {
		srv := adaptertest.Serve(t, faulty(adaptertest.Plain, fault))
		tr := runTask(t, backendAt(t, srv.URL), adaptertest.NewTask(nil))
		host := strings.TrimPrefix(srv.URL, "http://")
		got := mapping.Classify(tr.Err).Message
		want = `The agent "agent" at ` + host + " " + want
		if strings.TrimSuffix(got, ".") != strings.TrimSuffix(want, ".") {
			t.Errorf("%s:\n got %s\nwant %s", fault, got, want)
		}
	}
}

// TestDroppedAfter500 uses a server that silently closes a kept connection after an error. The next run must not fail
// because of that.
func TestDroppedAfter500(t *testing.T) {
	t.Parallel()
	b := backendOf(t, faulty(adaptertest.Plain, adaptertest.HTML500))
	mustFail(t, runTask(t, b, adaptertest.NewTask(nil)), mapping.CodeUpstreamError)
	mustSucceed(t, runTask(t, b, adaptertest.NewTask(nil)))
}

// TestDialsAgain checks that a connection that could not be established is retried.
func TestDialsAgain(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.JS)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // the agent returns after two failed connections
	up := adaptertest.Upstream("http://" + l.Addr().String())
	up.Meter = &opener{t: t, address: l.Addr().String(), agent: agent}
	b, err := newBackend(up)
	if err != nil {
		t.Fatal(err)
	}
	b.site.Store(&site{prefix: prefixV1, kind: kindJS})
	mustSucceed(t, runTask(t, b, adaptertest.NewTask(nil)))
	if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
		t.Errorf("%+v", c)
	}
}

// opener starts an agent after two failed connections.
type opener struct {
	t       *testing.T
	address string
	agent   http.Handler
	missed  int
}

func (o *opener) UpstreamCall(_, _, outcome string, _ time.Duration) {
	if outcome != "unreachable" {
		return
	}
	if o.missed++; o.missed != 2 {
		return
	}
	l, err := net.Listen("tcp", o.address)
	if err != nil {
		o.t.Error(err)
		return
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: o.agent}}
	srv.Start()
	o.t.Cleanup(srv.Close)
}
