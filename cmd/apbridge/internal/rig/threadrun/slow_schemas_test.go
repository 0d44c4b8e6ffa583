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

// TestSchemasThatTakeLong: a page that asks for a graph's schemas before it shows anything waits for the agent's own,
// and is never told others in their place. One that leaves costs nothing: the agent is asked once, and whoever asks
// then is told what it says.
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
	time.AfterFunc(6*time.Second, let) // longer than an agent is waited for whose schemas are known
	if got := b.Get("/assistants/agent/schemas").OK(); got.At("input_schema.title") != "in" || got.At("state_schema.properties") != nil {
		t.Errorf("it answered %s", got.Body)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the agent was asked %d times", n)
	}
}
