package passthrough_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/passthrough"
	"github.com/google/go-cmp/cmp"
)

// way serves a Proxy for an agent.
func way(t *testing.T, agent http.HandlerFunc, change ...func(*config.Agent)) *httptest.Server {
	t.Helper()
	up := httptest.NewServer(agent)
	t.Cleanup(up.Close)
	c := config.DefaultAgent()
	c.URL = up.URL
	for _, f := range change {
		f(&c)
	}
	return serve(t, c)
}

func serve(t *testing.T, c config.Agent) *httptest.Server {
	t.Helper()
	return serveCounted(t, adapter.Upstream{Name: "legacy", Config: c})
}

func serveCounted(t *testing.T, up adapter.Upstream) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(proxyTo(t, up))
	t.Cleanup(srv.Close)
	return srv
}

func proxyTo(t *testing.T, up adapter.Upstream) *passthrough.Proxy {
	t.Helper()
	p, err := passthrough.New(up, []string{"/ap/v1/agent", "/ap/v1", "/agent"}, func(w http.ResponseWriter, _ *http.Request, e *mapping.Error) {
		http.Error(w, e.Message, adapter.Status(e.Class))
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func send(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestAgentReceivesOnlyItsOwnCredential(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	srv := way(t, func(w http.ResponseWriter, r *http.Request) { seen <- r.Header.Clone() }, func(c *config.Agent) {
		c.Headers = map[string]config.Secret{"authorization": "Bearer the agent's", "X-Tenant": "acme"}
	})
	req := request(t, "POST", srv.URL+"/agents/legacy/upstream/x", "{}")
	for name, value := range map[string]string{
		"Authorization": "Bearer the caller's", "X-Api-Key": "the caller's", "Cookie": "s=1", "Proxy-Authorization": "Basic eA==",
		"Origin": "http://page", "Referer": "http://page/x", "X-Forwarded-For": "1.2.3.4", "Forwarded": "for=1.2.3.4", "X-Tenant": "other",
		"Connection": "X-Hop", "X-Hop": "1", "Upgrade": "websocket", "X-Kept": "yes", "Baggage": "user=1", "Traceparent": "no trace",
	} {
		req.Header.Set(name, value)
	}
	send(t, req)
	got := <-seen
	want := map[string]string{
		"Authorization": "Bearer the agent's", "X-Tenant": "acme", "X-Kept": "yes", "X-Api-Key": "", "Cookie": "", "Proxy-Authorization": "",
		"Origin": "", "Referer": "", "X-Forwarded-For": "", "Forwarded": "", "Connection": "", "X-Hop": "", "Upgrade": "", "Baggage": "", "Traceparent": "",
	}
	for name, value := range want {
		if got.Get(name) != value || len(got.Values(name)) > 1 {
			t.Errorf("%s = %q, want %q", name, got.Values(name), value)
		}
	}
}

func TestPathsQueriesAndBodiesPassAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, path, want string }{
		{"", "", "POST / body"},
		{"", "/", "POST / body"},
		{"", "/a/b%20c?x=1&y=a%2Fb", "POST /a/b%20c?x=1&y=a%2Fb body"},
		{"/ap/v1", "/ap/v1/agent/tasks", "POST /ap/v1/agent/tasks body"},
		{"/ap/v1/agent/", "/docs", "POST /docs body"},
		{"/deep", "/docs", "POST /deep/docs body"},
	} {
		srv := way(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+string(b))
		}, func(c *config.Agent) { c.URL += tt.base })
		if _, got := send(t, request(t, "POST", srv.URL+"/agents/legacy/upstream"+tt.path, "body")); got != tt.want {
			t.Errorf("%s + %s: the agent got %q, want %q", tt.base, tt.path, got, tt.want)
		}
	}
}

func TestResponseHeadersAreFiltered(t *testing.T) {
	t.Parallel()
	srv := way(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Location", "http://"+r.Host+"/tasks/1?x=1")
		h.Set("Content-Location", "/tasks/1")
		h.Set("Set-Cookie", "s=1")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("X-Request-Id", "theirs")
		h.Set("X-Own", "kept")
		w.WriteHeader(http.StatusSeeOther)
	})
	res, _ := send(t, request(t, "GET", srv.URL+"/agents/legacy/upstream/go", ""))
	got := map[string]string{}
	for _, name := range []string{"Location", "Content-Location", "Set-Cookie", "Access-Control-Allow-Origin", "X-Request-Id", "X-Own"} {
		got[name] = res.Header.Get(name)
	}
	want := map[string]string{
		"Location": "/agents/legacy/upstream/tasks/1?x=1", "Content-Location": "/agents/legacy/upstream/tasks/1",
		"Set-Cookie": "", "Access-Control-Allow-Origin": "", "X-Request-Id": "", "X-Own": "kept",
	}
	if diff := cmp.Diff(want, got); diff != "" || res.StatusCode != http.StatusSeeOther {
		t.Errorf("status %d, headers (-want +got):\n%s", res.StatusCode, diff)
	}
}

func TestForeignReferencesAreUnchanged(t *testing.T) {
	t.Parallel()
	srv := way(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusFound)
	}, func(c *config.Agent) { c.URL += "/deep" })
	for to, want := range map[string]string{
		"https://elsewhere.example/x": "https://elsewhere.example/x",
		"next":                        "next",
		"/other":                      "/other",
		"/deeper":                     "/deeper",
		"/deep/x":                     "/agents/legacy/upstream/x",
	} {
		res, _ := send(t, request(t, "GET", srv.URL+"/agents/legacy/upstream/go?to="+to, ""))
		if got := res.Header.Get("Location"); got != want {
			t.Errorf("%s became %s, want %s", to, got, want)
		}
	}
}

func TestStreamsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	srv := way(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "one\n")
		_ = http.NewResponseController(w).Flush()
		<-goOn
		_, _ = io.WriteString(w, "two\n")
	})
	res, err := http.DefaultClient.Do(request(t, "GET", srv.URL+"/agents/legacy/upstream/stream", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || lines.Text() != "one" {
		t.Fatalf("the first line is %q", lines.Text())
	}
	close(goOn) // not before the first line arrived
	if !lines.Scan() || lines.Text() != "two" {
		t.Fatalf("the second line is %q", lines.Text())
	}
}

func TestUnresponsiveAgents(t *testing.T) {
	t.Parallel()
	c := config.DefaultAgent()
	c.URL = "http://127.0.0.1:1"
	if res, body := send(t, request(t, "GET", serve(t, c).URL+"/agents/legacy/upstream/x", "")); res.StatusCode != http.StatusBadGateway || strings.Contains(body, "127.0.0.1:1") {
		t.Errorf("an unreachable agent: %d %s", res.StatusCode, body)
	}
	never := make(chan struct{})
	defer close(never)
	slow := way(t, func(http.ResponseWriter, *http.Request) { <-never }, func(c *config.Agent) { c.StepTimeout = 50 * time.Millisecond })
	if res, _ := send(t, request(t, "GET", slow.URL+"/agents/legacy/upstream/x", "")); res.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("an agent that hangs: %d", res.StatusCode)
	}
	cut := way(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		conn, _, _ := http.NewResponseController(w).Hijack()
		conn.Close()
	})
	res, err := http.DefaultClient.Do(request(t, "GET", cut.URL+"/agents/legacy/upstream/x", ""))
	if err == nil {
		defer res.Body.Close()
		if b, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("half a response was forwarded as complete: %q", b)
		}
	}
}

// An agent may respond before it has read the body. The response is forwarded at once, and the rest of the body after
// it.
func TestResponseIsForwardedBeforeTheBodyHasEnded(t *testing.T) {
	t.Parallel()
	srv := way(t, func(w http.ResponseWriter, r *http.Request) {
		out := http.NewResponseController(w)
		if err := out.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "begun\n")
		_ = out.Flush()
		rest, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(rest)
	})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	body, write := io.Pipe()
	context.AfterFunc(ctx, func() { _ = write.Close() })
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/agents/legacy/upstream/x", body)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(write, "first ") }()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	if line, err := in.ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q %v", line, err)
	}
	_, _ = io.WriteString(write, "last")
	_ = write.Close()
	if rest, err := io.ReadAll(in); string(rest) != "first last" {
		t.Errorf("%q %v", rest, err)
	}
}
