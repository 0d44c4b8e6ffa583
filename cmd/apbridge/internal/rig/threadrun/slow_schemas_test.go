package threadrun

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestSchemasThatTakeLong: pages that ask for a graph's schemas before they show anything are told the bridge's after
// some seconds. The agent is asked once, and what it says in the end is told to clients that ask then.
func TestSchemasThatTakeLong(t *testing.T) {
	t.Parallel()
	agent, say := &adaptertest.ThreadAgent{}, make(chan struct{})
	let := sync.OnceFunc(func() { close(say) })
	t.Cleanup(let)
	var asked atomic.Int32
	b := rig.InFront(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/schemas") {
			agent.ServeHTTP(w, r)
			return
		}
		asked.Add(1)
		<-say
		_, _ = io.WriteString(w, `{"graph_id":"agent","input_schema":{"title":"in"}}`)
	}))
	from := time.Now()
	got := b.Get("/assistants/agent/schemas").OK()
	// Without a limit of its own it would wait for the agent's step_timeout, a minute.
	if took := time.Since(from); took > 30*time.Second || got.At("state_schema.properties.messages.type") != "array" {
		t.Errorf("after %s it answered %s", took, got.Body)
	}
	let()
	rig.Eventually(t, "the agent's own schemas", func() bool { return b.Get("/assistants/agent/schemas").OK().At("input_schema.title") == "in" })
	if n := asked.Load(); n != 1 {
		t.Errorf("the agent was asked %d times", n)
	}
}
