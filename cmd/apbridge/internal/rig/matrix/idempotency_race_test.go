package matrix

import (
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// atOnce sends concurrent requests with the same key, distributed over the bridges, and returns the distinct ids that
// were created.
func atOnce(t *testing.T, bridges []*rig.Bridge, path, body, id string) map[string]bool {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	made := map[string]bool{}
	for i := range 8 {
		all.Go(func() {
			a, err := bridges[i%len(bridges)].Try(t.Context(), "POST", path, body, "Idempotency-Key", "one for "+path)
			if err != nil || a.Status/100 != 2 {
				t.Errorf("response %d: %.300s %v", a.Status, a.Body, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			made[a.Text(id)] = true
		})
	}
	all.Wait()
	return made
}

// TestConcurrentAnswersWithOneKey checks that only one of several identical concurrent answers is executed, and that
// the others get its result even if the question is already closed. Several rounds are needed to cover the possible
// interleavings.
func TestConcurrentAnswersWithOneKey(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, askingAgent(), rig.Lockstep)
	for range 20 {
		at := aQuestion(b)
		if made := atOnce(t, []*rig.Bridge{b}, at+"/runs", `{"assistant_id":"agent","command":{"resume":"this"}}`, "run_id"); len(made) != 1 {
			t.Fatalf("one key created %v", made)
		}
	}
	for range 5 {
		topic := aTopicThatAsks(b)
		made := atOnce(t, []*rig.Bridge{b}, topic+"/interactions", `{"input":"y"}`, "interaction_id")
		if tasks := b.Get(topic + "/tasks").OK().List("tasks"); len(made) != 1 || len(tasks) != 1 {
			t.Fatalf("one key created %v among %d tasks on %s", made, len(tasks), strings.TrimPrefix(topic, "/ap/v2/topics/"))
		}
	}
}

// Two processes have independent sessions of the task.
func TestConcurrentAnswersWithOneKeyOverProcesses(t *testing.T) {
	t.Parallel()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, askingAgent()).URL, rig.Lockstep)})
	cfg.Database = storetest.Schema(t)
	one, two := rig.StartBridge(t, cfg), rig.StartBridge(t, cfg)
	for range 20 {
		topic := aTopicThatAsks(one)
		made := atOnce(t, []*rig.Bridge{one, two}, topic+"/interactions", `{"input":"y"}`, "interaction_id")
		if tasks := two.Get(topic + "/tasks").OK().List("tasks"); len(made) != 1 || len(tasks) != 1 {
			t.Fatalf("one key created %v among %d tasks", made, len(tasks))
		}
		at := aQuestion(two)
		if made := atOnce(t, []*rig.Bridge{one, two}, at+"/runs", `{"assistant_id":"agent","command":{"resume":"this"}}`, "run_id"); len(made) != 1 {
			t.Fatalf("one key created %v", made)
		}
	}
}
