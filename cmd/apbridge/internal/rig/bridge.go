package rig

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Bridge is the whole program in this process, on a free port and with its own database.
type Bridge struct {
	T    *testing.T
	Cfg  *config.Config
	app  *bridge.App
	URL  string
	stop context.CancelFunc
	done chan error
	once *sync.Once
	// Logs has the entries of a Configured bridge, at every level.
	Logs *observer.ObservedLogs
	// Judge compares every answer of the task/step face with its documents.
	Judge *Judge
	// traces are the settings of a StartTraced bridge.
	traces *trace.Settings
}

// AgentAt returns an agent named "agent" at url, with settings that keep tests short.
func AgentAt(url string, change ...func(*config.Agent)) config.Agent {
	a := config.DefaultAgent()
	a.URL, a.StepTimeout, a.RunTimeout = url, time.Minute, 2*time.Minute
	for _, c := range change {
		c(&a)
	}
	return a
}

// InFront starts a bridge for one agent, named "agent", which is also the default one.
func InFront(t *testing.T, agent http.Handler, change ...func(*config.Agent)) *Bridge {
	t.Helper()
	return InFrontOf(t, adaptertest.Serve(t, agent).URL, change...)
}

// InFrontOf is InFront for an agent at url.
func InFrontOf(t *testing.T, url string, change ...func(*config.Agent)) *Bridge {
	t.Helper()
	return StartBridge(t, ConfigFor(t, map[string]config.Agent{"agent": AgentAt(url, change...)}))
}

// ConfigFor returns a typical configuration with a separate database and a short grace period.
func ConfigFor(t *testing.T, agents map[string]config.Agent) *config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.Database = "127.0.0.1:0", databaseOf(t)
	cfg.Synchronous, cfg.ShutdownGrace = storetest.Synchronous(), 100*time.Millisecond
	cfg.Agents, cfg.DefaultAgent = agents, "agent"
	return cfg
}

// databaseOf returns a new database with few connections, because many concurrent tests have a bridge each and share
// the connections of one server.
func databaseOf(t *testing.T) string {
	t.Helper()
	dsn := blank.DSN(t)
	if strings.Contains(dsn, "://") {
		dsn += "&pool_max_conns=4"
	}
	return dsn
}

// StartBridge runs the program until the test ends.
func StartBridge(t *testing.T, cfg *config.Config) *Bridge {
	t.Helper()
	return StartLogging(t, cfg, zap.NewNop())
}

// StartLogging is StartBridge with a log.
func StartLogging(t *testing.T, cfg *config.Config, log *zap.Logger) *Bridge {
	t.Helper()
	return start(t, cfg, bridge.Dialects(), nil, log)
}

// StartSpeaking is StartBridge with other dialects.
func StartSpeaking(t *testing.T, cfg *config.Config, dialects adapter.Dialects) *Bridge {
	t.Helper()
	return start(t, cfg, dialects, nil, zap.NewNop())
}

func start(t *testing.T, cfg *config.Config, dialects adapter.Dialects, traces *trace.Settings, log *zap.Logger) *Bridge {
	t.Helper()
	app, err := bridge.New(t.Context(), cfg, dialects, log, bridge.Traced(traces))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &Bridge{T: t, Cfg: cfg, app: app, URL: app.URL(), stop: stop, done: make(chan error, 1), once: &sync.Once{}, Judge: NewJudge(t), traces: traces}
	go func() { b.done <- app.Run(ctx) }()
	t.Cleanup(b.End)
	return b
}

// End stops the program as SIGTERM does.
func (b *Bridge) End() {
	b.once.Do(func() {
		b.stop()
		<-b.done
		if err := b.app.Close(); err != nil {
			b.T.Errorf("close: %v", err)
		}
	})
}

// Kill closes the listener and the database at once, as if the process died. It drains, ends and hands over nothing.
func (b *Bridge) Kill() {
	b.once.Do(func() {
		_ = b.app.Close()
		<-b.done
		b.stop()
		b.app.Abandon()
	})
}

// Again starts the program with the database of a bridge that was ended or killed.
func (b *Bridge) Again() *Bridge {
	b.T.Helper()
	return start(b.T, b.Cfg, bridge.Dialects(), b.traces, zap.NewNop())
}

// Lockstep, Free and Whole set the stepping mode of an agent.
func Lockstep(a *config.Agent) { a.Stepping.Mode = "lockstep" }
func Free(a *config.Agent)     { a.Stepping.Mode = "free" }
func Whole(a *config.Agent)    { a.Stepping.Mode = "run" }

// Root returns the path of the repository's root folder.
func Root(t testing.TB) string {
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

// Eventually waits until the condition holds.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	Within(t, adaptertest.Patience, what, holds)
}

// Within is Eventually with another timeout.
func Within(t *testing.T, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// Says reports whether text contains all of the words.
func Says(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Begin starts a run on the thread and returns its path.
func (b *Bridge) Begin(at, more string) string {
	b.T.Helper()
	return at + "/runs/" + b.Post(at+"/runs", `{"assistant_id":"agent",`+more+SaysHi+`}`).OK().Text("run_id")
}

// Thread creates a thread and returns its path.
func (b *Bridge) Thread() string {
	b.T.Helper()
	return "/threads/" + b.Post("/threads", `{}`).OK().Text("thread_id")
}

// Expect fails the test unless a member of the response at a path has the wanted text.
func (b *Bridge) Expect(path, member, want string) {
	b.T.Helper()
	if got := b.Get(path).OK(); got.At(member) != want {
		b.T.Errorf("%s: %s is %v, want %s", path, member, got.At(member), want)
	}
}
