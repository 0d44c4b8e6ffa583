package fault

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestFullDisk checks, on a disk with space for 400 pages, that a request is refused if its data cannot be stored, that
// active runs fail with the reason, that reads work, and that everything continues when there is space again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	long := strings.Repeat("long ", 20_000)
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"` + long + `"`, Last: true}}}
	g := rig.NewGate(agent, rig.StepPosts, 1)
	cfg := rig.ConfigFor(t, nil)
	cfg.Limits.Database = 400 * 4096
	cfg.Agents = rig.AgentsAt(adaptertest.Serve(t, g).URL)
	b := rig.StartBridge(t, cfg)
	at := b.Thread()
	run := b.Begin(at, "")
	g.Await(t)
	item := func(n int) string {
		return fmt.Sprintf(`{"namespace":["n"],"key":"%d","value":{"text":"%s"}}`, n, long)
	}
	kept := 0
	for ; kept < 100; kept++ {
		if a := b.Do("PUT", "/store/items", item(kept)); a.Status != http.StatusNoContent {
			a.Is(http.StatusInsufficientStorage)
			if a.Text("code") != "storage_full" || !rig.Says(a.Text("message"), "limits.database") {
				t.Errorf("refused with %s", a.Body)
			}
			break
		}
	}
	if kept < 3 || kept == 100 {
		t.Fatalf("%d items were stored", kept)
	}
	b.Post("/ap/v1/agent/tasks", `{"input":"`+long+`"}`).Is(http.StatusInsufficientStorage)
	full(b, true)
	b.Thread() // there is just enough space for it
	full(b, true)
	g.Open() // the run's step is too long for the remaining space
	for i := range kept {
		b.Get(fmt.Sprintf("/store/items?namespace=n&key=%d", i)).OK()
	}
	b.Get(run + "/join").OK() // the end of the run is short
	if got := b.Get(run).OK(); got.At("status") != "error" || !strings.Contains(string(got.Body), "storage_full") {
		t.Errorf("the run: %s", got.Body)
	}
	b.Expect(at, "status", "error")
	for i := range kept {
		b.Do("DELETE", "/store/items", fmt.Sprintf(`{"namespace":["n"],"key":"%d"}`, i)).OK()
	}
	full(b, false)
	if next := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK(); next.At("__error__") != nil {
		t.Errorf("with space again: %s", next.Body)
	}
	b.End()
	b.Cfg.Limits.Database = 0
	b = b.Again() // a start checks the file for damage
	b.Expect(at, "status", "idle")
	if n := len(b.Get(at + "/runs").OK().List("")); n != 2 {
		t.Errorf("%d runs", n)
	}
}

// full checks that readiness and metrics report whether there is space.
func full(b *rig.Bridge, want bool) {
	b.T.Helper()
	gauge, status := "apbridge_database_full 0\n", http.StatusOK
	if want {
		gauge, status = "apbridge_database_full 1\n", http.StatusServiceUnavailable
	}
	if a := b.Get("/readyz").Is(status); want && !rig.Says(string(a.Body), "limits.database") {
		b.T.Errorf("not ready: %s", a.Body)
	}
	if text := string(b.Get("/metrics").OK().Body); !rig.Says(text, gauge, "\napbridge_database_limit_bytes 1.6384e+06\n", "\napbridge_database_bytes ") {
		b.T.Errorf("the metrics do not have %s%s", gauge, text)
	}
}
