package fault

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// TestDatabaseDeletedDuringARun checks that reads continue, that nothing more is accepted, and that no new file
// replaces the deleted one. The run continues when the file is back.
func TestDatabaseDeletedDuringARun(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	b := rig.InFront(t, g, func(a *config.Agent) { a.Dialect = "taskstep" })
	at := b.Thread()
	run := b.Begin(at, "")
	g.Await(t)
	file := b.Cfg.Database
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(file+end, file+".away"+end); err != nil {
			t.Fatal(err)
		}
	}
	if a := b.Post("/threads", `{}`); a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "moved or deleted") {
		t.Errorf("a new thread: %d %s", a.Status, a.Body)
	}
	b.Get("/readyz").Is(http.StatusServiceUnavailable)
	b.Get("/healthz").OK()
	b.Expect(run, "status", "running")
	g.Open()
	b.End()
	if _, err := os.Stat(file); err == nil {
		t.Error("a new file was created")
	}
	if app, err := bridge.New(t.Context(), b.Cfg, bridge.Dialects(), zap.NewNop()); err == nil || !rig.Says(err.Error(), file, "missing", "backup") {
		if err == nil {
			_ = app.Close()
		}
		t.Errorf("after a restart: %v", err)
	}
	for _, end := range []string{"", "-wal"} {
		if err := os.Rename(file+".away"+end, file+end); err != nil && end == "" {
			t.Fatal(err)
		}
	}
	b = b.Again()
	b.Get(run + "/join").OK()
	b.Expect(run, "status", "success")
	b.Expect(at, "status", "idle")
}
