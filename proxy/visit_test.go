package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// TestVisitURL checks that the URL is plain, regardless of the address that the request claims.
func TestVisitURL(t *testing.T) {
	t.Parallel()
	trusted, err := newTrustedProxies([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	local := &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 8080}
	for what, c := range map[string]struct {
		host, peer string
		secure     bool
		headers    map[string]string
		want       string
	}{
		"a name":             {"bridge.test:8080", "192.0.2.1:1", false, nil, "http://bridge.test:8080"},
		"TLS":                {"bridge.test", "192.0.2.1:1", true, nil, "https://bridge.test"},
		"an IPv6 address":    {"[::1]:8080", "192.0.2.1:1", false, nil, "http://[::1]:8080"},
		"no host":            {"", "192.0.2.1:1", false, nil, "http://192.0.2.7:8080"},
		"quotes in a host":   {`a"b'c`, "192.0.2.1:1", false, nil, "http://192.0.2.7:8080"},
		"a host with paths":  {"a/b", "192.0.2.1:1", false, nil, "http://192.0.2.7:8080"},
		"TLS ends before":    {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "outer.test"}, "https://outer.test"},
		"a prefix":           {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Prefix": "/a/b/"}, "http://inner:1/a/b"},
		"a root as prefix":   {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Prefix": "/"}, "http://inner:1"},
		"a bad prefix":       {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Prefix": "/$(id)"}, "http://inner:1"},
		"a way up as prefix": {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Prefix": "/../.."}, "http://inner:1"},
		"a way up within":    {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Prefix": "/a/../b"}, "http://inner:1"},
		"a dot as prefix":    {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Prefix": "/./a"}, "http://inner:1"},
		"dots in a prefix":   {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Prefix": "/v1.2/.well-known/a..b"}, "http://inner:1/v1.2/.well-known/a..b"},
		"dots as host":       {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Host": ".."}, "http://inner:1"},
		"a hyphen as host":   {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Host": "-"}, "http://inner:1"},
		"a port too high":    {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Host": "outer.test:99999"}, "http://inner:1"},
		"an underscore":      {"inner:1", "10.0.0.1:1", false, map[string]string{"X-Forwarded-Host": "my_host.test.:80"}, "http://my_host.test.:80"},
		"an unknown proxy":   {"inner:1", "192.0.2.1:1", false, map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "outer.test", "X-Forwarded-Prefix": "/a"}, "http://inner:1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
		r.Host, r.RemoteAddr = c.host, c.peer
		for name, value := range c.headers {
			r.Header.Set(name, value)
		}
		if got := trusted.url(r, c.secure); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

// TestPagesNeedNoKey checks that a page gets its visitor, and that a visitor with an invalid key may use no agent.
// Wrong keys are counted and slowed down, as elsewhere.
func TestPagesNeedNoKey(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, o *Options) {
		c.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey, Agents: []string{"a"}}, {ID: "scraper", Key: "scraper-0123456789abcdef", Rights: []string{"metrics"}}}
		o.Pages = map[string]http.Handler{"/": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who := mapping.PrincipalOf(r.Context())
			code := ""
			if err := VisitOf(r.Context()).Fault; err != nil {
				code = mapping.Classify(err).Code
			}
			_, _ = io.WriteString(w, who.ID+" "+strconv.FormatBool(who.May("a"))+" "+code+r.Header.Get("X-Api-Key"))
		})}
	}, nil)
	for key, want := range map[string]string{"": " false unauthorized", "wrong": " false unauthorized", aliceKey: "alice true ", "scraper-0123456789abcdef": " false forbidden"} {
		var headers []string
		if key != "" {
			headers = []string{"X-Api-Key", key}
		}
		if got := g.do(t, "GET", "/", "", headers...); got.status != 200 || got.body != want {
			t.Errorf("key %q: %d %q, want %q", key, got.status, got.body, want)
		}
	}
	for i := range 30 {
		g.do(t, "GET", "/", "", "X-Api-Key", "guess-"+strconv.Itoa(i))
	}
	if got := g.do(t, "GET", "/", "", "X-Api-Key", "one-more-guess"); got.body != " false too_many_wrong_keys" {
		t.Errorf("after many guesses: %q", got.body)
	}
	if got := g.do(t, "POST", "/", "{}"); got.status != 405 {
		t.Errorf("POST: %d", got.status)
	}
}
