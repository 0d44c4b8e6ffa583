package threadrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// sent is a run in the form in which the agent's server received it.
type sent struct {
	thread string // the upstream thread
	body   string
	seeded bool // the thread was created with a state
}

// wire is a proxy for a real LangGraph server that records the requests for runs.
type wire struct {
	http.Handler
	url string

	mu     sync.Mutex
	runs   []sent
	seeded map[string]bool
}

var runPath = regexp.MustCompile(`^/threads/([^/]+)/runs/stream$`)

func newWire(t *testing.T) *wire {
	t.Helper()
	server := os.Getenv("APBRIDGE_E2E_LANGGRAPH")
	if server == "" {
		t.Skip("APBRIDGE_E2E_LANGGRAPH is not set: it names a LangGraph server; make e2e starts one")
	}
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	w := &wire{seeded: map[string]bool{}}
	w.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.note(r, string(body))
		proxy.ServeHTTP(out, r)
	})
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

func (w *wire) note(r *http.Request, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var made struct {
		ID         string            `json:"thread_id"`
		Supersteps []json.RawMessage `json:"supersteps"`
	}
	switch m := runPath.FindStringSubmatch(r.URL.Path); {
	case r.Method != http.MethodPost:
	case m != nil:
		w.runs = append(w.runs, sent{m[1], body, w.seeded[m[1]]})
	case r.URL.Path == "/threads" && json.Unmarshal([]byte(body), &made) == nil:
		w.seeded[made.ID] = len(made.Supersteps) > 0
	}
}

func (w *wire) last(t *testing.T) sent {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.runs) == 0 {
		t.Fatal("the agent received no run")
	}
	return w.runs[len(w.runs)-1]
}

// owned is a thread of real graphs, with one ended run.
type owned struct {
	*rig.Bridge
	wire   *wire
	at     string
	first  sent
	remote *rig.Bridge // the server itself
}

func newOwned(t *testing.T, w *wire) *owned {
	t.Helper()
	graph := func(name string) config.Agent {
		return rig.AgentAt(w.url, func(a *config.Agent) { a.Dialect, a.Assistant, a.AllowConcurrent = "threadrun", name, true })
	}
	b := rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{
		"agent": graph("chat"), "slow": graph("slow"), "ask": graph("ask"),
		"steps": rig.AgentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL),
	}))
	o := &owned{Bridge: b, wire: w, at: b.Thread(), remote: &rig.Bridge{T: t, URL: w.url}}
	o.runs("one")
	o.first = w.last(t)
	return o
}

func words(text string) string {
	return `"input":{"messages":[{"role":"user","content":"` + text + `"}]}`
}

func (o *owned) runs(text string, more ...string) {
	o.T.Helper()
	o.on("agent", text, more...)
}

func (o *owned) on(agent, text string, more ...string) rig.Answer {
	o.T.Helper()
	a := o.Post(o.at+"/runs/wait", `{"assistant_id":"`+agent+`",`+strings.Join(more, "")+words(text)+`}`).OK()
	if a.At("__error__") != nil {
		o.T.Fatalf("run %q: %s", text, a.Body)
	}
	return a
}

func saidAt(a rig.Answer, path string) string { return fmt.Sprint(rig.Pluck(a.List(path), "content")) }

// chatted returns the expected messages of a thread on which the graph "chat" received these texts. A text that begins
// with "=" was added without the graph.
func chatted(texts ...string) string {
	var all []string
	for _, text := range texts {
		if said, ok := strings.CutPrefix(text, "="); ok {
			all = append(all, said)
			continue
		}
		all = append(all, text, "planning", "you said: "+text)
	}
	return "[" + strings.Join(all, " ") + "]"
}

// checkBoth checks that the thread has the expected messages, both in the bridge and at the agent.
func (o *owned) checkBoth(want string) {
	o.T.Helper()
	if got := saidAt(o.Get(o.at+"/state").OK(), "values.messages"); got != want {
		o.T.Errorf("the bridge has %s, want %s", got, want)
	}
	if got := saidAt(o.remote.Get("/threads/"+o.wire.last(o.T).thread+"/state").OK(), "values.messages"); got != want {
		o.T.Errorf("the agent has %s, want %s", got, want)
	}
}

const (
	sameThread   = "the same thread, only what is new"
	forkedThread = "the same thread, from an older checkpoint"
	freshThread  = "a fresh thread with the whole state"
)

func (o *owned) sentTo() string {
	last := o.wire.last(o.T)
	var body struct {
		Checkpoint   string `json:"checkpoint_id"`
		CheckpointAt any    `json:"checkpoint"`
	}
	_ = json.Unmarshal([]byte(last.body), &body)
	switch {
	case last.thread != o.first.thread:
		return freshThread
	case body.Checkpoint != "" || body.CheckpointAt != nil:
		return forkedThread
	}
	return sameThread
}

func (o *owned) checkpoints() (ids []string) {
	for _, c := range o.Get(o.at + "/history?limit=100").OK().List("") {
		ids = append(ids, fmt.Sprint(rig.Dig(c, "checkpoint.checkpoint_id")))
	}
	return ids
}

// TestRealStateOwnership checks that both sides have the same state before a run on a real LangGraph server, whichever
// side changed it, and that the server's own reducers are used.
func TestRealStateOwnership(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*owned)
		where  string
		want   string
	}{
		"nothing happened": {func(*owned) {}, sameThread, chatted("one", "two")},
		"state update": {func(o *owned) {
			o.Post(o.at+"/state", `{"values":{"messages":[{"type":"human","content":"noted"}]},"as_node":"answer"}`).OK()
		}, sameThread, chatted("one", "=noted", "two")},
		"patch of messages": {func(o *owned) {
			o.Do("PATCH", o.at, `{"messages":[{"role":"user","content":"noted"}]}`).OK()
		}, sameThread, chatted("one", "=noted", "two")},
		"patch of values": {func(o *owned) {
			o.Do("PATCH", o.at, `{"values":{"messages":[{"type":"human","content":"noted"}]}}`).OK()
		}, sameThread, chatted("one", "=noted", "two")},
		"update of an older state": {func(o *owned) {
			ids := o.checkpoints()
			o.Post(o.at+"/state", `{"checkpoint_id":"`+ids[len(ids)-1]+`","values":{"messages":[{"type":"human","content":"instead"}]}}`).OK()
		}, sameThread, chatted("=instead", "two")},
		"run from the end of an older one": {func(o *owned) {
			head := o.checkpoints()[0]
			o.runs("dropped")
			o.runs("forked", `"checkpoint_id":"`+head+`",`)
			if got := o.sentTo(); got != forkedThread {
				o.T.Errorf("the fork went to %s: %s", got, o.wire.last(o.T).body)
			}
		}, sameThread, chatted("one", "forked", "two")},
		"run from an older state that the server has named": {func(o *owned) {
			o.Post(o.at+"/state", `{"values":{"messages":[{"type":"human","content":"noted"}]},"as_node":"answer"}`).OK()
			named := o.checkpoints()[0]
			o.runs("dropped")
			o.runs("forked", `"checkpoint_id":"`+named+`",`)
			if got := o.sentTo(); got != forkedThread {
				o.T.Errorf("the fork went to %s: %s", got, o.wire.last(o.T).body)
			}
		}, sameThread, chatted("one", "=noted", "forked", "two")},
		"run rolled back": {func(o *owned) {
			run := o.Begin(o.at, "")
			o.Post(run+"/cancel?wait=true&action=rollback", "").OK()
			o.Get(run).Is(http.StatusNotFound)
		}, "", chatted("one", "two")},
		"copy": {func(o *owned) {
			o.at = "/threads/" + o.Post(o.at+"/copy", "").OK().Text("thread_id")
		}, freshThread, chatted("one", "two")},
		"run of another agent": {func(o *owned) {
			o.on("steps", "=")
		}, freshThread, ""},
		"run on the server itself": {func(o *owned) {
			o.remote.Post("/threads/"+o.first.thread+"/runs/wait", `{"assistant_id":"chat",`+words("foreign")+`}`).OK()
		}, sameThread, chatted("one", "foreign", "two")},
		"two runs beside each other": {func(o *owned) {
			var both sync.WaitGroup
			for _, text := range []string{"left", "right"} {
				both.Go(func() {
					a := o.Do("POST", o.at+"/runs/wait", `{"assistant_id":"agent","multitask_strategy":"concurrent",`+words(text)+`}`)
					if a.Status != http.StatusOK || strings.Contains(string(a.Body), "__error__") {
						o.T.Errorf("%s: %d %s", text, a.Status, a.Body)
					}
				})
			}
			both.Wait()
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOwned(t, newWire(t))
			o.checkBoth(chatted("one"))
			c.change(o)
			before := saidAt(o.Get(o.at+"/state").OK(), "values.messages")
			o.runs("two")
			if got := o.sentTo(); c.where != "" && got != c.where {
				t.Errorf("the run was sent to %s, want %s: %s", got, c.where, o.wire.last(t).body)
			}
			want := c.want
			if want == "" {
				want = strings.TrimSuffix(before, "]") + " " + strings.TrimPrefix(chatted("two"), "[")
			}
			o.checkBoth(want)
			switch name {
			case "run on the server itself":
				if !strings.Contains(string(o.Get(o.at+"/history?limit=100").Body), `"source":"upstream"`) {
					t.Error("no checkpoint shows the change by another client")
				}
			case "two runs beside each other":
				for _, text := range []string{"you said: left", "you said: right"} {
					if strings.Count(want, text) != 1 {
						t.Errorf("%q is not in %s", text, want)
					}
				}
			}
		})
	}
}
