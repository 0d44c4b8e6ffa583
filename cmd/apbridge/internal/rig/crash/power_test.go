package crash

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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

// place is a point as scenes of one kind reach it.
type place struct {
	point  string
	counts bool // they hold the agent's account against the record: checkOpen
}

// deaths lets the settings alternate at each place, and keeps how often a process died there in which. Safe for
// concurrent use.
type deaths struct {
	mu   sync.Mutex
	met  map[place]int
	died map[place]map[string]int // by the name of the setting
}

func newDeaths() *deaths { return &deaths{met: map[place]int{}, died: map[place]map[string]int{}} }

// next are the settings that a death is tried in: all of them at the first of a place, in any scene, then one by one.
func (s *deaths) next(at place) []rig.Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, turn := settings(), s.met[at]
	s.met[at]++
	if turn == 0 {
		return all
	}
	turn %= len(all)
	return all[turn : turn+1]
}

func (s *deaths) note(at place, as rig.Setting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.died[at] == nil {
		s.died[at] = map[string]int{}
	}
	s.died[at][as.Name]++
}

// at is how often a process died at a point, in any scene and setting.
func (s *deaths) at(point string) (n int) {
	for _, counts := range []bool{true, false} {
		for _, times := range s.died[place{point, counts}] {
			n += times
		}
	}
	return n
}

// unproven are the places that scenes with the agent's account have met, and where none of them died in one of the
// settings.
func (s *deaths) unproven() (list []string) {
	for at := range s.met {
		for _, as := range settings() {
			if at.counts && s.died[at][as.Name] == 0 {
				list = append(list, at.point+" "+as.Name)
			}
		}
	}
	slices.Sort(list)
	return list
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
