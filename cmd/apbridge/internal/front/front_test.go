package front

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// played is an agent by hand.
type played struct {
	dialect, profile string
	err              error
	block            bool // it never answers
	asked            atomic.Int64
}

func (p *played) Dialect() string { return p.dialect }

func (p *played) Backend(context.Context) (adapter.Backend, adapter.Traits, error) {
	return p, adapter.Traits{}, nil
}

func (p *played) Probe(ctx context.Context) error {
	p.asked.Add(1)
	if p.block {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("asking: %w", err)
	}
	return p.err
}

func (p *played) Profile() string { return p.profile }

func (p *played) Run(context.Context, *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return nil
}

// site shows pages of agents; change may be nil.
func site(t *testing.T, agents map[string]*played, change func(*Options, *config.Config)) map[string]http.Handler {
	t.Helper()
	cfg := config.Default()
	cfg.Agents = map[string]config.Agent{}
	for name := range agents {
		cfg.Agents[name] = config.DefaultAgent()
	}
	o := Options{
		Version: "1.2.3",
		Config:  func() *config.Config { return cfg },
		Agent: func(name string) Agent {
			if a := agents[name]; a != nil {
				return a
			}
			return nil
		},
		Caller: func(context.Context) Caller { return Caller{URL: "https://bridge.test/below"} },
		Log:    zap.NewNop(),
	}
	if change != nil {
		change(&o, cfg)
	}
	pages, err := Pages(o)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func ask1(t *testing.T, h http.Handler, who mapping.Principal, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(mapping.WithPrincipal(t.Context(), who), "GET", "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// TestNamesAreInert checks that names and messages of agents are shown as text, whatever they contain.
func TestNamesAreInert(t *testing.T) {
	t.Parallel()
	names := []string{"<script>alert(1)</script>", "a\u202eb\u2066", "it's \"quoted\" $(id) `id`", strings.Repeat("x", 64), "\x00\x1b[31m", "</code></pre><b>"}
	agents := map[string]*played{}
	for _, name := range names {
		agents[name] = &played{dialect: "taskstep", profile: "</p><img src=x onerror=alert(1)>\u202e"}
	}
	pages := site(t, agents, func(_ *Options, c *config.Config) { c.DefaultAgent = names[0] })
	for path, h := range pages {
		got := ask1(t, h, mapping.Principal{}, "Accept", browser)
		text := got.Body.String()
		for _, bad := range []string{"<script", "<img", "<b>", "\u202e", "\u2066", "\x00", "\x1b"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", `a\u{202e}b\u{2066}`, strings.Repeat("x", 64)} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", path, want)
			}
		}
	}
}

// TestHealth checks the state and the sentence that are shown for an agent.
func TestHealth(t *testing.T) {
	t.Parallel()
	agents := map[string]*played{
		"good":   {dialect: "threadrun", profile: "LangGraph Server, graph a"},
		"away":   {err: mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable, "The agent away does not answer.")},
		"other":  {},
		"closed": {err: mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "The agent closed refuses credentials.")},
		"broken": {err: fmt.Errorf("secret cause")},
		"slow":   {block: true},
	}
	pages := site(t, agents, nil)
	var got struct {
		Agents []struct {
			Name, State, Message string
			Asked                time.Time `json:"asked_at"`
		}
	}
	if err := json.Unmarshal(ask1(t, pages["/"], mapping.Principal{}).Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	found := map[string][2]string{}
	for _, a := range got.Agents {
		found[a.Name] = [2]string{a.State, a.Message}
		if a.Asked.IsZero() {
			t.Errorf("%s: when it was asked is not told", a.Name)
		}
	}
	want := map[string][2]string{
		"good":   {"answers", "LangGraph Server, graph a"},
		"away":   {"does not answer", "The agent away does not answer."},
		"closed": {"cannot be used", "The agent closed refuses credentials."},
		"other":  {"cannot be used", "A server answers at the agent's URL, but not like such an agent. Run apbridge doctor for details."},
		"broken": {"does not answer", "It could not be checked; the log of the bridge may have the reason."},
		"slow":   {"does not answer", "It did not answer within 2s."},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVisitorsCostAgentsNothing checks that an agent is checked once per interval, however many visitors there are. An
// agent that no visitor may see is not checked. An agent that replaces another one is checked again.
func TestVisitorsCostAgentsNothing(t *testing.T) {
	t.Parallel()
	h, now := NewCheckups(), time.Now()
	h.now = func() time.Time { return now }
	a := &played{profile: "fine"}
	for range 50 {
		if got := h.Of(t.Context(), map[string]Agent{"a": a})["a"]; got.State != Answers || !got.Asked.Equal(now) {
			t.Fatalf("%+v", got)
		}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	now = now.Add(fresh)
	if got := h.Of(left, map[string]Agent{"a": a})["a"]; got.State != Answers || a.asked.Load() != 2 {
		t.Errorf("a visitor who left: %+v, asked %d times", got, a.asked.Load())
	}
	next := &played{profile: "another"}
	if got := h.Of(t.Context(), map[string]Agent{"a": next})["a"]; got.Message != "another" {
		t.Errorf("a new agent: %+v", got)
	}
	hidden := &played{profile: "hidden"}
	pages := site(t, map[string]*played{"seen": a, "hidden": hidden}, nil)
	for path, page := range pages {
		text := ask1(t, page, mapping.Principal{Agents: []string{"seen"}}, "Accept", browser).Body.String()
		if strings.Contains(text, "hidden") || !strings.Contains(text, "seen") {
			t.Errorf("%s shows what the key may not use", path)
		}
	}
	if hidden.asked.Load() != 0 {
		t.Error("an agent was asked for one who may not use it")
	}
}

// TestOthersCallsAreNotTold checks that only callers that may read metrics see whether an agent answered other callers.
func TestOthersCallsAreNotTold(t *testing.T) {
	t.Parallel()
	called := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pages := site(t, map[string]*played{"a": {profile: "fine"}}, func(o *Options, _ *config.Config) {
		o.Answered = func(string) time.Time { return called }
	})
	for tenant, want := range map[string]bool{"": true, "acme": false} {
		text := ask1(t, pages["/"], mapping.Principal{Tenant: tenant}, "Accept", browser).Body.String()
		if got := strings.Contains(text, "last answered <time"); got != want {
			t.Errorf("tenant %q: %v", tenant, got)
		}
	}
}

type noMeter struct{}

func (noMeter) UpstreamCall(string, string, string, time.Duration) {}

// TestCallsCountFailuresOfTheAgent checks which calls count as failed.
func TestCallsCountFailuresOfTheAgent(t *testing.T) {
	t.Parallel()
	for call, want := range map[[2]string]int{
		{upstream.OpRun, "ok"}: 0, {upstream.OpRun, "stopped"}: 0, {upstream.OpRead, "refused"}: 0,
		{upstream.OpRun, "refused"}: 1, {upstream.OpRun, "error"}: 1, {upstream.OpRead, "error"}: 1, {upstream.OpRead, "unreachable"}: 1,
	} {
		c := NewCalls(noMeter{})
		c.UpstreamCall("a", call[0], call[1], time.Second)
		if s := c.Newest("a"); s.Calls != 1 || s.Failed != want {
			t.Errorf("%v: %d of %d failed, want %d", call, s.Failed, s.Calls, want)
		}
	}
}

// spokenBy returns a dialect whose example program contains its parameters.
func spokenBy(name string) adapter.Dialect {
	return adapter.Dialect{
		Name: name, Mount: func(*mux.Router, adapter.Service, adapter.Face) {}, Speaks: "the words of " + name, Chooses: "as " + name + "_id",
		Snippets: func(a adapter.SnippetParams) []adapter.Snippet {
			text := fmt.Sprintf("%s asks %s %s default=%v keys=%v %s", name, a.URL, a.Agent, a.Default, a.Keys, a.Input)
			return []adapter.Snippet{{ID: "in-" + name, Language: name, About: "of " + name, Text: text}}
		},
	}
}

// TestProgramsAreTheDialects checks that both pages show the example programs of the dialects, last dialect first, for
// the first agent that the caller sees.
func TestProgramsAreTheDialects(t *testing.T) {
	t.Parallel()
	const input = `{"messages":[{"role":"user","content":"hi"}]}`
	for what, c := range map[string]struct{ def, asks string }{
		"a default agent": {"b", "b default=true keys=true "},
		"none":            {"", "a default=false keys=true "},
	} {
		pages := site(t, map[string]*played{"a": {}, "b": {}}, func(o *Options, cfg *config.Config) {
			o.Dialects, cfg.DefaultAgent = adapter.Dialects{spokenBy("one"), spokenBy("two")}, c.def
			cfg.Auth.Keys = []config.Key{{ID: "k"}}
		})
		asks := "asks https://bridge.test/below " + c.asks + input
		for path, want := range map[string][]string{
			"/":     {"the words of two, or the words of one.", "two " + asks},
			"/docs": {`<figure id="in-two">`, "two " + asks, `<figure id="in-one">`, "one " + asks, "as two_id, or as one_id."},
		} {
			text := html.UnescapeString(ask1(t, pages[path], mapping.Principal{}, "Accept", browser).Body.String())
			for _, part := range want {
				_, rest, found := strings.Cut(text, part)
				if !found {
					t.Errorf("%s: %s lacks %q, in its place:\n%s", what, path, part, text)
				}
				text = rest
			}
		}
	}
	if text := ask1(t, site(t, nil, nil)["/"], mapping.Principal{}, "Accept", browser).Body.String(); strings.Contains(text, `id="use"`) {
		t.Errorf("a program of no dialect:\n%s", text)
	}
}

// TestExamples checks that a route of one agent has the agent's path, and that path parameters become shell variables.
func TestExamples(t *testing.T) {
	t.Parallel()
	doc, err := readRoutes(adapter.Document{Name: "d", Text: []byte(`{"servers":[{"url":"/"},{"url":"/of/{agent}"}],"paths":{"/talks/{talk_id}":{"get":{}}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if doc.PerAgent() != "/of/NAME" {
		t.Errorf("for any agent: %q", doc.PerAgent())
	}
	for _, c := range []struct {
		asked adapter.SnippetParams
		want  string
	}{
		{adapter.SnippetParams{URL: "http://b.test", Agent: "a", Default: true}, `curl -s "http://b.test/talks/$talk_id"`},
		{adapter.SnippetParams{URL: "http://b.test", Agent: "a", Keys: true}, `curl -s "http://b.test/of/a/talks/$talk_id" -H "x-api-key: $APBRIDGE_KEY"`},
	} {
		if got := doc.shown(c.asked).Shown[0].Routes[0].Example; got != c.want {
			t.Errorf("%+v: %s", c.asked, got)
		}
	}
}
