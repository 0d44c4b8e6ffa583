package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// bridge is the whole program, in this process, on a free port and with a
// SQLite file of its own.
type bridge struct {
	t    *testing.T
	cfg  *config.Config
	app  *app
	url  string
	stop context.CancelFunc
	done chan error
	once *sync.Once
	// judge holds every answer of the task/step face against its documents.
	judge *judge
}

// agentAt is an agent named "agent" at url, with settings that keep tests
// short.
func agentAt(url string, change ...func(*config.Agent)) config.Agent {
	a := config.DefaultAgent()
	a.URL, a.StepTimeout, a.RunTimeout = url, 20*time.Second, 30*time.Second
	for _, c := range change {
		c(&a)
	}
	return a
}

// inFront starts a bridge before one agent, called "agent", which is also the
// default one.
func inFront(t *testing.T, agent http.Handler, change ...func(*config.Agent)) *bridge {
	t.Helper()
	return inFrontOf(t, adaptertest.Serve(t, agent).URL, change...)
}

func inFrontOf(t *testing.T, url string, change ...func(*config.Agent)) *bridge {
	t.Helper()
	return startBridge(t, configFor(t, map[string]config.Agent{"agent": agentAt(url, change...)}))
}

func configFor(t *testing.T, agents map[string]config.Agent) *config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.Database = "127.0.0.1:0", storetest.DSN(t)
	cfg.Synchronous, cfg.ShutdownGrace = storetest.Synchronous(), 100*time.Millisecond
	cfg.Agents, cfg.DefaultAgent = agents, "agent"
	return cfg
}

func startBridge(t *testing.T, cfg *config.Config) *bridge {
	t.Helper()
	return startLogging(t, cfg, zap.NewNop())
}

func startLogging(t *testing.T, cfg *config.Config, log *zap.Logger) *bridge {
	t.Helper()
	app, err := newApp(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &bridge{t: t, cfg: cfg, app: app, url: app.URL(), stop: stop, done: make(chan error, 1), once: &sync.Once{}, judge: newJudge(t)}
	go func() { b.done <- app.Run(ctx) }()
	t.Cleanup(b.end)
	return b
}

// end stops the program as SIGTERM does.
func (b *bridge) end() {
	b.once.Do(func() {
		b.stop()
		<-b.done
		if err := b.app.Close(); err != nil {
			b.t.Errorf("close: %v", err)
		}
	})
}

// kill takes listener and database away at once: nothing is drained, ended or
// handed over, as when the process dies.
func (b *bridge) kill() {
	b.once.Do(func() {
		_ = b.app.Close()
		<-b.done
		b.stop()
		b.app.abandon()
	})
}

// again starts the program on the file of one that was ended or killed.
func (b *bridge) again() *bridge {
	b.t.Helper()
	return startBridge(b.t, b.cfg)
}

// lockstep, free and whole set how v1 clients pull an agent's steps.
func lockstep(a *config.Agent) { a.Stepping.Mode = "lockstep" }
func free(a *config.Agent)     { a.Stepping.Mode = "free" }
func whole(a *config.Agent)    { a.Stepping.Mode = "run" }

// root is the repository's folder.
func root(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if filepath.Dir(at) == at {
			t.Fatal("there is no go.mod above this test")
		}
		at = filepath.Dir(at)
	}
}

// eventually asks until it holds what is asked for.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(adaptertest.Patience)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("in vain waited for: %s", what)
		}
	}
}

// says tells whether text names all of the words.
func says(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
