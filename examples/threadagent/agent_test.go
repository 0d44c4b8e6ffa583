package threadagent

import (
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

func serve(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(Handler())
	t.Cleanup(srv.Close)
	return srv.URL
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
	thread := serve(t) + "/threads/t1"
	_, got := call(t, "POST", thread+"/runs/stream", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hello"}]}}`)
	if want := "metadata values checkpoints messages updates values checkpoints messages updates values checkpoints"; events(got) != want {
		t.Errorf("events = %q, want %q", events(got), want)
	}
	_, state := call(t, "GET", thread+"/state", "")
	for _, want := range []string{"/answer.txt", `"next":[]`, "The answer to hello."} {
		if !strings.Contains(state, want) {
			t.Errorf("state lacks %q: %s", want, state)
		}
	}
}

func TestQuestionAndResume(t *testing.T) {
	t.Parallel()
	thread := serve(t) + "/threads/t1"
	_, got := call(t, "POST", thread+"/runs/stream", `{"input":{"messages":[{"type":"human","content":"ask me"}]}}`)
	if !strings.Contains(got, `{"__interrupt__"`) || strings.Contains(got, "The answer") {
		t.Errorf("stream = %s, want the question at its end", got)
	}
	if _, state := call(t, "GET", thread+"/state", ""); !strings.Contains(state, `"next":["answer"]`) || !strings.Contains(state, "What shall") {
		t.Errorf("state = %s, want the question in it", state)
	}
	if _, got = call(t, "POST", thread+"/runs/stream", `{"command":{"resume":"blue"}}`); !strings.Contains(got, "you told me blue") {
		t.Errorf("resumed = %s, want the answer in it", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	base := serve(t)
	if got, body := call(t, "GET", base+"/threads/none/state", ""); got != 404 {
		t.Errorf("unknown thread: %d %s", got, body)
	}
	if got, body := call(t, "POST", base+"/threads/t/runs/stream", "{"); got != 422 {
		t.Errorf("bad body: %d %s", got, body)
	}
}
