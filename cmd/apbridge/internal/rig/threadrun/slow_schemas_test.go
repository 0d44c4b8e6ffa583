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

// TestSlowSchemas checks that the first request for a graph's schemas waits for the agent's own schemas instead of
// returning generic ones. If the client disconnects, the agent is still called only once, and later requests get its
// response.
func TestSlowSchemas(t *testing.T) {
	t.Parallel()
	agent, release := &adaptertest.ThreadAgent{}, make(chan struct{})
	open := sync.OnceFunc(func() { close(release) })
	t.Cleanup(open)
	var called atomic.Int32
	reached := make(chan struct{}, 1)
	b := rig.InFront(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/schemas") {
			agent.ServeHTTP(w, r)
			return
		}
		called.Add(1)
		reached <- struct{}{}
		<-release
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
		t.Errorf("a disconnected client: %v", err)
	}
	time.AfterFunc(6*time.Second, open) // longer than the wait if the schemas are cached
	if got := b.Get("/assistants/agent/schemas").OK(); got.At("input_schema.title") != "in" || got.At("state_schema.properties") != nil {
		t.Errorf("the response is %s", got.Body)
	}
	if n := called.Load(); n != 1 {
		t.Errorf("the agent was called %d times", n)
	}
}
