package crash

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

var powerCut = rig.Setting{Name: "full, a power cut", Synchronous: "full", Cut: true}

// settings are the settings in which deaths are tried.
func settings() []rig.Setting {
	if os.Getenv(storetest.Everywhere) == "postgres" {
		return []rig.Setting{{Name: storetest.Synchronous()}} // the server's own flushing is not tested here
	}
	return []rig.Setting{{Name: "normal", Synchronous: "normal"}, {Name: "full", Synchronous: "full"}, powerCut}
}

// turns lets the settings alternate at each point: the first death there is tried in all
// of them, each further death, in any scene, in the next one. Safe for concurrent use.
type turns struct {
	mu  sync.Mutex
	met map[string]int
}

func (s *turns) next(point string) []rig.Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, turn := settings(), s.met[point]
	s.met[point]++
	if turn == 0 {
		return all
	}
	turn %= len(all)
	return all[turn : turn+1]
}

// checkOpen: the record of a dead process lacks the result of one call at the most. A
// copy of the record is read.
func checkOpen(t *testing.T, dsn string, agent adaptertest.Counts) {
	t.Helper()
	if strings.HasPrefix(dsn, "postgres") {
		return
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		raw, err := os.ReadFile(dsn + end)
		if err == nil {
			err = os.WriteFile(copied+end, raw, 0o600)
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	tasks, steps := logged(t, copied)
	if open := agent.Creates - tasks + agent.Steps - steps; open > 1 {
		t.Errorf("%d calls are open: the agent made %d tasks and did %d steps, the log has %d and %d", open, agent.Creates, agent.Steps, tasks, steps)
	}
}

// logged counts the agent's tasks and steps in a log.
func logged(t *testing.T, path string) (tasks, steps int) {
	t.Helper()
	st := openRecord(t, path)
	defer st.Close()
	ctx := context.Background()
	threads, _, err := st.Threads(ctx, mapping.ThreadQuery{})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, th := range threads {
		events, err := st.Events(ctx, th.ID, "", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Kind == mapping.KindUpdate && ev.Head.Step != nil {
				steps++
			}
			if ev.Head.Link != nil {
				known[ev.Head.Link.Remote] = true
			}
		}
	}
	return len(known), steps
}

// paced is the agent whose steps take the scene's time.
func (s scene) paced(agent http.Handler) http.Handler {
	if s.pace == 0 {
		return agent
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps") {
			<-time.After(s.pace)
		}
		agent.ServeHTTP(w, r)
	})
}
