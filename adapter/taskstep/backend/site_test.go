package backend

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func TestParseBase(t *testing.T) {
	t.Parallel()
	v1, old := []string{prefixV1, prefixOld}, []string{prefixOld, prefixV1}
	for _, c := range []struct {
		url, root, host string
		prefixes        []string
	}{
		{"http://a:1", "http://a:1", "a:1", v1},
		{"http://a:1/", "http://a:1", "a:1", v1},
		{"http://a:1/ap/v1", "http://a:1", "a:1", v1},
		{"http://a:1/ap/v1/agent/", "http://a:1", "a:1", v1},
		{"http://a:1/agent", "http://a:1", "a:1", old},
		{"https://a/deep/er/ap/v1?x=1#y", "https://a/deep/er", "a", v1},
		{"http://a/agents/x", "http://a/agents/x", "a", v1},
		{"http://a/agents/x/ap/v1/agent", "http://a/agents/x", "a", v1},
		{"http://a/agents/agent", "http://a/agents/agent", "a", v1},
		{"http://a/deep/agents/agent/", "http://a/deep/agents/agent", "a", v1},
		{"http://a/agents/agent/ap/v1", "http://a/agents/agent", "a", v1},
		{"http://a/agents/agent/agent", "http://a/agents/agent", "a", old},
		{"http://u:pass@a/ap/v1", "http://u:pass@a", "a", v1},
	} {
		got, err := parseBase(c.url)
		if err != nil || got.root != c.root || got.host != c.host || !cmp.Equal(got.prefixes, c.prefixes) {
			t.Errorf("parseBase(%q) = %+v, %v", c.url, got, err)
		}
	}
	for _, bad := range []string{"", "a:1", "ftp://a", "http://", "://", "http://a b"} {
		if _, err := parseBase(bad); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("parseBase(%q): %v, want an invalid", bad, err)
		}
	}
}

// TestURLForms connects to each kind of server with each form of its URL.
func TestURLForms(t *testing.T) {
	t.Parallel()
	for _, kind := range []adaptertest.Kind{adaptertest.Plain, adaptertest.Old} {
		for _, form := range []string{"", "/", "/ap/v1", "/ap/v1/agent", "/agent"} {
			agent := adaptertest.NewStepAgent(kind)
			b := backendAt(t, adaptertest.Serve(t, agent).URL+form)
			mustSucceed(t, runTask(t, b, adaptertest.NewTask(nil)))
			if n := agent.Counts().Steps; n != 3 {
				t.Errorf("%s at %q: %d steps, want 3", kind, form, n)
			}
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		ok, err := Detect(context.Background(), adaptertest.Upstream(adaptertest.Serve(t, adaptertest.NewStepAgent(kind)).URL))
		if !ok || err != nil {
			t.Errorf("detect %s = %v, %v", kind, ok, err)
		}
	}
	for name, h := range map[string]http.Handler{
		"nothing there":  http.NotFoundHandler(),
		"a page for all": static(200, "text/html", "<html></html>"),
		"JSON for all":   static(200, "application/json", `{"ok":true}`),
	} {
		ok, err := Detect(context.Background(), adaptertest.Upstream(adaptertest.Serve(t, h).URL))
		if ok || err != nil {
			t.Errorf("detect with %s = %v, %v", name, ok, err)
		}
	}
	for _, status := range []int{301, 401, 429, 500} { // inconclusive
		ok, err := Detect(context.Background(), adaptertest.Upstream(adaptertest.Serve(t, static(status, "text/plain", "no")).URL))
		if ok || mapping.Classify(err).Code != mapping.CodeUpstreamError {
			t.Errorf("detect with %d = %v, %v", status, ok, err)
		}
	}
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	if ok, err := Detect(context.Background(), adaptertest.Upstream(srv.URL)); ok || mapping.Classify(err).Code != mapping.CodeUpstreamUnreachable {
		t.Errorf("detect with nobody there = %v, %v", ok, err)
	}
}

func static(status int, typ, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", typ)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func TestNoAgentThere(t *testing.T) {
	t.Parallel()
	b := backendAt(t, adaptertest.Serve(t, http.NotFoundHandler()).URL)
	tr := runTask(t, b, adaptertest.NewTask(nil))
	if tr.Code() != mapping.CodeBadUpstream {
		t.Errorf("error %v, want %s", tr.Err, mapping.CodeBadUpstream)
	}
}

// TestReplacedServer moves the routes between two runs of one process.
func TestReplacedServer(t *testing.T) {
	t.Parallel()
	var now http.Handler = adaptertest.NewStepAgent(adaptertest.Old)
	srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.ServeHTTP(w, r) }))
	b := backendAt(t, srv.URL)
	mustSucceed(t, runTask(t, b, adaptertest.NewTask(nil)))
	now = adaptertest.NewStepAgent(adaptertest.Plain)
	mustSucceed(t, runTask(t, b, adaptertest.NewTask(nil)))
}

func TestProfile(t *testing.T) {
	t.Parallel()
	for _, s := range []site{{prefixV1, kindForge, false}, {prefixOld, kindPlain, false}, {prefixV1, kindPlain, true}} {
		if got, ok := parseProfile(s.profile()); !ok || got != s {
			t.Errorf("parseProfile(%q) = %v, %v", s.profile(), got, ok)
		}
	}
	for _, bad := range []string{"", "forge", "forge /evil", " "} {
		if _, ok := parseProfile(bad); ok {
			t.Errorf("parseProfile(%q) is ok", bad)
		}
	}
}
