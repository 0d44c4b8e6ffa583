package proxy

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/guard"
	"github.com/gorilla/mux"
)

func TestPathTricks(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) {
		c.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey}}
	}, nil)
	for _, target := range []string{
		"//ok", "/ok//", "/./ok", "/threads/../ok", "/threads/..", "/threads/.", "/%2e%2e/ok", "/.%2E/ok", "/threads%2ft", "/threads%2Ft",
		"/threads/a%5cb", `/threads/a\b`, "/ok;a", "/threads;a=b/t", "/threads/a%00b", "/threads/a%0ab", "/threads/a%7f", "/threads/a%C2%9Bb", "/threads/%ff",
		"/threads/%252e%252e", "/threads/a%252fb", "/ok#x", "http://127.0.0.1/ok", "http://evil.com/ok", "//evil.com/ok", "ok",
	} {
		for _, p := range []string{"", "/ap/v1"} {
			if p != "" && !strings.HasPrefix(target, "/") {
				continue
			}
			got := g.raw(t, "GET "+p+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			if got.status != http.StatusBadRequest {
				t.Errorf("%s%s: %d %s", p, target, got.status, got.body)
			}
		}
	}
	// These are no tricks, and reach the key check.
	for _, target := range []string{"/ok.", "/OK", "/ok/", "/threads/a.b", "/threads/...", "/threads/100%25", "/threads/a%3Bb", "/threads/t?x=//..%2f", "/"} {
		got := g.raw(t, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
}

func TestSmuggling(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	for name, request := range map[string]string{
		"two lengths":     "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"negative length": "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
		"huge length":     "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"two hosts":       "GET /ok HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\n\r\n",
		"no host":         "GET /ok HTTP/1.1\r\n\r\n",
		"space in name":   "GET /ok HTTP/1.1\r\nHost: localhost\r\nX-Api-Key : a\r\n\r\n",
		"odd coding":      "POST /threads HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n",
	} {
		if got := g.raw(t, request); got.status < 400 || got.status == 404 {
			t.Errorf("%s: %d", name, got.status)
		}
	}
}

// FuzzPaths checks that the router, path.Clean and a second decoding read every admitted path as the bridge does.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"/threads/t", "/threads/%2e%2e/ok", "/a//b", "/threads/a%252fb", "/threads/%C3%A9", "/x;y", "/", "/threads/a%3Fb?c"} {
		f.Add(s)
	}
	router := mux.NewRouter().SkipClean(true)
	var saw []string
	note := func(_ http.ResponseWriter, r *http.Request) { saw = append(saw, mux.Vars(r)["a"], mux.Vars(r)["b"]) }
	router.HandleFunc("/{a}", note)
	router.HandleFunc("/{a}/{b}", note)
	f.Fuzz(func(t *testing.T, target string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")))
		if err != nil || guard.PathFault(r) != "" {
			return
		}
		raw, _, _ := strings.Cut(target, "?")
		bare := strings.TrimSuffix(r.URL.Path, "/")
		if cleaned := path.Clean(r.URL.Path); cleaned != bare && bare != "" {
			t.Errorf("%q is %q, cleaned %q", target, r.URL.Path, cleaned)
		}
		if strings.Count(raw, "/") != strings.Count(r.URL.Path, "/") {
			t.Errorf("%q has other parts decoded: %q", target, r.URL.Path)
		}
		if again, err := url.PathUnescape(r.URL.Path); err == nil && again != r.URL.Path {
			t.Errorf("%q decodes twice: %q, %q", target, r.URL.Path, again)
		}
		saw = nil
		rec := httptest.NewRecorder()
		router.ServeHTTP(rec, r)
		if rec.Code >= 300 && rec.Code < 400 {
			t.Errorf("%q is redirected to %s", target, rec.Header().Get("Location"))
		}
		parts := strings.Split(r.URL.Path[1:], "/")
		for i, p := range saw {
			if p != "" && (i >= len(parts) || parts[i] != p) {
				t.Errorf("%q: the router saw %q, we saw %q", target, saw, parts)
			}
		}
	})
}
