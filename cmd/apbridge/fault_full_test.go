package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestD1_FullDisk: on a disk with room for 400 pages nothing is accepted that could not be kept, what runs fails
// with the reason, reading works, and all goes on when there is room again.
func TestD1_FullDisk(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	long := strings.Repeat("long ", 20_000)
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"` + long + `"`, Last: true}}}
	g := newGate(agent, stepPosts, 1)
	cfg := configFor(t, nil)
	cfg.Limits.Database = 400 * 4096
	cfg.Agents = agentsAt(adaptertest.Serve(t, g).URL)
	b := startBridge(t, cfg)
	at := b.thread()
	run := b.begin(at, "")
	g.await(t)
	item := func(n int) string {
		return fmt.Sprintf(`{"namespace":["n"],"key":"%d","value":{"text":"%s"}}`, n, long)
	}
	kept := 0
	for ; kept < 100; kept++ {
		if a := b.do("PUT", "/store/items", item(kept)); a.status != http.StatusNoContent {
			a.is(http.StatusInsufficientStorage)
			if a.text("code") != "storage_full" || !says(a.text("message"), "limits.database") {
				t.Errorf("refused with %s", a.body)
			}
			break
		}
	}
	if kept < 3 || kept == 100 {
		t.Fatalf("%d items were kept", kept)
	}
	b.post("/ap/v1/agent/tasks", `{"input":"`+long+`"}`).is(http.StatusInsufficientStorage)
	g.open() // the run's step is too long for what is left
	for i := range kept {
		b.get(fmt.Sprintf("/store/items?namespace=n&key=%d", i)).ok()
	}
	b.get(run + "/join").ok() // its end is short
	if got := b.get(run).ok(); got.at("status") != "error" || !strings.Contains(string(got.body), "storage_full") {
		t.Errorf("the run: %s", got.body)
	}
	b.expect(at, "status", "error")
	for i := range kept {
		b.do("DELETE", "/store/items", fmt.Sprintf(`{"namespace":["n"],"key":"%d"}`, i)).ok()
	}
	if next := b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysMore+`}`).ok(); next.at("__error__") != nil {
		t.Errorf("with room again: %s", next.body)
	}
	b.end()
	b.cfg.Limits.Database = 0
	b = b.again() // it looks for damage first
	b.expect(at, "status", "idle")
	if n := len(b.get(at + "/runs").ok().list("")); n != 2 {
		t.Errorf("%d runs", n)
	}
}
