package proxy

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/guard"
	"github.com/google/go-cmp/cmp"
)

func TestHostsOnLoopback(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) { c.Hosts = []string{"Bridge.local"} }, nil)
	for host, want := range map[string]int{
		"localhost:8080": 200, "LOCALHOST": 200, "localhost.": 200, "127.0.0.1": 200, "127.9.9.9:1": 200, "[::1]:8080": 200,
		"app.localhost": 200, "bridge.local:80": 200,
		"evil.com": 403, "evil.com:8080": 403, "localhost.evil.com": 403, "127.0.0.1.evil.com": 403,
		"10.0.0.1": 403, "0.0.0.0": 403, "notlocalhost": 403,
	} {
		if got := g.do(t, "GET", "/threads/t", "", "Host", host); got.status != want {
			t.Errorf("Host %s: %d, want %d", host, got.status, want)
		}
	}
	if got := g.do(t, "GET", "/threads/t", "", "Host", "evil.com"); got.code(t) != guard.CodeHost {
		t.Errorf("code of %s", got.body)
	}
	if got := g.raw(t, "GET /threads/t HTTP/1.0\r\n\r\n"); got.status != 200 {
		t.Errorf("no Host: %d", got.status)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	const page = "http://localhost:3000"
	g := start(t, func(c *config.Config, _ *Options) { c.CORS.Origins = []string{page} }, nil)
	for _, tt := range []struct {
		name, method string
		headers      []string
		want         int
		shared       string // Access-Control-Allow-Origin
	}{
		{"no page", "POST", nil, 200, ""},
		{"text/plain without a page", "POST", []string{"Content-Type", "text/plain"}, 200, ""},
		{"listed", "POST", []string{"Origin", page}, 200, page},
		{"listed, text/plain", "POST", []string{"Origin", page, "Content-Type", "text/plain"}, 200, page},
		{"own", "POST", []string{"Origin", "http://localhost:1", "Host", "localhost:1"}, 200, "http://localhost:1"},
		{"foreign, text/plain", "POST", []string{"Origin", "https://evil.com", "Content-Type", "text/plain"}, 403, ""},
		{"E4 foreign WebSocket", "GET", []string{"Origin", "https://evil.com", "Upgrade", "websocket", "Connection", "Upgrade", "Sec-Fetch-Mode", "websocket"}, 403, ""},
		{"foreign stream", "GET", []string{"Origin", "https://evil.com"}, 403, ""},
		{"foreign preflight", "OPTIONS", []string{"Origin", "https://evil.com", "Access-Control-Request-Method", "POST"}, 403, ""},
		{"null", "POST", []string{"Origin", "null"}, 403, ""},
		{"suffix", "POST", []string{"Origin", page + ".evil.com"}, 403, ""},
		{"prefix", "POST", []string{"Origin", "http://evil.localhost:3000"}, 403, ""},
		{"another port", "POST", []string{"Origin", "http://localhost:3001"}, 403, ""},
		{"another scheme", "POST", []string{"Origin", "https://localhost:3000"}, 403, ""},
		{"upper case", "POST", []string{"Origin", "HTTP://LOCALHOST:3000"}, 403, ""},
		{"star", "POST", []string{"Origin", "*"}, 403, ""},
		{"two origins", "POST", []string{"Origin", page, "Origin", "https://evil.com"}, 403, ""},
		{"cross-site form without Origin", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		{"cross-site link", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200, ""},
		{"cross-site frame", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403, ""},
		{"cross-site picture", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image", "Referer", "https://evil.com/"}, 403, ""},
		{"cross-site picture, suffix", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Referer", page + ".evil.com/"}, 403, ""},
		{"cross-site picture without Referer", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403, ""},
		{"listed page's picture", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Referer", page + "/x"}, 200, ""},
		{"picture of our own page in a sandbox", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Referer", "http://localhost:1/", "Host", "localhost:1"}, 200, ""},
		{"own picture", "GET", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "no-cors"}, 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := map[string]string{"GET": "/threads/t"}[tt.method]
			if path == "" {
				path = "/threads"
			}
			got := g.do(t, tt.method, path, "", tt.headers...)
			if got.status != tt.want || got.header.Get("Access-Control-Allow-Origin") != tt.shared {
				t.Errorf("got %d, shared with %q, want %d, %q", got.status, got.header.Get("Access-Control-Allow-Origin"), tt.want, tt.shared)
			}
			if got.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are allowed")
			}
			if got.header.Get("Vary") == "" {
				t.Error("no Vary: a cache would mix up origins")
			}
		})
	}
}

func TestAnyOriginExcludesNull(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) {
		c.CORS.Origins = []string{"*"}
		c.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey}}
	}, nil)
	got := g.do(t, "GET", "/threads/t", "", "Origin", "https://chat.example", "X-Api-Key", aliceKey)
	if got.status != 200 || got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d, %v", got.status, got.header)
	}
	if got := g.do(t, "GET", "/threads/t", "", "Origin", "null", "X-Api-Key", aliceKey); got.status != 403 {
		t.Errorf("null: %d", got.status)
	}
}

func TestPreflightNeedsNoKey(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) {
		c.CORS.Origins = []string{"https://chat.example"}
		c.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey}}
	}, nil)
	got := g.do(t, "OPTIONS", "/threads", "", "Origin", "https://chat.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x-api-key,content-type",
		"Access-Control-Request-Private-Network", "true")
	want := map[string]string{
		"Access-Control-Allow-Origin":  "https://chat.example",
		"Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
		"Access-Control-Allow-Headers": "x-api-key,content-type",
		"Access-Control-Expose-Headers": "Accept-Ranges, Allow, Content-Disposition, Content-Location, Content-Range, ETag, Location, Preference-Applied, " +
			"Retry-After, WWW-Authenticate, X-Apbridge-Ignored, X-Apbridge-Unsupported, X-Pagination-Next, X-Pagination-Total, X-Request-Id",
		"Access-Control-Max-Age":               "600",
		"Access-Control-Allow-Private-Network": "true",
	}
	if got.status != http.StatusNoContent {
		t.Errorf("status %d", got.status)
	}
	for name, value := range want {
		if diff := cmp.Diff(value, got.header.Get(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) {
		c.CORS.Origins = []string{"https://chat.example"}
		c.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey}}
	}, nil)
	for _, tt := range []struct {
		name, method, path string
		key                string
		status             int
		body               string
		allow              []string
	}{
		{"unknown, no key", "GET", "/nothing", "", 401, `"code":"unauthorized"`, nil},
		{"unknown", "GET", "/nothing", aliceKey, 404, `{"code":"route_not_found","message":"There is nothing at this path.","detail":null}`, nil},
		{"unknown in the other dialect", "GET", "/ap/v1/nothing", aliceKey, 404, `{"message":"There is nothing at this path."}`, nil},
		{"wrong method, no key", "DELETE", "/threads", "", 401, `"code":"unauthorized"`, nil},
		{"wrong method", "DELETE", "/threads", aliceKey, 405, `"code":"method_not_allowed"`, []string{"POST", "PATCH"}},
		{"OPTIONS", "OPTIONS", "/threads", aliceKey, 204, "", []string{"POST", "PATCH"}},
		{"other case", "GET", "/OK", "", 401, `"code":"unauthorized"`, nil},
		{"open", "GET", "/ok", "", 200, "path=/ok", nil},
		{"opened by a face that does not own it", "POST", "/threads", "", 401, `"code":"unauthorized"`, nil},
		{"metrics", "GET", "/metrics", "", 401, `"code":"unauthorized"`, nil},
		{"health accepts only GET", "POST", "/healthz", "", 405, `"code":"method_not_allowed"`, []string{"GET, HEAD"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			headers := []string{"Origin", "https://chat.example"}
			if tt.key != "" {
				headers = append(headers, "X-Api-Key", tt.key)
			}
			got := g.do(t, tt.method, tt.path, "", headers...)
			if got.status != tt.status || !strings.Contains(got.body, tt.body) {
				t.Errorf("got %d %s", got.status, got.body)
			}
			if diff := cmp.Diff(tt.allow, got.header.Values("Allow")); diff != "" {
				t.Errorf("Allow (-want +got):\n%s", diff)
			}
			if got.header.Get("Access-Control-Allow-Origin") == "" || got.header.Get("X-Request-Id") == "" {
				t.Errorf("CORS or request id is missing: %v", got.header)
			}
			if id := got.header.Get("X-Request-Id"); len(g.logs.FilterMessage("request").FilterField(stringField("request_id", id)).All()) != 1 {
				t.Error("the request is not in the log")
			}
		})
	}
}

func TestPrincipalReachesTheRoute(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) {
		c.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey}}
	}, nil)
	for _, headers := range [][]string{{"X-Api-Key", aliceKey}, {"Authorization", "Bearer " + aliceKey}} {
		got := g.do(t, "GET", "/threads/t", "", headers...)
		if got.body != "path=/threads/t id=t who=alice key=" {
			t.Errorf("got %s", got.body)
		}
	}
	if got := g.do(t, "GET", "/threads/t", ""); got.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("no challenge: %v", got.header)
	}
	if got := g.do(t, "POST", "/ap/v1/agent/tasks", "{}"); got.status != 401 || !strings.HasPrefix(got.body, `{"message":`) {
		t.Errorf("task/step refusal: %d %s", got.status, got.body)
	}
	if n := g.logs.FilterMessage("request").FilterField(stringField("key", "alice")).Len(); n != 2 {
		t.Errorf("%d log lines name the key's id", n)
	}
	for _, entry := range g.logs.All() {
		for _, f := range entry.Context {
			if strings.Contains(f.String, aliceKey) {
				t.Errorf("the key is in the log: %s", f.Key)
			}
		}
	}
}

func TestForwardedForIsTrustedOnlyFromTrustedPeers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		trusted []string
		want    string
	}{
		{nil, "127.0.0.1"},
		{[]string{"10.0.0.0/8"}, "127.0.0.1"},
		{[]string{"127.0.0.1"}, "203.0.113.7"},
		{[]string{"127.0.0.1", "203.0.113.0/24"}, "198.51.100.9"},
	} {
		g := start(t, func(c *config.Config, _ *Options) { c.TrustedProxies = tt.trusted }, nil)
		g.do(t, "GET", "/threads/t", "", "X-Forwarded-For", "6.6.6.6, 198.51.100.9, 203.0.113.7", "X-Forwarded-Host", "evil.com")
		if g.logs.FilterField(stringField("from", tt.want)).Len() != 1 {
			t.Errorf("trusting %v: %v", tt.trusted, g.logs.All())
		}
	}
}

// A client has one address, whatever the spelling of a trusted proxy.
func TestForwardedAddressesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	trusted, err := newTrustedProxies([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		"198.51.100.9":          "198.51.100.9",
		"::ffff:198.51.100.9":   "198.51.100.9",
		"2001:DB8:0::9":         "2001:db8::9",
		"fe80::1%<b>eth0":       "10.0.0.1",
		"6.6.6.6, ::1%x":        "10.0.0.1",
		"6.6.6.6, ::ffff:a00:2": "6.6.6.6", // through another trusted proxy
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header.Set("X-Forwarded-For", said)
		if got := trusted.client(r); got != want {
			t.Errorf("%s: %s, want %s", said, got, want)
		}
	}
}

func TestRoutesSeeDecodedVariables(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	got := g.do(t, "GET", "/threads/caf%C3%A9%20%3Bx%23y", "")
	if got.body != "path=/threads/café ;x#y id=café ;x#y who= key=" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
