package operate

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// streaming returns an agent with its own streams, which end when their readers disconnect.
func streaming(called chan<- string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if called != nil {
			called <- r.URL.Path
		}
		switch r.URL.Path {
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		case "/lines":
			w.Header().Set("Content-Type", "application/x-ndjson")
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		_, _ = io.WriteString(w, "{}\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

// through enables passthrough to the agent.
func through(at http.Handler) func(t *testing.T) func(*config.Config) {
	return func(t *testing.T) func(*config.Config) {
		url := adaptertest.Serve(t, at).URL
		return func(c *config.Config) {
			a := c.Agents["agent"]
			a.URL, a.Dialect, a.Passthrough = url, "taskstep", true
			c.Agents["agent"] = a
			c.Auth.Keys[0].Rights = mapping.Rights()
		}
	}
}

const way = "/agents/agent/upstream"

// TestLimitOfPassthroughStreams checks that pass-through streams of any type count as open streams. If a request asks
// for one by its type, it is refused before the agent is called.
func TestLimitOfPassthroughStreams(t *testing.T) {
	t.Parallel()
	called := make(chan string, 100)
	b := bounded(t, config.Allowance{Streams: 2}, through(streaming(called))(t))
	var open []*http.Response
	for _, path := range []string{"/events", "/lines"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", b.URL+way+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", boundKey)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != 200 {
			t.Fatal(err, res)
		}
		defer res.Body.Close()
		open = append(open, res)
		<-called
	}
	as(b, "GET", way+"/plain", "").Is(200)
	<-called
	for what, got := range map[string]rig.Answer{
		"one that turns out to be":  as(b, "GET", way+"/events", ""),
		"one that is called for":    b.Do("GET", way+"/events", "", "X-Api-Key", boundKey, "Accept", "text/event-stream"),
		"one of the bridge's other": as(b, "POST", "/runs/stream", `{"input":"hi"}`),
	} {
		if got.Status != 429 || !rig.Says(string(got.Body), "limit_streams", "auth.keys[].limits.streams") || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
	if n := len(called); n != 1 {
		t.Errorf("refused requests reached the agent %d times, want once", n)
	}
	if got := as(b, "GET", "/limits", ""); got.At("limits.0.used") != 2.0 {
		t.Errorf("GET /limits: %s", got.Body)
	}
	open[0].Body.Close()
	rig.Eventually(t, "a stream is accepted", func() bool { return as(b, "GET", "/limits", "").At("limits.0.used") == 1.0 })
}

// TestUploadRate checks that an upload beyond its rate is delayed and arrives whole. If it would be delayed for long,
// it is refused with the limit's name, also on the pass-through.
func TestUploadRate(t *testing.T) {
	t.Parallel()
	b := bounded(t, config.Allowance{Upload: "512KiB/s"}, through(streaming(nil))(t))
	const size = 1280 << 10
	began := time.Now()
	as(b, "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{"text":"`+strings.Repeat("x", size)+`"}}`).OK()
	if took := time.Since(began); took < time.Second {
		t.Errorf("%d bytes arrived in %s", size, took)
	}
	if got := as(b, "GET", "/store/items?namespace=a&key=k", "").OK(); len(got.Text("value.text")) != size {
		t.Errorf("%d bytes are stored", len(got.Text("value.text")))
	}
	slow := bounded(t, config.Allowance{Upload: "256KiB/h"}, through(streaming(nil))(t))
	// The body is small enough that the server reads the rest of it after refusing it. Otherwise the client may be cut
	// off before it reads the response.
	for n, path := range []string{way + "/plain", "/threads"} {
		got := as(slow, "POST", path, `{"metadata":{"text":"`+strings.Repeat("x", []int{300, 100}[n]<<10)+`"}}`)
		if got.Status != 429 || !rig.Says(string(got.Body), "limit_upload", "auth.keys[].limits.upload") || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s, Retry-After %q", path, got.Status, got.Body, got.Header.Get("Retry-After"))
		}
	}
}

// TestPassthroughNeedsAdminRight checks that callers confined to a tenant or owner need the admin right for the
// pass-through, because agents know neither.
func TestPassthroughNeedsAdminRight(t *testing.T) {
	t.Parallel()
	b := bounded(t, config.Allowance{}, through(streaming(nil))(t), func(c *config.Config) {
		for id, k := range map[string]config.Key{
			"a-tenant": {Tenant: "acme"}, "an-owner": {Scope: "own"}, "an-agent": {Agents: []string{"agent"}}, "no-agent": {Agents: []string{"other"}},
			"anybody": {}, "an-admin": {Tenant: "acme", Scope: "own", Rights: []string{mapping.RightAdmin}}, "a-reader": {Rights: []string{mapping.RightRead}},
		} {
			k.ID, k.Key = id, config.Secret(id+"-0123456789abcdef")
			c.Auth.Keys = append(c.Auth.Keys, k)
		}
	})
	for id, want := range map[string]int{"a-tenant": 403, "an-owner": 403, "an-agent": 200, "no-agent": 404, "anybody": 200, "an-admin": 200, "a-reader": 403} {
		if got := b.Do("GET", way+"/plain", "", "X-Api-Key", id+"-0123456789abcdef"); got.Status != want || want == 403 && !rig.Says(string(got.Body), "forbidden") {
			t.Errorf("%s: %d %s, want %d", id, got.Status, got.Body, want)
		}
	}
}
