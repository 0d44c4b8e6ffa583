package threadrun

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// A thread reports its storage, which grows with each run.
func TestThreadReportsItsStorage(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, "agents: {a: {url: $A}}", map[string]http.Handler{"a": legacyagent.Handler()})
	thread := b.Thread()
	empty := b.Get(thread + "/storage").OK()
	b.On(thread, `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"Write the word Washington"}]}}`)
	full := b.Get(thread + "/storage").OK()
	for _, member := range []string{"events.count", "events.bytes", "artifacts.count", "artifacts.bytes", "total_bytes"} {
		if before, after := empty.At(member).(float64), full.At(member).(float64); after <= before {
			t.Errorf("%s is %v, was %v before", member, after, before)
		}
	}
	if sum := full.At("events.bytes").(float64) + full.At("states.bytes").(float64) + full.At("artifacts.bytes").(float64); full.At("total_bytes") != sum || full.At("exact") != true {
		t.Errorf("the total is not the sum: %s", full.Body)
	}
	b.Get("/threads/0190c9a2-0000-7000-8000-000000000001/storage").Is(http.StatusNotFound)
}
