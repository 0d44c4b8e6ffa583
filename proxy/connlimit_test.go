package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestAcceptErrorsAreThrottled checks that messages that net/http logs at every attempt are logged only once per
// interval, and all others each time (D5).
func TestAcceptErrorsAreThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.DebugLevel)
		c := &problems{log: zap.New(core)}
		for range 200 * 25 { // 25 seconds, at the shortest pause of net/http
			_, _ = c.Write([]byte("http: Accept error: accept tcp 127.0.0.1:80: accept4: too many open files; retrying in 5ms\n"))
			time.Sleep(5 * time.Millisecond)
		}
		if n := len(logs.TakeAll()); n != 3 {
			t.Errorf("%d lines in 25 seconds, want 3", n)
		}
		for range 2 {
			_, _ = c.Write([]byte("http: panic serving 127.0.0.1:80: ouch\n"))
		}
		if n := len(logs.TakeAll()); n != 2 {
			t.Errorf("%d other lines, want 2", n)
		}
	})
}

func TestConnectionsThatFitTheFiles(t *testing.T) {
	t.Parallel()
	for files, want := range map[int64]int64{0: 0, 10: 1, 128: 64, 256: 192, 1024: 768, 20_000: 15_000} {
		if got := mostConnections(files); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
}

// A connection that was hijacked counts until it is closed.
func TestHijackedConnectionsCount(t *testing.T) {
	t.Parallel()
	in, out, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	g := start(t, nil, func(r *mux.Router) {
		r.HandleFunc("/hijacked", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusSwitchingProtocols)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
			}
			in <- struct{}{}
			<-out
			_ = conn.Close()
			_ = conn.Close()
			close(closed)
		})
	})
	conn, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "GET /hijacked HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", g.Addr())
	<-in
	if n := g.admission.connections.open.Load(); n != 1 {
		t.Errorf("%d connections are open, want 1", n)
	}
	// The following bytes are not requests, whatever they look like.
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
	close(out)
	<-closed
	if n := g.admission.connections.open.Load(); n != 0 {
		t.Errorf("%d connections are open, want none", n)
	}
}

// A key may use at most half of the connections and a tenant three quarters, so that others are served. An answered
// request uses none.
func TestKeyCannotUseAllConnections(t *testing.T) {
	t.Parallel()
	keyOf := func(id string) string { return "key-0123456789-" + id }
	held := newHolding()
	g := prepare(t, func(c *config.Config, _ *Options) {
		for _, id := range []string{"a1", "a2", "b1"} {
			c.Auth.Keys = append(c.Auth.Keys, config.Key{ID: id, Key: config.Secret(keyOf(id)), Tenant: id[:1]})
		}
	}, held.mount)
	g.admission.connections.most = 8
	use, err := g.Reconfigure(g.cfg, held.mount)
	if err != nil {
		t.Fatal(err)
	}
	use()
	g.run(t)
	done := make(chan reply, 8)
	hold := func(id string, n int) {
		for range n {
			go func() { done <- g.do(t, "POST", "/held", "{}", "X-Api-Key", keyOf(id)) }()
			<-held.read
		}
	}
	ask := func(id string) reply { return g.do(t, "POST", "/held", "{}", "X-Api-Key", keyOf(id)) }
	hold("a1", 4)
	if got := ask("a1"); got.status != http.StatusTooManyRequests || !strings.Contains(got.body, `Key \"a1\" has 4 requests`) || got.code(t) != "limit_connections" {
		t.Errorf("a key with half of the connections: %d %s", got.status, got.body)
	}
	hold("a2", 2)
	if got := ask("a2"); got.status != http.StatusTooManyRequests || !strings.Contains(got.body, `Tenant \"a\" has 6 requests`) {
		t.Errorf("a tenant with three quarters: %d %s", got.status, got.body)
	}
	hold("b1", 1)
	close(held.may)
	for range 7 {
		if got := <-done; got.status != http.StatusOK {
			t.Errorf("an admitted request: %d %s", got.status, got.body)
		}
	}
	if got := ask("a1"); got.status != http.StatusOK {
		t.Errorf("after the others: %d %s", got.status, got.body)
	}
}
