package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// The tests in this file run against a real LangGraph server with the graphs of .e2e/langgraph. APBRIDGE_E2E_LANGGRAPH
// is its URL.

const realPatience = 4 * time.Minute

// real returns a backend for one graph of the server.
func real(t *testing.T, graph string) (*backend, context.Context) {
	t.Helper()
	url := os.Getenv("APBRIDGE_E2E_LANGGRAPH")
	if url == "" {
		t.Skip("APBRIDGE_E2E_LANGGRAPH is not set: it names a LangGraph server; make e2e starts one")
	}
	up := adaptertest.Upstream(url)
	up.Config.Assistant, up.Config.StepTimeout = graph, realPatience
	b, err := newBackend(up)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.http.close)
	ctx, cancel := context.WithTimeout(context.Background(), realPatience)
	t.Cleanup(cancel)
	return b, ctx
}

// say returns a new run with a text.
func say(text string) adapter.Assignment {
	task := adaptertest.NewTask(nil)
	task.Run.ID = mapping.NewID()
	task.Input = *rule.TextInput(text, task.Run.ID)
	return task
}

// then returns another run on the thread of an earlier run.
func then(tr adaptertest.Trace, text string) adapter.Assignment {
	task := say(text)
	task.Link = linkOf(tr)
	task.Link.RemoteRun = ""
	return task
}

func linkOf(tr adaptertest.Trace) mapping.Link {
	var l mapping.Link
	for _, ev := range tr.Events {
		if ev.Head.Link != nil {
			l = *ev.Head.Link
		}
	}
	return l
}

// texts returns the contents of the messages in the last state of a trace.
func texts(t *testing.T, tr adaptertest.Trace) []string {
	t.Helper()
	var last json.RawMessage
	for _, ev := range tr.Events {
		if ev.Kind == mapping.KindState {
			last = ev.Data
		}
	}
	return contents(t, last)
}

func contents(t *testing.T, values json.RawMessage) []string {
	t.Helper()
	var v struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(values, &v); err != nil {
		t.Fatalf("values %s: %v", values, err)
	}
	var list []string
	for _, m := range v.Messages {
		list = append(list, m.Content)
	}
	return list
}

func nodesOf(tr adaptertest.Trace) string {
	var list []string
	for _, ev := range tr.Outputs() {
		name := ev.Head.Node
		if len(ev.Head.NS) > 0 {
			name = "~" + name
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

func wantSuccess(t *testing.T, tr adaptertest.Trace) {
	t.Helper()
	if end := tr.End(); tr.Err != nil || end == nil || end.Status != mapping.RunSuccess {
		t.Fatalf("outcome %+v, error %v, want success", end, tr.Err)
	}
}

func wantTexts(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
}

func TestRealChat(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "chat")
	tr := adaptertest.Collect(ctx, b, say("one"), 0)
	wantSuccess(t, tr)
	if got := nodesOf(tr); got != "plan answer" {
		t.Errorf("updates of %q", got)
	}
	kinds := map[mapping.Kind]int{}
	for _, ev := range tr.Events {
		kinds[ev.Kind]++
	}
	if kinds[mapping.KindDelta] < 10 || kinds[mapping.KindCustom] != 1 || kinds[mapping.KindLinked] != 2 {
		t.Errorf("events %v", kinds)
	}
	wantTexts(t, texts(t, tr), "one", "planning", "you said: one")

	again := adaptertest.Collect(ctx, b, then(tr, "two"), 0)
	wantSuccess(t, again)
	wantTexts(t, texts(t, again), "one", "planning", "you said: one", "two", "planning", "you said: two")
	if first := again.Events[0]; first.Kind != mapping.KindLinked {
		t.Errorf("the thread was not recognised: %+v", first)
	}
	if a, b := linkOf(tr), linkOf(again); a.Remote != b.Remote || !a.Agreed() || !b.Agreed() || a.RemoteMark == b.RemoteMark {
		t.Errorf("links %+v and %+v", a, b)
	}
}

func TestRealDriftComesFirst(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "chat")
	tr := adaptertest.Collect(ctx, b, say("one"), 0)
	wantSuccess(t, tr)
	link := linkOf(tr)
	update := json.RawMessage(`{"messages":[{"type":"human","content":"from outside","id":"0190c9a2-0000-7000-8000-00000000000f"}]}`)
	if err := b.http.writeJSON(ctx, http.MethodPost, threadPath(link.Remote)+"/state", stateUpdate{Values: update, AsNode: "answer"}, nil); err != nil {
		t.Fatal(err)
	}
	again := adaptertest.Collect(ctx, b, then(tr, "two"), 0)
	wantSuccess(t, again)
	first := again.Events[0]
	if first.Kind != mapping.KindState || first.Head.Checkpoint == nil || first.Head.Checkpoint.Source != "upstream" {
		t.Fatalf("first event %+v", first)
	}
	wantTexts(t, contents(t, first.Data), "one", "planning", "you said: one", "from outside")
}

func TestRealFiles(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "files")
	task := say("Washington")
	task.Input.Raw = json.RawMessage(`{"messages":[{"role":"user","content":"Washington"}],"files":{"/in.txt":{"content":"x","encoding":"utf-8"}}}`)
	tr := adaptertest.Collect(ctx, b, task, 0)
	wantSuccess(t, tr)
	wantTexts(t, texts(t, tr), "Washington", "given: /in.txt", "wrote /output.txt")
	state, err := b.UpdateState(ctx, adapter.Copy{Link: linkOf(tr)}, nil, json.RawMessage(`{"files":{"/new.txt":"n"}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Files map[string]json.RawMessage `json:"files"`
	}
	if err := json.Unmarshal(state.Values, &v); err != nil || len(v.Files) != 4 {
		t.Errorf("files %s, %v", state.Values, err)
	}
}

func TestRealQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, resume, said string }{
		{"accept", `[{"type":"accept"}]`, `answered: [{"type":"accept"}]`},
		{"text", `"ok"`, `answered: "ok"`},
		{"false", `false`, `answered: false`},
		{"null", `null`, `answered: null`},
		{"empty", `""`, `answered: ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, ctx := real(t, "ask")
			tr := adaptertest.Collect(ctx, b, say("mail them"), 0)
			end := tr.End()
			if tr.Err != nil || end == nil || end.Status != mapping.RunInterrupted || len(end.Interrupts) != 1 || end.Interrupts[0].Task == "" {
				t.Fatalf("outcome %+v, error %v", end, tr.Err)
			}
			if text := rule.QuestionText(end.Interrupts[0].Value); text != "Send this mail?" {
				t.Errorf("question %q", text)
			}
			task := then(tr, "")
			task.Input, task.Resume = rule.Input{}, true
			task.Run.Options.Resume, task.Run.Options.Asked = json.RawMessage(c.resume), end.Interrupts
			again := adaptertest.Collect(ctx, b, task, 0)
			wantSuccess(t, again)
			wantTexts(t, texts(t, again), "mail them", "let me ask", c.said, "done")
		})
	}
}

func TestRealFailureAndAfter(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "fail")
	tr := adaptertest.Collect(ctx, b, say("one"), 0)
	if e := mapping.Classify(tr.Err); tr.Err == nil || e.Code != mapping.CodeUpstreamError || e.Message != "the agent failed on purpose" {
		t.Fatalf("error %v", tr.Err)
	}
	if nodesOf(tr) != "begin" || linkOf(tr).RemoteCheckpoint == "" {
		t.Errorf("updates of %q, link %+v", nodesOf(tr), linkOf(tr))
	}
	again := adaptertest.Collect(ctx, b, then(tr, "two"), 0)
	if again.Code() != mapping.CodeUpstreamError || again.Events[0].Head.Checkpoint != nil {
		t.Errorf("error %v, first event %+v", again.Err, again.Events[0])
	}
}

func TestRealCancel(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "slow")
	reason := errors.New("enough")
	mine, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var tr adaptertest.Trace
	task := say("6000")
	for ev, err := range b.Run(mine, &task) {
		if tr.Err = err; err != nil {
			break
		}
		tr.Events = append(tr.Events, ev)
		if ev.Kind == mapping.KindUpdate {
			stop(reason)
		}
	}
	if !errors.Is(tr.Err, reason) {
		t.Fatalf("error %v", tr.Err)
	}
	link := linkOf(tr)
	if err := b.Cancel(ctx, link, task.Run.ID); err != nil {
		t.Fatal(err)
	}
	var run runWire
	if err := b.http.getJSON(ctx, runPath(link.Remote, link.RemoteRun), &run); err != nil || run.active() {
		t.Errorf("run %+v, %v", run, err)
	}
	again := adaptertest.Collect(ctx, b, then(tr, "30"), 0)
	wantSuccess(t, again)
	if err := b.Forget(ctx, link); err != nil {
		t.Error(err)
	}
	if err := b.Forget(ctx, link); err != nil {
		t.Errorf("forgetting twice: %v", err)
	}
}

func TestRealLockstep(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "slow")
	task := say("30")
	task.OneStep = true
	var all adaptertest.Trace
	words := "also this"
	for i, want := range []string{"first", "second", "third"} {
		tr := adaptertest.Collect(ctx, b, task, 0)
		end := tr.End()
		if tr.Err != nil || end == nil || nodesOf(tr) != want {
			t.Fatalf("step %d: updates of %q, error %v", i, nodesOf(tr), tr.Err)
		}
		if end.Parked != (i < 2) || (i == 2 && end.Status != mapping.RunSuccess) {
			t.Errorf("step %d: outcome %+v", i, end)
		}
		all.Events = append(all.Events, tr.Events[:len(tr.Events)-1]...)
		task.After, task.Link, task.StepText = all.Events, linkOf(all), &words
		if i == 1 {
			task.StepText = nil
		}
	}
	wantTexts(t, texts(t, all), "30", "first done", "also this", "second done", "third done")
}

func TestRealPickUp(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "slow")
	task := say("900")
	first := adaptertest.Collect(ctx, b, task, 12)
	if len(first.Outputs()) == 0 {
		t.Fatalf("no progress in %d events", len(first.Events))
	}
	task.After, task.Link, task.InDoubt = first.Events, linkOf(first), true
	rest := adaptertest.Collect(ctx, b, task, 0)
	wantSuccess(t, rest)
	all := adaptertest.Trace{Events: append(first.Events, rest.Events...)}
	if got := nodesOf(all); got != "first second third" {
		t.Errorf("updates of %q", got)
	}
	task.Link.RemoteRun, task.After = "", []mapping.Event{{Kind: mapping.KindStarted}}
	lost := adaptertest.Collect(ctx, b, task, 0)
	wantSuccess(t, lost)
	if got := nodesOf(lost); got != "first second third" || linkOf(lost).RemoteRun != linkOf(first).RemoteRun {
		t.Errorf("found again: updates of %q, run %s, want %s", got, linkOf(lost).RemoteRun, linkOf(first).RemoteRun)
	}
}

func TestRealSeedForkAndHeal(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "chat")
	task := say("two")
	task.Graph.Values = json.RawMessage(`{"messages":[{"type":"human","content":"one","id":"h1"},{"type":"ai","content":"answer one","id":"a1"}]}`)
	tr := adaptertest.Collect(ctx, b, task, 0)
	wantSuccess(t, tr)
	seeded := []string{"one", "answer one", "two", "planning", "you said: two"}
	wantTexts(t, texts(t, tr), seeded...)
	head, err := b.head(ctx, linkOf(tr).Remote)
	if err != nil {
		t.Fatal(err)
	}
	base := head.head()

	wantSuccess(t, adaptertest.Collect(ctx, b, then(tr, "dropped"), 0))
	fork := then(tr, "forked")
	fork.Graph.Fork, fork.Link.RemoteCheckpoint = &adapter.Fork{Checkpoint: base}, ""
	forked := adaptertest.Collect(ctx, b, fork, 0)
	wantSuccess(t, forked)
	wantTexts(t, texts(t, forked), append(slices.Clone(seeded), "forked", "planning", "you said: forked")...)
	after := adaptertest.Collect(ctx, b, then(forked, "after"), 0)
	wantSuccess(t, after)
	wantTexts(t, texts(t, after), append(slices.Clone(seeded), "forked", "planning", "you said: forked", "after", "planning", "you said: after")...)

	if err := b.Forget(ctx, linkOf(after)); err != nil {
		t.Fatal(err)
	}
	lost := then(after, "healed")
	lost.State, _ = state.NewFold(task.Graph.Values)
	healed := adaptertest.Collect(ctx, b, lost, 0)
	wantSuccess(t, healed)
	wantTexts(t, texts(t, healed), "one", "answer one", "healed", "planning", "you said: healed")
}

// If a run of ours created a thread, runs of other clients on it are not ours, even if the server copies our metadata
// to them.
func TestRealForeignRun(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "chat")
	tr := adaptertest.Collect(ctx, b, say("one"), 0)
	wantSuccess(t, tr)
	link := linkOf(tr)
	foreign := map[string]any{"assistant_id": "chat", "input": map[string]any{"messages": []any{map[string]string{"role": "user", "content": "mine"}}}}
	if err := b.http.writeJSON(ctx, http.MethodPost, threadPath(link.Remote)+"/runs/wait", foreign, nil); err != nil {
		t.Fatal(err)
	}
	all, err := b.runs.list(ctx, link.Remote)
	list := slices.DeleteFunc(all, func(r runWire) bool { return r.ours() == "" })
	if err != nil || len(list) != 1 || list[0].ID != link.RemoteRun {
		t.Errorf("our runs: %+v, %v, want only %s", list, err, link.RemoteRun)
	}
	again := adaptertest.Collect(ctx, b, then(tr, "two"), 0)
	wantSuccess(t, again)
	if first := again.Events[0]; first.Head.Checkpoint == nil || first.Head.Checkpoint.Source != "upstream" {
		t.Errorf("first event %+v, want the state of the other run", first)
	}
}

// Agreement can be determined from the values, because frames and states contain the same values.
func TestRealValuesAreTheSame(t *testing.T) {
	t.Parallel()
	for _, graph := range []string{"chat", "files", "nested", "slow"} {
		b, ctx := real(t, graph)
		tr := adaptertest.Collect(ctx, b, say("20"), 0)
		wantSuccess(t, tr)
		var last json.RawMessage
		for _, ev := range tr.Events {
			if ev.Kind == mapping.KindState {
				last = ev.Data
			}
		}
		st, err := b.head(ctx, linkOf(tr).Remote)
		if err != nil || !rawjson.Equal(last, st.Values) {
			t.Errorf("%s: streamed %s, read %s, %v", graph, last, st.Values, err)
		}
	}
}

func TestRealSubgraph(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "nested")
	task := say("one")
	task.Run.Options.Subgraphs = true
	tr := adaptertest.Collect(ctx, b, task, 0)
	wantSuccess(t, tr)
	if got := nodesOf(tr); got != "~plan ~answer inner outer" {
		t.Errorf("updates of %q", got)
	}
}

func TestRealDescriptions(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "chat")
	if err := b.Probe(ctx); err != nil {
		t.Error(err)
	}
	if ok, err := Detect(ctx, b.up); !ok || err != nil {
		t.Errorf("detect: %v, %v", ok, err)
	}
	graph, err := b.Graph(ctx, "")
	if err != nil || lastNode(graph) != "answer" {
		t.Errorf("graph %s, %v", graph, err)
	}
	if _, err := b.Schemas(ctx); err == nil {
		t.Log("this server can tell the schemas")
	}
	up := b.up
	up.Config.Assistant = ""
	other, err := newBackend(up)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Probe(ctx); err == nil || !strings.Contains(err.Error(), "It has ask, both, chat, ") {
		t.Errorf("probe without a name: %v", err)
	}
}

func TestRealStepLimit(t *testing.T) {
	t.Parallel()
	b, ctx := real(t, "slow")
	task := say("30")
	task.Run.Options.MaxSteps, task.Run.Options.LimitedBy = 2, mapping.LimitedByRequest
	task.Run.Options.Config = json.RawMessage(`{"recursion_limit":2,"configurable":{"thread_id":"nonsense","checkpoint_id":"nonsense","colour":"red"}}`)
	tr := adaptertest.Collect(ctx, b, task, 0)
	if tr.Code() != mapping.CodeStepLimit || !bytes.Contains([]byte(tr.Err.Error()), []byte("Recursion limit of 2")) {
		t.Errorf("error %v", tr.Err)
	}
}
