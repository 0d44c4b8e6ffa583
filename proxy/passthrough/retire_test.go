package passthrough_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
)

// TestRetiredProxyKeepsNoConnections checks that requests in progress finish, and that their connections are then closed,
// too.
func TestRetiredProxyKeepsNoConnections(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		http2  bool
		unused int // connections other than the one in use
	}{
		"HTTP/1.1": {false, 1}, "HTTP/2": {true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan struct{}, 8)
			held, hold := make(chan struct{}), make(chan struct{})
			release := sync.OnceFunc(func() { close(hold) })
			agent := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/held" {
					_, _ = io.WriteString(w, "wh")
					_ = http.NewResponseController(w).Flush()
					close(held)
					<-hold
				}
				_, _ = io.WriteString(w, "ole")
			}))
			agent.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateClosed {
					closed <- struct{}{}
				}
			}
			agent.EnableHTTP2 = tt.http2
			agent.StartTLS()
			t.Cleanup(agent.Close)
			known := x509.NewCertPool()
			known.AddCert(agent.Certificate())
			c := config.DefaultAgent()
			c.URL = agent.URL
			p := proxyTo(t, adapter.Upstream{Name: "legacy", Config: c, TLS: &tls.Config{RootCAs: known}})
			srv := httptest.NewServer(p)
			t.Cleanup(srv.Close)
			t.Cleanup(release)
			closes := func(want int) {
				t.Helper()
				for n := range want {
					select {
					case <-closed:
					case <-time.After(10 * time.Second): // an unused connection is kept for longer
						t.Fatalf("%d connections are closed, want %d", n, want)
					}
				}
			}

			whole := make(chan string, 1)
			go func() {
				_, body := send(t, request(t, "GET", srv.URL+"/agents/legacy/upstream/held", ""))
				whole <- body
			}()
			<-held
			send(t, request(t, "GET", srv.URL+"/agents/legacy/upstream/x", ""))
			p.Retire()
			closes(tt.unused)
			release()
			if body := <-whole; body != "whole" {
				t.Errorf("the request in progress got %q", body)
			}
			closes(1)
			send(t, request(t, "GET", srv.URL+"/agents/legacy/upstream/x", "")) // it arrived while the proxy was retired
			closes(1)
		})
	}
}
