package crash

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// wholeCrash names the environment variable with which every scene dies at every point. Without it, only a few deaths
// are tried.
const wholeCrash = "APBRIDGE_TEST_CRASH"

// TestCrashAtEveryPoint kills the bridge at every fail point of every scene, starts it again and checks its guarantees.
// It fails if a point was never reached.
func TestCrashAtEveryPoint(t *testing.T) {
	if os.Getenv(wholeCrash) == "" {
		t.Skip("takes minutes; " + wholeCrash + "=1 runs this")
	}
	if end, ok := t.Deadline(); ok && os.Getenv(storetest.Everywhere) == "postgres" && time.Until(end) < crashTime {
		t.Fatalf("the deaths need more than %v: use -timeout 40m and -parallel 8, as most of the time is spent waiting", time.Until(end).Round(time.Second))
	}
	deaths := newDeaths()
	t.Run("at", func(t *testing.T) {
		for _, s := range allScenes() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				order, times := s.rehearse(t)
				for _, name := range order {
					for _, n := range hits(times[name]) {
						at := place{name, s.counts}
						for _, as := range deaths.next(at) {
							t.Run(name+"#"+strconv.Itoa(n)+" "+as.Name, func(t *testing.T) {
								t.Parallel()
								if s.die(t, name+"#"+strconv.Itoa(n), as) {
									deaths.note(at, as)
								}
							})
						}
					}
				}
			})
		}
	})
	database := "sqlite"
	if os.Getenv(storetest.Everywhere) == "postgres" {
		database = "postgres"
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(allPoints(t, database))) {
		if deaths.at(name) == 0 {
			t.Errorf("no scene died at %q", name)
		}
		total += deaths.at(name)
	}
	if list := deaths.unproven(); len(list) > 0 {
		t.Errorf("no scene that counts the agent's calls died at %q", list)
	}
	t.Logf("%d deaths", total)
}

// crashTime bounds the whole test over PostgreSQL on a small machine, where every death has a separate schema.
const crashTime = 20 * time.Minute

// TestCrashAtOnce covers a few of these crashes, some of them during shutdown.
func TestCrashAtOnce(t *testing.T) {
	t.Parallel()
	storetest.File(t) // other databases use the same code
	for name, points := range map[string][]string{
		"threads before steps that are listed": {"after commit of store.Runs.Create#1", "agent asked#2", "before commit of store.Events.Append#3"},
		"tasks in lockstep, with keys":         {"step written#1", "before commit of store.Tasks.HandOut#2"},
		"threads before slow steps":            {"agent asked#3"},
		"tasks before slow steps":              {"agent asked#3"},
		"messages before steps":                {"after commit of store.Runs.Create#1", "before commit of store.Tasks.PutHook#1", "after commit of store.Tasks.PutHook#1", "after commit of store.Tasks.DeleteHook#1", "agent asked#3"},
		"messages before a graph":              {"reply written#1", "agent answered#1", "before commit of store.Events.Append#2"},
		"tasks before a slow graph":            {"event taken#2"},
		"runs that go on in a stop":            {"agent answered#3", "agent asked#4"},
	} {
		for _, p := range points {
			t.Run(name+"/"+p, func(t *testing.T) {
				t.Parallel()
				if !sceneOf(t, name).die(t, p, rig.Setting{}) {
					t.Error("the point was not reached")
				}
			})
		}
	}
}

// TestPowerCut covers a few power cuts immediately after a client received the id of a thread or run, a stream frame,
// or a step.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	for name, points := range map[string][]string{
		"threads before steps that are listed": {"reply written#1", "reply written#2", "agent answered#4"},
		"threads before slow steps":            {"agent answered#3"},
		"tasks in lockstep, without keys":      {"reply written#2", "reply written#3"},
	} {
		for _, p := range points {
			t.Run(name+"/"+p, func(t *testing.T) {
				t.Parallel()
				if !sceneOf(t, name).die(t, p, powerCut) {
					t.Error("the point was not reached")
				}
			})
		}
	}
}

func allScenes() []scene {
	return slices.Concat(scenes(), otherScenes(), memoryScenes(), ownerScenes())
}

func sceneOf(t *testing.T, name string) scene {
	t.Helper()
	all := allScenes()
	i := slices.IndexFunc(all, func(s scene) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("there is no scene %q", name)
	}
	return all[i]
}

// hits returns the occurrences of a point at which to die: the first two and the last.
func hits(times int) []int {
	return slices.Compact([]int{1, min(2, times), times})
}

// rehearse plays a scene without a death and records the points.
func (s scene) rehearse(t *testing.T) (order []string, times map[string]int) {
	t.Helper()
	peer := s.peer()
	d := rig.NewKillable(t, blank.DSN(t), s.paced(peer), "", s.environ...)
	d.Trace, d.Spared = filepath.Join(t.TempDir(), "points"), s.spared
	s.play(t, d, peer)
	checkRecord(t, d.Dsn, s.deletes)
	if s.counts {
		checkOpen(t, d.Dsn, peer.(accountant), 0)
	}
	return points(t, d.Trace)
}

// die plays a scene with a death and reports whether the point was reached.
func (s scene) die(t *testing.T, point string, as rig.Setting) bool {
	t.Helper()
	peer := s.peer()
	d := rig.NewKillable(t, blank.DSN(t), s.paced(peer), point, s.environ...)
	d.Spared, d.As = s.spared, as
	if s.counts {
		d.Found = func(dsn string) { checkOpen(t, dsn, peer.(accountant), 1) }
	}
	s.play(t, d, peer)
	checkRecord(t, d.Dsn, s.deletes)
	return d.Died
}

// points returns how often each point was reached, in order of first occurrence.
func points(t *testing.T, trace string) (order []string, times map[string]int) {
	t.Helper()
	raw, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	times = map[string]int{}
	for line := range strings.Lines(string(raw)) {
		name := strings.TrimSpace(line)
		if times[name] == 0 {
			order = append(order, name)
		}
		times[name]++
	}
	return order, times
}
