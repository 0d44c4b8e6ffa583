package passthrough_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
)

// TestTheProxyOfTheEnvironment checks that pass-through uses the environment's proxy like other calls.
func TestTheProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	c := config.DefaultAgent()
	c.URL = "http://agent.example/deep"
	res, body := send(t, request(t, "GET", serve(t, c).URL+"/agents/legacy/upstream/x", ""))
	if res.StatusCode != 200 || body != "proxied http://agent.example/deep/x" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// TestConnectionsAreKeptForAsMany checks that as many connections are reused as an agent accepts concurrent calls.
func TestConnectionsAreKeptForAsMany(t *testing.T) {
	t.Parallel()
	const many = 40
	var conns atomic.Int64
	var round atomic.Pointer[sync.WaitGroup]
	agent := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		together := round.Load()
		together.Done()
		together.Wait()
	}))
	agent.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	agent.Start()
	t.Cleanup(agent.Close)
	c := config.DefaultAgent()
	c.URL, c.Concurrency = agent.URL, many
	srv := serve(t, c)
	for range 3 {
		var here, all sync.WaitGroup
		here.Add(many)
		round.Store(&here)
		for range many {
			all.Go(func() { send(t, request(t, "GET", srv.URL+"/agents/legacy/upstream/x", "")) })
		}
		all.Wait()
	}
	if n := conns.Load(); n != many {
		t.Errorf("%d connections for %d calls at a time", n, many)
	}
}

// TestUnsafeRequestsAreSentOnce checks that a POST with an Idempotency-Key is not repeated, as net/http does after a
// broken connection.
func TestUnsafeRequestsAreSentOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var came atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for from := bufio.NewReader(conn); ; {
					if _, err := http.ReadRequest(from); err != nil || came.Add(1) == 2 {
						return
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
				}
			}()
		}
	}()
	c := config.DefaultAgent()
	c.URL = "http://" + l.Addr().String()
	srv := serve(t, c)
	for _, want := range []int{200, 502} {
		req := request(t, "POST", srv.URL+"/agents/legacy/upstream/x", "")
		req.Header.Set("Idempotency-Key", "k")
		if res, body := send(t, req); res.StatusCode != want {
			t.Errorf("answered %d %s, want %d", res.StatusCode, body, want)
		}
	}
	if n := came.Load(); n != 2 {
		t.Errorf("the agent got %d requests of two", n)
	}
}

// TestAgentsOfHTTP2 checks that HTTP/2 is used, with the usual timeouts.
func TestAgentsOfHTTP2(t *testing.T) {
	t.Parallel()
	agent := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/hangs" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, r.Proto)
	}))
	agent.EnableHTTP2 = true
	agent.StartTLS()
	t.Cleanup(agent.Close)
	known := x509.NewCertPool()
	known.AddCert(agent.Certificate())
	c := config.DefaultAgent()
	c.URL, c.StepTimeout = agent.URL, 100*time.Millisecond
	srv := serveCounted(t, adapter.Upstream{Name: "legacy", Config: c, TLS: &tls.Config{RootCAs: known}})
	if res, body := send(t, request(t, "POST", srv.URL+"/agents/legacy/upstream/x", "body")); res.StatusCode != 200 || body != "HTTP/2.0" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	for _, body := range []string{"", "body"} {
		if res, said := send(t, request(t, "POST", srv.URL+"/agents/legacy/upstream/hangs", body)); res.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%q: %d %s", body, res.StatusCode, said)
		}
	}
}
