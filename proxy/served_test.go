package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

const bobsKey = "bob-0123456789abcdef"

// streaming adds routes, one of which responds for as long as its request continues. begun receives each request, and
// over the reason for its end.
func streaming(begun chan<- string, over chan<- error) func(*mux.Router) {
	return func(r *mux.Router) {
		r.HandleFunc("/stream/{who}", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			begun <- mux.Vars(r)["who"]
			<-r.Context().Done()
			over <- context.Cause(r.Context())
		})
	}
}

// TestReconfigure checks that new requests are answered according to the new configuration. Requests in progress
// continue, except those of a removed key.
func TestReconfigure(t *testing.T) {
	t.Parallel()
	begun, over := make(chan string, 2), make(chan error, 2)
	keys := []config.Key{{ID: "alice", Key: aliceKey}, {ID: "bob", Key: bobsKey}}
	g := start(t, func(c *config.Config, _ *Options) { c.Auth.Keys = keys }, streaming(begun, over))
	listen := func(key string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/stream/"+key, nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("X-Api-Key", key)
		if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
			t.Cleanup(func() { _ = res.Body.Close() })
		}
	}
	go listen(aliceKey)
	go listen(bobsKey)
	<-begun
	<-begun
	cfg := config.Default()
	cfg.Auth.Keys, cfg.Limits.Body, cfg.CORS.Origins, cfg.Hosts = keys[:1], 5, []string{"http://page.example"}, []string{"bridge.example"}
	use, err := g.Reconfigure(cfg, func(r *mux.Router) { r.HandleFunc("/new", answer); testRoutes(r) })
	if err != nil {
		t.Fatal(err)
	}
	if got := g.do(t, "GET", "/new", "", "X-Api-Key", aliceKey); got.status != 404 {
		t.Errorf("before it is used: %d", got.status)
	}
	use()
	select {
	case cause := <-over:
		if known := (*mapping.Error)(nil); !errors.As(cause, &known) || known.Class != mapping.Unauthorized {
			t.Errorf("bob's stream ended by %v", cause)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("bob's stream continues")
	}
	for _, x := range []struct {
		key, method, path, body string
		want                    int
		headers                 []string
	}{
		{bobsKey, "GET", "/ok2", "", 401, nil},
		{aliceKey, "GET", "/new", "", 200, nil},
		{aliceKey, "GET", "/stream/x", "", 404, nil},
		{aliceKey, "POST", "/threads", "12345", 200, nil},
		{aliceKey, "POST", "/threads", "123456", 413, nil},
		{aliceKey, "GET", "/new", "", 200, []string{"Origin", "http://page.example"}},
		{aliceKey, "GET", "/new", "", 403, []string{"Origin", "http://other.example"}},
		{aliceKey, "GET", "/new", "", 200, []string{"Host", "bridge.example"}},
	} {
		if got := g.do(t, x.method, x.path, x.body, append(x.headers, "X-Api-Key", x.key)...); got.status != x.want {
			t.Errorf("%s %s %v: %d %s, want %d", x.method, x.path, x.headers, got.status, got.body, x.want)
		}
	}
	for i := range 30 { // more wrong keys than an address may send
		g.do(t, "GET", "/new", "", "X-Api-Key", fmt.Sprintf("guess-0123456789-%d", i))
	}
	if use, err = g.Reconfigure(cfg, testRoutes); err != nil {
		t.Fatal(err)
	}
	use()
	if got := g.do(t, "GET", "/threads/1", "", "X-Api-Key", "guess-0123456789-new"); got.status != 429 {
		t.Errorf("a guess after another reload: %d, as if there had been none before", got.status)
	}
	if got := g.do(t, "GET", "/healthz2", "", "X-Api-Key", aliceKey); got.status != 404 {
		t.Errorf("a key that was right from an address where others guess: %d", got.status)
	}
	select {
	case cause := <-over:
		t.Errorf("alice's stream ended, too: %v", cause)
	default:
	}
}

// TestReconfigureRefuses checks that an unusable configuration changes nothing.
func TestReconfigureRefuses(t *testing.T) {
	t.Parallel()
	g := start(t, nil, nil)
	cfg := config.Default()
	cfg.Auth.Keys = []config.Key{{ID: "alice", Key: "sha256:no"}}
	if _, err := g.Reconfigure(cfg, nil); err == nil {
		t.Error("an unreadable key was accepted")
	}
	cfg.Auth.Keys = []config.Key{{ID: "alice", Key: aliceKey, Expires: "2020-01-01T00:00:00Z"}}
	if _, err := g.Reconfigure(cfg, nil); err == nil || !strings.Contains(err.Error(), "nobody could call") {
		t.Errorf("keys with which nobody could call any more: %v", err)
	}
	if got := g.do(t, "GET", "/threads/1", ""); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}
