package crash

import (
	"net/http"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestServerCrashesUnderLoad crashes a bridge's PostgreSQL twice under load, which loses everything that no commit
// waited for. Everything acknowledged remains, each run ends once, and no thread stays busy.
func TestServerCrashesUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := storetest.Private(t, "commit_delay=2000", "commit_siblings=1") // so that several commits wait together
	cfg := rig.ConfigFor(t, rig.AgentsAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL))
	cfg.Database, cfg.Synchronous = cluster.URL(), "full"
	b := rig.StartBridge(t, cfg)
	var acknowledged runsMade
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					acknowledged.add(b)
				}
			}
		})
	}
	for range 2 {
		acknowledged.await(t, 40)
		cluster.Crash()
		cluster.Start()
	}
	acknowledged.await(t, 40)
	close(stop)
	clients.Wait()
	for _, run := range acknowledged.runs {
		b.Get(run + "/join").OK()
		if got := b.Get(run).OK().Text("status"); got != "success" && got != "error" {
			t.Errorf("run %s is %s", run, got)
		}
		b.Get(run[:len("/threads/")+36]).OK()
	}
	rig.Eventually(t, "no thread is busy", func() bool {
		return len(b.Post("/threads/search", `{"status":"busy"}`).OK().List("")) == 0
	})
	b.Get("/readyz").OK()
}

// runsMade holds the paths of runs whose creation was acknowledged. Safe for concurrent use.
type runsMade struct {
	mu   sync.Mutex
	runs []string
	seen int
}

// add creates a thread and a run on it if the bridge accepts them.
func (m *runsMade) add(b *rig.Bridge) {
	th := b.Post("/threads", `{}`)
	if th.Status != http.StatusOK {
		return
	}
	at := "/threads/" + th.Text("thread_id")
	run := b.Post(at+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`)
	if run.Status != http.StatusOK {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = append(m.runs, at+"/runs/"+run.Text("run_id"))
}

// await returns when n more runs have been created.
func (m *runsMade) await(t *testing.T, more int) {
	t.Helper()
	rig.Eventually(t, "more runs are created", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		enough := len(m.runs) >= m.seen+more
		if enough {
			m.seen = len(m.runs)
		}
		return enough
	})
}
