package proxy

import (
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/config"
)

// TestGuessesAreRefused checks that repeated guesses get 429 with Retry-After and are counted, and that clients behind
// a trusted proxy do not slow each other down (E18).
func TestGuessesAreRefused(t *testing.T) {
	t.Parallel()
	g := start(t, func(c *config.Config, _ *Options) {
		c.TrustedProxies = []string{"127.0.0.1"}
		c.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey}}
	}, nil)
	from := func(address, key string) reply {
		return g.do(t, "GET", "/threads/t", "", "X-Api-Key", key, "X-Forwarded-For", address)
	}
	var last reply
	for i := range 50 {
		last = from("192.0.2.1", "guess-"+strconv.Itoa(i))
	}
	wait, err := strconv.Atoi(last.header.Get("Retry-After"))
	if last.status != 429 || err != nil || wait < 1 || wait > 60 {
		t.Errorf("after 50 guesses: %d, Retry-After %q", last.status, last.header.Get("Retry-After"))
	}
	if got := from("192.0.2.1", aliceKey); got.status != 429 {
		t.Errorf("a correct key among guesses is recognisable: %d", got.status)
	}
	if got := from("192.0.2.2", aliceKey); got.status != 200 {
		t.Errorf("another client: %d", got.status)
	}
	if got := g.do(t, "GET", "/threads/t", "", "X-Forwarded-For", "192.0.2.2"); got.status != 401 {
		t.Errorf("no key: %d", got.status)
	}
	told := g.do(t, "GET", "/metrics", "", "X-Api-Key", aliceKey, "X-Forwarded-For", "192.0.2.2").body
	for _, line := range []string{`{reason="wrong"} 20`, `{reason="slowed"} 31`, `{reason="missing"} 1`} {
		if !strings.Contains(told, "apbridge_auth_failures_total"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// TestMetricsNeedTheirRight checks that a restricted key needs a right for /metrics, which reveals all tenants and
// agents, and that a key with only that right reads nothing else.
func TestMetricsNeedTheirRight(t *testing.T) {
	t.Parallel()
	key := func(id string) config.Secret { return config.Secret(id + "-0123456789abcdef") }
	g := start(t, func(c *config.Config, _ *Options) {
		c.Auth.Keys = []config.Key{
			{ID: "operator", Key: key("operator")},
			{ID: "tenant", Key: key("tenant"), Tenant: "acme"},
			{ID: "limited", Key: key("limited"), Agents: []string{"a"}},
			{ID: "scraper", Key: key("scraper"), Rights: []string{"metrics"}},
			{ID: "tenants", Key: key("tenants"), Tenant: "acme", Rights: []string{"metrics"}},
		}
	}, nil)
	for _, tt := range []struct {
		id              string
		metrics, thread int
	}{{"operator", 200, 200}, {"tenant", 403, 200}, {"limited", 403, 200}, {"scraper", 200, 403}, {"tenants", 200, 403}, {"nobody", 401, 401}} {
		as := []string{"X-Api-Key", key(tt.id).Reveal()}
		if got := g.do(t, "GET", "/metrics", "", as...); got.status != tt.metrics {
			t.Errorf("metrics with key %s: %d %s, want %d", tt.id, got.status, got.body, tt.metrics)
		}
		for _, path := range []string{"/threads/t", "/ap/v1/agent/tasks"} {
			method, want := "GET", tt.thread
			if path != "/threads/t" {
				method = "POST"
			}
			if got := g.do(t, method, path, "", as...); got.status != want {
				t.Errorf("%s with key %s: %d %s, want %d", path, tt.id, got.status, got.body, want)
			}
		}
	}
	if got := start(t, nil, nil).do(t, "GET", "/metrics", ""); got.status != 200 {
		t.Errorf("without keys: %d", got.status)
	}
}
