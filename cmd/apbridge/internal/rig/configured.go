package rig

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// Configuration is a whole bridge, started from the text of a configuration file.
type Configuration struct {
	T    *testing.T
	URL  string
	Logs *observer.ObservedLogs
	app  *bridge.App
}

// Configured starts a bridge until the test ends. In text, $NAME is the URL of the
// agent of that name, and $DB a database path of its own.
func Configured(t *testing.T, text string, agents map[string]http.Handler, environ ...string) *Configuration {
	t.Helper()
	folder := t.TempDir()
	text = strings.ReplaceAll(text, "$DB", filepath.Join(folder, "bridge.db"))
	for name, h := range agents {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		text = strings.ReplaceAll(text, "$"+strings.ToUpper(name), srv.URL)
	}
	if !strings.Contains(text, "listen:") {
		text += "\nlisten: 127.0.0.1:0"
	}
	if !strings.HasPrefix(text, "database:") {
		text += "\ndatabase: " + filepath.Join(folder, "bridge.db")
	}
	if !strings.Contains(text, "shutdown_grace:") {
		text += "\nshutdown_grace: 100ms"
	}
	file := filepath.Join(folder, "bridge.yaml")
	WriteFile(t, file, text)
	cfg, err := config.Load(config.Options{File: file, Environ: environ, Dialects: bridge.DialectNames()})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return rigConfig(t, cfg)
}

func rigConfig(t *testing.T, cfg *config.Config) *Configuration {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	a, err := bridge.New(t.Context(), cfg, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, a.Close()); err != nil {
			t.Errorf("the bridge stopped with %v", err)
		}
	})
	return &Configuration{T: t, URL: a.URL(), Logs: logs, app: a}
}

// Told is an answer of the bridge.
type Told struct {
	Status int
	Body   string
	Header http.Header
}

// Send makes a request; headers are name, value pairs.
func (r *Configuration) Send(method, path, body string, headers ...string) Told {
	r.T.Helper()
	req, err := http.NewRequestWithContext(r.T.Context(), method, r.URL+path, strings.NewReader(body))
	if err != nil {
		r.T.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.T.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.T.Fatal(err)
	}
	return Told{res.StatusCode, string(b), res.Header}
}

// Member is a member of the answer's object as text; nested ones by dots.
func (a Told) Member(path string) string {
	var v any
	if json.Unmarshal([]byte(a.Body), &v) != nil {
		return ""
	}
	for part := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[part]
	}
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// Want fails the test unless the answer has the status and holds all texts.
func (a Told) Want(t *testing.T, status int, texts ...string) Told {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.Body, text) {
			t.Errorf("%q is not in: %d %s", text, a.Status, a.Body)
		}
	}
	if a.Status != status {
		t.Errorf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// Wait does a run of the default agent and returns its answer.
func (r *Configuration) Wait(input string, headers ...string) Told {
	r.T.Helper()
	body, _ := json.Marshal(map[string]string{"input": input})
	return r.Send("POST", "/runs/wait", string(body), headers...)
}

// Thread makes a thread and returns its id.
func (r *Configuration) Thread() string {
	r.T.Helper()
	return r.Send("POST", "/threads", "{}").Want(r.T, 200).Member("thread_id")
}

// On does a run of the default agent on a thread.
func (r *Configuration) On(thread, body string) Told {
	r.T.Helper()
	return r.Send("POST", "/threads/"+thread+"/runs/wait", body)
}

// Task makes a v1 task and returns its path.
func (r *Configuration) Task(input string) string {
	r.T.Helper()
	body, _ := json.Marshal(map[string]string{"input": input})
	return "/ap/v1/agent/tasks/" + r.Send("POST", "/ap/v1/agent/tasks", string(body)).Want(r.T, 200).Member("task_id")
}

// Steps pulls steps until the last, at most n.
func (r *Configuration) Steps(task string, n int) (all []Told) {
	r.T.Helper()
	for range n {
		s := r.Send("POST", task+"/steps", "").Want(r.T, 200)
		if all = append(all, s); s.Member("is_last") == "true" {
			break
		}
	}
	return all
}

// Soon polls until ok, which something else brings about.
func Soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("still waiting for: " + what)
		}
	}
}

// FreeAddress is one that nobody listened on a moment ago.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TextBetween is what stands in s between the first from and the to after it.
func TextBetween(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	found, _, ok := strings.Cut(rest, to)
	if !ok {
		return ""
	}
	return found
}

func WriteFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
