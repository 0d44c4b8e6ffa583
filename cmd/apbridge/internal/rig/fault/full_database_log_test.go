package fault

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestFullDatabaseIsLoggedOnce checks that a full database is logged once, however many requests are refused. Each
// request has its own line with its status.
func TestFullDatabaseIsLoggedOnce(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	cfg := rig.ConfigFor(t, nil)
	cfg.Limits.Database = 400 * 4096
	core, logs := observer.New(zapcore.InfoLevel)
	b := rig.StartLogging(t, cfg, zap.New(core))
	long := strings.Repeat("long ", 100_000)
	refused := 0
	for range 20 {
		if b.Post("/threads", `{"metadata":{"long":"`+long+`"}}`).Status == http.StatusInsufficientStorage {
			refused++
		}
		if b.Post("/ap/v1/agent/tasks", `{"input":"`+long+`"}`).Status == http.StatusInsufficientStorage {
			refused++
		}
	}
	if refused < 10 {
		t.Fatalf("%d requests were refused", refused)
	}
	if n := logs.FilterMessage("request failed").Len(); n != 1 {
		t.Errorf("%d lines have the reason, want 1", n)
	}
	if n := logs.FilterMessage("request").FilterField(zap.Int("status", http.StatusInsufficientStorage)).Len(); n != refused {
		t.Errorf("%d lines for %d requests", n, refused)
	}
}
