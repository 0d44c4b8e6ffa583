package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

func agentsAt(url string) map[string]config.Agent {
	return map[string]config.Agent{"agent": agentAt(url, func(a *config.Agent) { a.Dialect = "taskstep" })}
}

// TestD3_FileDeletedInMidFlight: what can be read is read, nothing more is
// accepted, and no new file takes the place of the one that was there. Put
// back, the run goes on.
func TestD3_FileDeletedInMidFlight(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 2)
	b := inFront(t, g, func(a *config.Agent) { a.Dialect = "taskstep" })
	at := b.thread()
	run := b.begin(at, "")
	g.await(t)
	file := b.cfg.Database
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(file+end, file+".away"+end); err != nil {
			t.Fatal(err)
		}
	}
	if a := b.post("/threads", `{}`); a.status != http.StatusServiceUnavailable || !strings.Contains(string(a.body), "moved or deleted") {
		t.Errorf("a new thread: %d %s", a.status, a.body)
	}
	b.get("/readyz").is(http.StatusServiceUnavailable)
	b.get("/healthz").ok()
	b.expect(run, "status", "running")
	g.open()
	b.end()
	if _, err := os.Stat(file); err == nil {
		t.Error("a new file is there")
	}
	if app, err := newApp(t.Context(), b.cfg, zap.NewNop()); err == nil || !says(err.Error(), file, "missing", "backup") {
		if err == nil {
			_ = app.Close()
		}
		t.Errorf("started again: %v", err)
	}
	for _, end := range []string{"", "-wal"} {
		if err := os.Rename(file+".away"+end, file+end); err != nil && end == "" {
			t.Fatal(err)
		}
	}
	b = b.again()
	b.get(run + "/join").ok()
	b.expect(run, "status", "success")
	b.expect(at, "status", "idle")
}
