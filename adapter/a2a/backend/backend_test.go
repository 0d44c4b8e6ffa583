package backend_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/backend"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

func replaced(body io.ReadCloser, old, with string) io.ReadCloser {
	raw, _ := io.ReadAll(body)
	return io.NopCloser(bytes.NewReader(bytes.ReplaceAll(raw, []byte(old), []byte(with))))
}

// saying returns the first run of a task with this prompt.
func saying(prompt string) adapter.Assignment {
	task := adaptertest.NewTask(nil)
	task.Task.Prompt = prompt
	return task
}

func dial(t *testing.T, a http.Handler) adapter.Backend {
	t.Helper()
	b, err := dialAgent(a)(adaptertest.Upstream(adaptertest.Serve(t, a).URL))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dialAgent returns Dial for the server of an agent.
func dialAgent(a http.Handler) func(adapter.Upstream) (adapter.Backend, error) {
	return func(up adapter.Upstream) (adapter.Backend, error) {
		if agent, ok := a.(*adaptertest.A2AAgent); ok && agent.LangGraph {
			up.Config.URL += adaptertest.LangGraphPath
		}
		return backend.Dial(up)
	}
}

// texts returns the texts of the steps of a run.
func texts(tr adaptertest.Trace) (list []string) {
	for _, ev := range tr.Outputs() {
		text := ""
		for _, m := range rawjson.ElementsOf(rawjson.Get(ev.Data, "messages")) {
			text += rawjson.GetText(m, "content")
		}
		list = append(list, text)
	}
	return list
}

// A cut stream is continued from a snapshot of the task: each artifact is a step once, whole.
func TestACutStreamIsContinued(t *testing.T) {
	t.Parallel()
	for cut := range 8 {
		a := &adaptertest.A2AAgent{CutAfter: cut}
		tr := adaptertest.Collect(t.Context(), dial(t, a), saying("say"), 0)
		if got := texts(tr); tr.Err != nil || !slices.Equal(got, []string{"first", "second", "third"}) || a.Work() != 1 {
			t.Errorf("cut after %d events: %q, %d messages, %v", cut, got, a.Work(), tr.Err)
		}
	}
}

func TestOnlyTheLastStepSaysSo(t *testing.T) {
	t.Parallel()
	tr := adaptertest.Collect(t.Context(), dial(t, &adaptertest.A2AAgent{}), saying("say"), 0)
	var last []bool
	for _, ev := range tr.Outputs() {
		last = append(last, ev.Head.Step.SaysLast)
	}
	if !slices.Equal(last, []bool{false, false, true}) {
		t.Errorf("is_last %v", last)
	}
}

// The result comes once, although the agent also has it in its last status.
func TestAResultInArtifactAndStatusIsOneStep(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{Change: func(ev map[string]any) {
		if u, ok := ev["statusUpdate"].(map[string]any); ok {
			if s := u["status"].(map[string]any); s["state"] == "TASK_STATE_COMPLETED" {
				s["message"] = map[string]any{"messageId": "m", "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": "third"}}}
			}
		}
	}}
	tr := adaptertest.Collect(t.Context(), dial(t, a), saying("say"), 0)
	if got := texts(tr); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("steps %q", got)
	}
}

// An agent may replace the content of an artifact, as the bridge's own face does with each answer of a step agent.
func TestAReplacedArtifactIsAnotherStep(t *testing.T) {
	t.Parallel()
	for _, cut := range []int{0, 3, 4, 5, 6} {
		a := &adaptertest.A2AAgent{CutAfter: cut, Change: func(ev map[string]any) {
			if u, ok := ev["artifactUpdate"].(map[string]any); ok {
				u["artifact"].(map[string]any)["artifactId"] = "response"
			}
		}}
		tr := adaptertest.Collect(t.Context(), dial(t, a), saying("say"), 0)
		got := texts(tr)
		if want := []string{"first", "second", "third"}; cut == 0 && !slices.Equal(got, want) {
			t.Errorf("steps %q", got)
		}
		if tr.Err != nil || got[len(got)-1] != "third" {
			t.Errorf("cut after %d events: %q, %v", cut, got, tr.Err)
		}
	}
}

func TestADirectMessageIsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, a := range []*adaptertest.A2AAgent{{}, {NoStream: true}, {Version: "0.3"}, {HTTP: true}, {Version: "0.3", HTTP: true}} {
		tr := adaptertest.Collect(t.Context(), dial(t, a), saying("message good day"), 0)
		if got := texts(tr); tr.Err != nil || !slices.Equal(got, []string{"good day"}) || tr.End() == nil || tr.End().Status != mapping.RunSuccess {
			t.Errorf("%q, %v, %+v", got, tr.Err, tr.End())
		}
	}
}

// The answer to a question goes to its task and context, and the steps before it do not come again.
func TestAQuestionIsAnsweredInItsTask(t *testing.T) {
	t.Parallel()
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := v.New()
			b := dial(t, a)
			asked := adaptertest.Collect(t.Context(), b, saying("ask"), 0)
			end := asked.End()
			if asked.Err != nil || end == nil || len(end.Interrupts) != 1 || string(end.Interrupts[0].Value) != `"Which colour?"` {
				t.Fatalf("asked: %+v, %v", end, asked.Err)
			}
			answer := adaptertest.NewTask(nil)
			answer.Run.ID, answer.Resume, answer.Done = mapping.NewID(), true, len(asked.Outputs())
			for _, ev := range asked.Events {
				if ev.Head.Link != nil {
					answer.Link = *ev.Head.Link
				}
			}
			answer.Task.Answer = rule.Answer{Text: "red"}
			tr := adaptertest.Collect(t.Context(), b, answer, 0)
			if got := texts(tr); tr.Err != nil || !slices.Equal(got, []string{"painted red"}) || tr.End().Status != mapping.RunSuccess {
				t.Errorf("answered: %q, %v, %+v", got, tr.Err, tr.End())
			}
			if m := a.Seen[1]; m["taskId"] != "task-1" || m["contextId"] != answer.Link.Topic || answer.Link.Topic == "" {
				t.Errorf("the answer was sent as %v", m)
			}
		})
	}
}

// A later task of a thread goes to the context that the agent gave the first one.
func TestASecondTaskIsInTheSameContext(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{}
	b := dial(t, a)
	first := adaptertest.Collect(t.Context(), b, saying("say"), 0)
	next := saying("say more")
	next.Run.ID, next.Link = mapping.NewID(), mapping.Link{Topic: first.Events[0].Head.Link.Topic}
	if tr := adaptertest.Collect(t.Context(), b, next, 0); tr.Err != nil {
		t.Fatal(tr.Err)
	}
	if _, sent := a.Seen[0]["contextId"]; sent || a.Seen[1]["contextId"] != "context-of-task-1" {
		t.Errorf("the messages were sent in contexts %v and %v", a.Seen[0]["contextId"], a.Seen[1]["contextId"])
	}
}

func TestFilesGoBothWays(t *testing.T) {
	t.Parallel()
	for _, a := range []*adaptertest.A2AAgent{{}, {NoStream: true}, {Version: "0.3"}, {HTTP: true}, {Version: "0.3", HTTP: true}} {
		files := adaptertest.NewFiles(map[string]string{"in.txt": "given"})
		task := adaptertest.NewTask(files)
		task.Task.Prompt = "file please"
		tr := adaptertest.Collect(t.Context(), dial(t, a), task, 0)
		if tr.Err != nil {
			t.Fatal(tr.Err)
		}
		if got := rawjson.Get(tr.Outputs()[0].Data, "files"); !strings.Contains(string(got), `"/note.txt"`) || !strings.Contains(string(got), "hello") {
			t.Errorf("files %s", got)
		}
		if list, err := files.List(t.Context()); err != nil || !slices.ContainsFunc(list, func(f mapping.Artifact) bool { return f.Path == "note.txt" && f.MIMEType == "text/plain" }) {
			t.Errorf("the files are %+v, %v", list, err)
		}
		if parts := a.Seen[0]["parts"].([]any); len(parts) != 2 {
			t.Errorf("the message has the parts %v", parts)
		}
	}
}

// A message whose response was lost is found among the agent's tasks, and not sent again. 0.3 cannot list tasks, and
// LangGraph Server lists few messages of each.
func TestALostResponseIsLookedUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent *adaptertest.A2AAgent
		code  string
		says  string
	}{
		"1.0":       {&adaptertest.A2AAgent{}, "", ""},
		"LangGraph": {&adaptertest.A2AAgent{LangGraph: true}, "", ""},
		"0.3":       {&adaptertest.A2AAgent{Version: "0.3"}, mapping.CodeOutcomeUnknown, "it could not be asked for its tasks"},
	} {
		b := dial(t, c.agent)
		if tr := adaptertest.Collect(t.Context(), b, saying("say"), 1); tr.Err != nil {
			t.Fatal(tr.Err)
		}
		again := saying("say")
		again.InDoubt = true
		tr := adaptertest.Collect(t.Context(), b, again, 0)
		if tr.Code() != c.code || c.agent.Work() != 1 || c.says != "" && !strings.Contains(tr.Err.Error(), c.says) {
			t.Errorf("%s: error %v, %d messages", name, tr.Err, c.agent.Work())
		}
	}
}

// rejecting is an agent that refuses a streamed message within the stream, when it may have worked already.
type rejecting struct {
	*adaptertest.A2AAgent
	sent *atomic.Int32
}

func (a rejecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		a.A2AAgent.ServeHTTP(w, r)
		return
	}
	a.sent.Add(1)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","error":{"code":-32004,"message":"no streams"}}`+"\n\n")
}

func TestAMessageRefusedInItsStreamIsNotSentAgain(t *testing.T) {
	t.Parallel()
	a := rejecting{&adaptertest.A2AAgent{}, new(atomic.Int32)}
	tr := adaptertest.Collect(t.Context(), dial(t, a), saying("say"), 0)
	if tr.Code() != mapping.CodeUpstreamError || a.sent.Load() != 1 {
		t.Errorf("error %v, %d messages", tr.Err, a.sent.Load())
	}
}

// slow is an agent that tells of its work for longer than step_timeout in one stream, and is then away for a moment.
type slow struct {
	*adaptertest.A2AAgent
	lasts time.Duration
	told  *atomic.Bool  // the stream was sent
	away  *atomic.Int32 // requests until it is back
}

func (a slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case bytes.Contains(body, []byte(`"SubscribeToTask"`)) && a.told.CompareAndSwap(false, true):
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(a.lasts / 20)
		defer tick.Stop()
		for n := range 20 {
			<-tick.C
			_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":"1","result":{"statusUpdate":{"taskId":"task-1","contextId":"context-of-task-1","status":{"state":"TASK_STATE_WORKING",`+
				`"message":{"messageId":"s-%d","role":"ROLE_AGENT","parts":[{"text":"part %d"}]}}}}}`+"\n\n", n, n)
			_ = http.NewResponseController(w).Flush()
		}
	case bytes.Contains(body, []byte(`"GetTask"`)) && a.away.Add(-1) >= 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		a.A2AAgent.ServeHTTP(w, r)
	}
}

// The time for which an agent may be away begins with its last sign of life, such as an event of a stream.
func TestALongStreamIsASignOfLife(t *testing.T) {
	t.Parallel()
	const stepTimeout = 2 * time.Second
	a := slow{&adaptertest.A2AAgent{CutAfter: 2}, stepTimeout * 5 / 4, new(atomic.Bool), new(atomic.Int32)}
	a.away.Store(4)
	up := adaptertest.Upstream(adaptertest.Serve(t, a).URL)
	up.Config.StepTimeout = stepTimeout
	b, err := backend.Dial(up)
	if err != nil {
		t.Fatal(err)
	}
	if tr := adaptertest.Collect(t.Context(), b, saying("say"), 0); tr.Err != nil || len(tr.Outputs()) != 3 {
		t.Errorf("%d outputs, %v", len(tr.Outputs()), tr.Err)
	}
}

// silent is an agent that breaks off its stream and then refuses every request for the task.
type silent struct{ *adaptertest.A2AAgent }

func (s silent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`"GetTask"`)) || bytes.Contains(body, []byte(`"SubscribeToTask"`)) || bytes.Contains(body, []byte(`"tasks/`)) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"no such method"}}`))
		return
	}
	s.A2AAgent.ServeHTTP(w, r)
}

// An agent that has begun a task and does not show what became of it may have finished it.
func TestATaskThatCannotBeReadHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{CutAfter: 2}
	tr := adaptertest.Collect(t.Context(), dial(t, silent{a}), saying("say"), 0)
	if tr.Code() != mapping.CodeOutcomeUnknown || !strings.Contains(tr.Err.Error(), "no such method") || a.Work() != 1 {
		t.Errorf("error %v, %d messages", tr.Err, a.Work())
	}
}

func TestATaskCanceledByItsAgentIsCancelled(t *testing.T) {
	t.Parallel()
	tr := adaptertest.Collect(t.Context(), dial(t, &adaptertest.A2AAgent{}), saying("cancel"), 0)
	if end := tr.End(); tr.Err != nil || end == nil || !end.Cancelled {
		t.Errorf("outcome %+v, %v", end, tr.Err)
	}
}

func TestACancellationReachesTheAgent(t *testing.T) {
	t.Parallel()
	for _, a := range []*adaptertest.A2AAgent{{}, {Version: "0.3"}, {HTTP: true}, {Version: "0.3", HTTP: true}} {
		b := dial(t, a)
		var link mapping.Link
		task := saying("hang")
		for ev, err := range b.Run(t.Context(), &task) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Head.Link != nil {
				link = *ev.Head.Link
				if err := b.(adapter.Canceler).Cancel(t.Context(), link, task.Run.ID); err != nil {
					t.Fatal(err)
				}
			}
			if out := ev.Head.Outcome; out != nil && !out.Cancelled {
				t.Errorf("outcome %+v", out)
			}
		}
		if err := b.(adapter.Canceler).Cancel(t.Context(), link, task.Run.ID); err != nil {
			t.Errorf("a second cancellation: %v", err)
		}
	}
}

// slowToAnswer calls asked before it answers a message.
type slowToAnswer struct {
	*adaptertest.A2AAgent
	asked func()
}

func (s slowToAnswer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.asked()
	}
	s.A2AAgent.ServeHTTP(w, r)
}

// A run that is stopped after its message was sent waits for the name of the task, so that the task can be cancelled.
func TestAStoppedRunLearnsTheNameOfItsTask(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]*adaptertest.A2AAgent{
		"1.0": {}, "1.0, polled": {NoStream: true}, "0.3": {Version: "0.3"}, "1.0 over HTTP+JSON": {HTTP: true}, "0.3 over HTTP+JSON": {Version: "0.3", HTTP: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			b := dial(t, slowToAnswer{v, stop})
			tr := adaptertest.Collect(ctx, b, saying("hang"), 0)
			last := len(tr.Events) - 1
			if tr.Err == nil || last < 0 || tr.Events[last].Kind != mapping.KindLinked || tr.Events[last].Head.Link.Remote == "" {
				t.Fatalf("events %+v, error %v", tr.Events, tr.Err)
			}
			if err := b.(adapter.Canceler).Cancel(t.Context(), *tr.Events[last].Head.Link, ""); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent *adaptertest.A2AAgent
		want  bool
	}{"1.0": {&adaptertest.A2AAgent{}, true}, "0.3": {&adaptertest.A2AAgent{Version: "0.3"}, true}, "no card": {&adaptertest.A2AAgent{NoCard: true}, false}} {
		got, err := backend.Detect(t.Context(), adaptertest.Upstream(adaptertest.Serve(t, c.agent).URL))
		if got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A task that waits for an authorization goes on by itself. The run reports that it waits, once, also if it is polled.
func TestAnAuthorizationIsAwaited(t *testing.T) {
	t.Parallel()
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := v.New()
			b := dial(t, a)
			task := saying("authorize")
			reports := 0
			for ev, err := range b.Run(t.Context(), &task) {
				if err != nil {
					t.Fatal(err)
				}
				if ev.Kind == mapping.KindCustom && ev.Head.Waiting {
					if reports++; !strings.Contains(string(ev.Data), "Sign in at the bank.") {
						t.Errorf("report %s", ev.Data)
					}
					if err := b.(adapter.Canceler).Cancel(t.Context(), mapping.Link{Remote: "task-1"}, task.Run.ID); err != nil {
						t.Fatal(err)
					}
				}
				if out := ev.Head.Outcome; out != nil && !out.Cancelled {
					t.Errorf("outcome %+v", out)
				}
			}
			if reports != 1 {
				t.Errorf("%d reports", reports)
			}
		})
	}
	tr := adaptertest.Collect(t.Context(), dial(t, &adaptertest.A2AAgent{}), saying("authorize once"), 0)
	var waits []bool
	for _, ev := range tr.Events {
		if ev.Kind == mapping.KindCustom {
			waits = append(waits, ev.Head.Waiting)
		}
	}
	if tr.Err != nil || !slices.Equal(waits, []bool{true, false}) || !slices.Equal(texts(tr), []string{"paid"}) {
		t.Errorf("reports that it waits: %v, steps %q, %v", waits, texts(tr), tr.Err)
	}
}

// LangGraph's tasks show the history of their whole context, so that each of them shows a message whose response was lost.
func TestALostResponseIsLookedUpAmongTasksOfOneContext(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{LangGraph: true}
	b := dial(t, a)
	first := adaptertest.Collect(t.Context(), b, saying("say"), 0)
	next := saying("file please")
	next.Run.ID, next.Link = mapping.NewID(), mapping.Link{Topic: first.Events[0].Head.Link.Topic}
	if tr := adaptertest.Collect(t.Context(), b, next, 1); tr.Err != nil {
		t.Fatal(tr.Err)
	}
	next.InDoubt, next.Files = true, adaptertest.NewFiles(nil)
	tr := adaptertest.Collect(t.Context(), b, next, 0)
	if tr.Err != nil || a.Work() != 2 || len(tr.Events) == 0 || tr.Events[0].Head.Link.Remote != "task-2" {
		t.Errorf("%d messages, %v, %d steps", a.Work(), tr.Err, len(tr.Outputs()))
	}
}

// A file without a name is named after its artifact and its media type.
func TestFilesWithoutANameAreNamed(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"text/plain": "file.txt", "application/json": "file.json", "": "file"} {
		a := loose{&adaptertest.A2AAgent{}, func(events []event) []event {
			for _, ev := range events {
				if u, ok := ev["artifactUpdate"].(event); ok {
					part := u["artifact"].(event)["parts"].([]any)[0].(event)
					delete(part, "filename")
					part["mediaType"] = kind
				}
			}
			return events
		}}
		files := adaptertest.NewFiles(nil)
		task := adaptertest.NewTask(files)
		task.Task.Prompt = "file please"
		tr := adaptertest.Collect(t.Context(), dial(t, a), task, 0)
		if _, ok := files.Content(want); !ok || tr.Err != nil {
			list, _ := files.List(t.Context())
			t.Errorf("%q: %+v, %v", kind, list, tr.Err)
		}
	}
}

// An error response has the status and the agent's words if it is not an error of the protocol.
func TestAFailedCallHasItsStatusAndWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		http bool
		body string
		want string
	}{
		{false, `{"error":"boom"}`, "answered 500: boom."},
		{true, `{"error":"boom"}`, "answered 500: boom."},
		{false, `{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"boom"}}`, "answered with error -32001: boom"},
		{true, `{"error":{"code":500,"status":"INTERNAL","message":"boom","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`, "answered with error -32001: boom"},
	} {
		agent := &adaptertest.A2AAgent{HTTP: c.http}
		tr := adaptertest.Collect(t.Context(), dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				agent.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, c.body)
		})), saying("say"), 0)
		if tr.Err == nil || !strings.Contains(tr.Err.Error(), c.want) {
			t.Errorf("http %v, %s: %v", c.http, c.body, tr.Err)
		}
	}
}
