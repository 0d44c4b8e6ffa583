package threadagent

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func call(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

func newThreadURL(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(Handler())
	t.Cleanup(srv.Close)
	status, body := call(t, "POST", srv.URL+"/threads", "{}")
	var made struct {
		ThreadID string `json:"thread_id"`
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != 200 {
		t.Fatalf("create thread: status %d, %s", status, body)
	}
	return srv.URL + "/threads/" + made.ThreadID
}

// events lists the event names of a stream in order.
func events(stream string) string {
	var list []string
	for line := range strings.Lines(stream) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			list = append(list, strings.TrimSpace(name))
		}
	}
	return strings.Join(list, " ")
}

func TestStreamTellsBothNodes(t *testing.T) {
	t.Parallel()
	thread := newThreadURL(t)
	_, got := call(t, "POST", thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["values","updates"],"input":{"messages":[{"role":"user","content":"hello"}]}}`)
	if want := "metadata values updates values updates values"; events(got) != want {
		t.Errorf("events = %q, want %q", events(got), want)
	}
	_, state := call(t, "GET", thread+"/state", "")
	_, run, _ := strings.Cut(got, `"run_id":"`)
	run, _, _ = strings.Cut(run, `"`)
	if status, body := call(t, "GET", thread+"/runs/"+run, ""); status != 200 || !strings.Contains(body, `"status":"success"`) {
		t.Errorf("run = %d %s", status, body)
	}
	for _, want := range []string{"/answer.txt", `"next":[]`, `"source":"loop"`, `"run_id":"` + run + `"`, "The answer to hello."} {
		if !strings.Contains(state, want) {
			t.Errorf("state lacks %q: %s", want, state)
		}
	}
}

func TestTokensTasksAndCheckpoints(t *testing.T) {
	t.Parallel()
	_, got := call(t, "POST", newThreadURL(t)+"/runs/stream", `{"stream_mode":["messages-tuple","tasks","checkpoints"],"input":{"messages":[{"type":"human","content":"hi"}]}}`)
	want := "metadata checkpoints tasks messages messages messages messages tasks checkpoints tasks messages messages messages messages tasks checkpoints"
	if events(got) != want {
		t.Errorf("events =\n%s, want\n%s", events(got), want)
	}
}

func TestQuestionAndResume(t *testing.T) {
	t.Parallel()
	thread := newThreadURL(t)
	_, got := call(t, "POST", thread+"/runs/wait", `{"input":{"messages":[{"role":"user","content":"ask me"}]}}`)
	if !strings.HasPrefix(got, `{"__interrupt__"`) {
		t.Errorf("wait = %s, want the question", got)
	}
	if _, view := call(t, "GET", thread, ""); !strings.Contains(view, `"status":"interrupted"`) {
		t.Errorf("thread = %s, want it interrupted", view)
	}
	_, got = call(t, "POST", thread+"/runs/wait", `{"command":{"resume":"blue"}}`)
	if !strings.Contains(got, "you told me blue") {
		t.Errorf("resumed = %s, want the answer in it", got)
	}
}

func TestStepByStep(t *testing.T) {
	t.Parallel()
	thread := newThreadURL(t)
	call(t, "POST", thread+"/runs/wait", `{"interrupt_after":["*"],"input":{"messages":[{"role":"user","content":"hi"}]}}`)
	if _, state := call(t, "GET", thread+"/state", ""); !strings.Contains(state, `"next":["answer"]`) {
		t.Errorf("state = %s, want answer to be next", state)
	}
	if _, got := call(t, "POST", thread+"/runs/wait", `{"interrupt_after":["*"],"input":null}`); !strings.Contains(got, "The answer to hi.") {
		t.Errorf("second run = %s, want the answer", got)
	}
}

func TestSeededThread(t *testing.T) {
	t.Parallel()
	thread := newThreadURL(t)
	base := thread[:strings.LastIndex(thread, "/")]
	_, got := call(t, "POST", base, `{"supersteps":[{"updates":[{"values":{"messages":[{"id":"m1","role":"user","content":"before"}]},"as_node":"answer"}]}]}`)
	if !strings.Contains(got, `"before"`) || !strings.Contains(got, `"status":"idle"`) {
		t.Errorf("seeded thread = %s", got)
	}
	status, _ := call(t, "POST", thread+"/state", `{"values":{"files":{"/a.txt":"x"}}}`)
	if _, state := call(t, "GET", thread+"/state", ""); status != 200 || !strings.Contains(state, `"/a.txt":"x"`) {
		t.Errorf("updated state = %d %s", status, state)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	thread := newThreadURL(t)
	base := strings.TrimSuffix(thread[:strings.LastIndex(thread, "/")], "/threads")
	for name, c := range map[string]struct {
		method, url, body string
		want              int
	}{
		"unknown thread":    {"GET", base + "/threads/none", "", 404},
		"unknown run":       {"GET", thread + "/runs/none", "", 404},
		"unknown state":     {"GET", thread + "/state/none", "", 404},
		"unknown assistant": {"GET", base + "/assistants/none", "", 404},
		"bad body":          {"POST", thread + "/runs/wait", "{", 422},
		"thread exists":     {"POST", base + "/threads", `{"thread_id":"` + thread[strings.LastIndex(thread, "/")+1:] + `"}`, 409},
	} {
		if got, body := call(t, c.method, c.url, c.body); got != c.want {
			t.Errorf("%s: status %d, want %d (%s)", name, got, c.want, body)
		}
	}
}
