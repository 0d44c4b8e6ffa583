package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// rigged is a whole bridge, started from the text of a configuration file.
type rigged struct {
	t    *testing.T
	url  string
	logs *observer.ObservedLogs
	app  *app
}

// rig starts a bridge until the test ends. In text, $NAME is the URL of the
// agent of that name, and $DB a database path of its own.
func rig(t *testing.T, text string, agents map[string]http.Handler, environ ...string) *rigged {
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
	write(t, file, text)
	cfg, err := config.Load(config.Options{File: file, Environ: environ, Dialects: dialectNames()})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return rigConfig(t, cfg)
}

func rigConfig(t *testing.T, cfg *config.Config) *rigged {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	a, err := newApp(t.Context(), cfg, zap.New(core))
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
	return &rigged{t: t, url: a.URL(), logs: logs, app: a}
}

// told is an answer of the bridge.
type told struct {
	status int
	body   string
	header http.Header
}

// send makes a request; headers are name, value pairs.
func (r *rigged) send(method, path, body string, headers ...string) told {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
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
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return told{res.StatusCode, string(b), res.Header}
}

// member is a member of the answer's object as text; nested ones by dots.
func (a told) member(path string) string {
	var v any
	if json.Unmarshal([]byte(a.body), &v) != nil {
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

// want fails the test unless the answer has the status and holds all texts.
func (a told) want(t *testing.T, status int, texts ...string) told {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("%q is not in: %d %s", text, a.status, a.body)
		}
	}
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// wait does a run of the default agent and returns its answer.
func (r *rigged) wait(input string, headers ...string) told {
	r.t.Helper()
	body, _ := json.Marshal(map[string]string{"input": input})
	return r.send("POST", "/runs/wait", string(body), headers...)
}

// thread makes a thread and returns its id.
func (r *rigged) thread() string {
	r.t.Helper()
	return r.send("POST", "/threads", "{}").want(r.t, 200).member("thread_id")
}

// on does a run of the default agent on a thread.
func (r *rigged) on(thread, body string) told {
	r.t.Helper()
	return r.send("POST", "/threads/"+thread+"/runs/wait", body)
}

// task makes a v1 task and returns its path.
func (r *rigged) task(input string) string {
	r.t.Helper()
	body, _ := json.Marshal(map[string]string{"input": input})
	return "/ap/v1/agent/tasks/" + r.send("POST", "/ap/v1/agent/tasks", string(body)).want(r.t, 200).member("task_id")
}

// steps pulls steps until the last, at most n.
func (r *rigged) steps(task string, n int) (all []told) {
	r.t.Helper()
	for range n {
		s := r.send("POST", task+"/steps", "").want(r.t, 200)
		if all = append(all, s); s.member("is_last") == "true" {
			break
		}
	}
	return all
}

// soon polls until ok, which something else brings about.
func soon(t *testing.T, what string, ok func() bool) {
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

// aFreeAddress is one that nobody listened on a moment ago.
func aFreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// textBetween is what stands in s between the first from and the to after it.
func textBetween(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	found, _, ok := strings.Cut(rest, to)
	if !ok {
		return ""
	}
	return found
}
