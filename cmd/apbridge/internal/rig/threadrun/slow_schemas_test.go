package threadrun

import (
	"context"
	"errors"
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

// TestSchemasThatTakeLong checks that a page that requests a graph's schemas first waits for the agent's own, and never
// gets others instead. If it leaves, the agent is still called only once, and later requests get its answer.
func TestSchemasThatTakeLong(t *testing.T) {
	t.Parallel()
	agent, say := &adaptertest.ThreadAgent{}, make(chan struct{})
	let := sync.OnceFunc(func() { close(say) })
	t.Cleanup(let)
	var asked atomic.Int32
	reached := make(chan struct{}, 1)
	b := rig.InFront(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/schemas") {
			agent.ServeHTTP(w, r)
			return
		}
		asked.Add(1)
		reached <- struct{}{}
		<-say
		_, _ = io.WriteString(w, `{"graph_id":"agent","input_schema":{"title":"in"}}`)
	}))
	leaving, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		req, _ := http.NewRequestWithContext(leaving, http.MethodGet, b.URL+"/assistants/agent/schemas", nil)
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
		}
		left <- err
	}()
	<-reached
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("a client that left was answered: %v", err)
	}
	time.AfterFunc(6*time.Second, let) // longer than the wait for an agent whose schemas are known
	if got := b.Get("/assistants/agent/schemas").OK(); got.At("input_schema.title") != "in" || got.At("state_schema.properties") != nil {
		t.Errorf("it answered %s", got.Body)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the agent was asked %d times", n)
	}
}
