package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

const aliceKey = "alice-0123456789abcdef"

// rig is a running server with a few routes.
type rig struct {
	*Server
	url  string
	logs *observer.ObservedLogs
	stop context.CancelFunc
	done chan struct{}
	err  error // of Run, after done
}

// prepare creates a server that listens. change and mount may be nil.
func prepare(t *testing.T, change func(*config.Config, *Options), mount func(*mux.Router)) *rig {
	t.Helper()
	cfg := config.Default()
	cfg.Listen = "127.0.0.1:0"
	cfg.Limits.Body = 1000
	o := Options{Faces: testFaces, Metrics: metrics.New(), Mount: func(r *mux.Router) { testRoutes(r); mountIf(r, mount) }}
	if change != nil {
		change(cfg, &o)
	}
	core, logs := observer.New(zapcore.DebugLevel)
	s, err := New(cfg, o, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	return &rig{Server: s, url: "http://" + s.Addr(), logs: logs, done: make(chan struct{})}
}

// start runs a server until the test ends.
func start(t *testing.T, change func(*config.Config, *Options), mount func(*mux.Router)) *rig {
	t.Helper()
	return prepare(t, change, mount).run(t)
}

// run serves until the test ends.
func (g *rig) run(t *testing.T) *rig {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	go func() {
		defer close(g.done)
		g.err = g.Server.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-g.done
	})
	return g
}

func mountIf(r *mux.Router, mount func(*mux.Router)) {
	if mount != nil {
		mount(r)
	}
}

var testFaces = []Face{{
	Name: "taskstep",
	Owns: func(path string) bool { return path == "/ok" || strings.HasPrefix(path, "/ap/") },
	Open: func(path string) bool { return path == "/ok" || path == "/threads" },
	Body: func(e *mapping.Error) any { return map[string]string{"message": e.Message} },
}}

func testRoutes(r *mux.Router) {
	r.HandleFunc("/ok", answer).Methods("GET")
	r.HandleFunc("/threads", echo).Methods("POST", "PATCH")
	r.HandleFunc("/threads/{thread_id}", answer).Methods("GET")
	r.HandleFunc("/ap/v1/agent/tasks", echo).Methods("POST")
}

func answer(w http.ResponseWriter, r *http.Request) {
	who := mapping.PrincipalOf(r.Context())
	fmt.Fprintf(w, "path=%s id=%s who=%s key=%s%s", r.URL.Path, mux.Vars(r)["thread_id"], who.ID, r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"))
}

// echo reads the body like faces do.
func echo(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	switch known := (*mapping.Error)(nil); {
	case errors.As(err, &known):
		http.Error(w, known.Message, adapter.Status(known.Class))
	case err != nil:
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	default:
		fmt.Fprintf(w, "%d bytes", len(b))
	}
}

type reply struct {
	status int
	header http.Header
	body   string
	closes bool // the connection is closed
}

// do sends a request. headers are pairs of name and value, where Host is the host.
func (g *rig) do(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	tr := &http.Transport{DisableKeepAlives: true}
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, res)
}

func read(t *testing.T, res *http.Response) reply {
	t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(b), res.Close}
}

// raw sends bytes unchanged and reads one response.
func (g *rig) raw(t *testing.T, request string) reply {
	t.Helper()
	conn, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, res)
}

// code returns the error code of a plain refusal.
func (r reply) code(t *testing.T) string {
	t.Helper()
	var e struct{ Code, Message string }
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Fatalf("body %q: %v", r.body, err)
	}
	if e.Message == "" {
		t.Errorf("a refusal without a message: %s", r.body)
	}
	return e.Code
}
