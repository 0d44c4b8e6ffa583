package proxy

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/config"
)

func TestRefusedOriginsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) { c.CORS.Origins = []string{"http://localhost:5173"} }, nil)
	for range 3 {
		g.do(t, "POST", "/threads", "", "Origin", "http://localhost:3000")
		g.do(t, "OPTIONS", "/threads", "", "Origin", "http://localhost:3000", "Access-Control-Request-Method", "POST")
	}
	g.do(t, "POST", "/threads", "", "Origin", "http://localhost:5173")
	for _, odd := range []string{"null", "http://localhost:3000/\x1b[2J", "HTTP://X", "http://" + strings.Repeat("a", 300), "file:///x"} {
		g.do(t, "POST", "/threads", "", "Origin", strings.ReplaceAll(odd, "\x1b", "%1b"))
	}
	logged := g.logs.FilterMessageSnippet("--cors-origin").All()
	if len(logged) != 1 || !strings.Contains(logged[0].Message, `--cors-origin http://localhost:3000, or add to the configuration: cors: {origins: ["http://localhost:3000"]}`) {
		t.Errorf("logged %v, want one line for http://localhost:3000", logged)
	}
}

// A refusal names the configuration key that would allow the origin.
func TestRefusedOriginIsToldTheSetting(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	got := g.do(t, "POST", "/threads", "", "Origin", "http://localhost:3000")
	for _, want := range []string{"cors.origins", "--cors-origin"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%s: no %s", got.body, want)
		}
	}
}

func TestLoopbackOrigins(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) {
		c.CORS.Origins = []string{"loopback", "https://app.example.com"}
	}, nil)
	for origin, want := range map[string]int{
		"http://localhost:3000":       200,
		"https://localhost":           200,
		"http://app.localhost:5173":   200,
		"http://127.0.0.1:3000":       200,
		"http://127.8.9.1":            200,
		"http://[::1]:3000":           200,
		"https://app.example.com":     200,
		"https://example.com":         403,
		"http://localhost.evil.com":   403,
		"http://notlocalhost":         403,
		"http://127.0.0.1.evil.com":   403,
		"http://10.0.0.1:3000":        403,
		"http://LOCALHOST:3000":       403,
		"http://localhost:3000/page":  403,
		"http://evil.com@localhost:1": 403,
		"file://localhost":            403,
		"null":                        403,
		"loopback":                    403,
	} {
		if got := g.do(t, "POST", "/threads", "", "Origin", origin); got.status != want {
			t.Errorf("%s: got %d, want %d", origin, got.status, want)
		}
	}
}
