package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/mux"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// D5: what net/http says at every attempt is logged once in a while, and all else each time.
func TestD5NoFloodOfComplaints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.DebugLevel)
		c := &complaints{log: zap.New(core)}
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
			t.Errorf("%d lines of something else, want 2", n)
		}
	})
}

func TestD5ConnectionsThatFitTheFiles(t *testing.T) {
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
	if n := g.door.connections.open.Load(); n != 1 {
		t.Errorf("%d connections are open, want 1", n)
	}
	// What comes now are no requests, whatever it looks like.
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
	close(out)
	<-closed
	if n := g.door.connections.open.Load(); n != 0 {
		t.Errorf("%d connections are open, want none", n)
	}
}
