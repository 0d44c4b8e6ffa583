package crash

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// history records the observations of the clients of a soak for the final check.
type history struct {
	mu       sync.Mutex
	runs     []*soakRun
	tasks    []*soakTask
	refusals []soakRefusal
	broken   []string // what a client could not bring to its end
}

// soakRun is a run that was acknowledged.
type soakRun struct {
	thread, id, words string
	seen              []rig.Frame // by the client that followed it, across breaks
	statuses          []string    // each that was read, in order
	replayed          []rig.Frame // at the end, from the beginning
	status            string      // at the end; "" when it was not there
	code              string      // of its error
}

// soakTask is an acknowledged v1 task.
type soakTask struct {
	id, words string
	given     []string // ids of steps, as they were handed out
	over      bool     // the last one came
	failed    bool     // by the last one the run failed
	listed    []string // at the end
	there     bool     // at the end
}

// soakRefusal is an unsuccessful response.
type soakRefusal struct {
	request string
	status  int
	header  http.Header
	body    string
}

func (h *history) addRun(r *soakRun) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, r)
}

func (h *history) addTask(k *soakTask) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks = append(h.tasks, k)
}

func (h *history) refused(r soakRefusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusals = append(h.refusals, r)
}

func (h *history) gaveUp(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = append(h.broken, fmt.Sprintf(format, args...))
}

func (h *history) summary() string {
	ends := map[string]int{}
	for _, r := range h.runs {
		ends[strings.TrimSpace(r.status+" "+r.code)]++
	}
	failed := 0
	for _, k := range h.tasks {
		if k.failed {
			failed++
		}
	}
	return fmt.Sprintf("%d runs (%v), %d tasks (%d failed), %d refusals", len(h.runs), ends, len(h.tasks), failed, len(h.refusals))
}

// worker returns the work that an agent did for a text; see tally.of.
type worker interface {
	of(words string) (tasks, steps, extra int)
}

// violations returns the violated invariants with names and places. logs has the logs of all bridges.
func (h *history) violations(agent worker, logs string) []string {
	var v []string
	bad := func(format string, args ...any) { v = append(v, fmt.Sprintf(format, args...)) }
	for _, what := range h.broken {
		bad("INV2: %s", what)
	}
	for _, r := range h.runs {
		r.check(agent, bad)
	}
	for _, k := range h.tasks {
		k.check(agent, bad)
	}
	h.checkOrder(bad)
	if n := strings.Count(logs, "canary-"); n > 0 {
		bad("INV6: words of clients stand %d times in the logs", n)
	}
	for _, r := range h.refusals {
		r.check(bad)
	}
	return v
}

// possible has the outcomes of runs whose bridge or database died. Any other outcome is a fault of the bridge.
var honest = []string{"outcome_unknown", "database_unavailable", "upstream_unreachable", "timeout"}

func (r *soakRun) check(agent worker, bad func(string, ...any)) {
	if r.status == "" {
		bad("INV1: run %s was acknowledged and is not there", r.id)
		return
	}
	if !final(r.status) {
		bad("INV2: run %s is %s when all has come to rest", r.id, r.status)
	}
	for _, s := range r.statuses {
		if final(s) && s != r.status {
			bad("INV2: run %s was %s and is %s", r.id, s, r.status)
		}
	}
	r.checkWork(agent, bad)
	r.checkFrames(bad)
}

func (r *soakRun) checkWork(agent worker, bad func(string, ...any)) {
	tasks, steps, extra := agent.of(r.words)
	switch {
	case tasks > 1 || extra > 0:
		bad("INV4: for run %s the agent made %d tasks and was asked for %d steps too many", r.id, tasks, extra)
	case r.status == "success" && steps != tallySteps:
		bad("INV1: run %s succeeded, and the agent did %d steps of %d", r.id, steps, tallySteps)
	case r.status == "error" && !slices.Contains(honest, r.code):
		bad("INV4: run %s ended in error %q", r.id, r.code)
	}
}

// checkFrames checks that the frames that a client read still exist, unchanged and in the same order.
func (r *soakRun) checkFrames(bad func(string, ...any)) {
	for i := 1; i < len(r.replayed); i++ {
		if !before(r.replayed[i-1].ID, r.replayed[i].ID) {
			bad("INV5: run %s: frame %s comes after frame %s", r.id, r.replayed[i].ID, r.replayed[i-1].ID)
		}
	}
	if len(r.seen) > len(r.replayed) {
		bad("INV5: run %s: %d frames were shown, %d are there", r.id, len(r.seen), len(r.replayed))
		return
	}
	for i, f := range r.seen {
		if r.replayed[i] != f {
			bad("INV5: run %s: frame %s was shown as %+v and is %+v", r.id, f.ID, f, r.replayed[i])
			return
		}
	}
}

// checkOrder checks that of any two runs on a thread, one ends before the other begins (INV3).
func (h *history) checkOrder(bad func(string, ...any)) {
	threads := map[string][]*soakRun{}
	for _, r := range h.runs {
		if len(r.replayed) > 0 {
			threads[r.thread] = append(threads[r.thread], r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(threads)) {
		list := threads[name]
		slices.SortFunc(list, func(a, b *soakRun) int {
			if before(a.replayed[0].ID, b.replayed[0].ID) {
				return -1
			}
			return 1
		})
		for i := 1; i < len(list); i++ {
			if last := list[i-1].replayed; !before(last[len(last)-1].ID, list[i].replayed[0].ID) {
				bad("INV3: run %s began before run %s was over", list[i].id, list[i-1].id)
			}
		}
	}
}

func (k *soakTask) check(agent worker, bad func(string, ...any)) {
	if !k.there {
		bad("INV1: task %s was acknowledged and is not there", k.id)
		return
	}
	tasks, _, extra := agent.of(k.words)
	if tasks > 1 || extra > 0 {
		bad("INV4: for task %s the agent made %d tasks and was asked for %d steps too many", k.id, tasks, extra)
	}
	if len(k.given) > len(k.listed) || !slices.Equal(k.given, k.listed[:len(k.given)]) {
		bad("INV5: task %s: the steps %q were handed out, %q are listed", k.id, k.given, k.listed)
	}
	if k.over && len(k.given) != len(k.listed) {
		bad("INV5: task %s: step %d was the last, and %d are listed", k.id, len(k.given), len(k.listed))
	}
	if k.over && !k.failed && len(k.given) != tallySteps {
		bad("INV1: task %s succeeded after %d steps of %d", k.id, len(k.given), tallySteps)
	}
}

// check checks that a refusal has a reason and the id of its request (INV8).
func (r soakRefusal) check(bad func(string, ...any)) {
	var said struct{ Message string }
	_ = json.Unmarshal([]byte(r.body), &said)
	message := said.Message
	if len(message) < 10 || r.header.Get("X-Request-Id") == "" {
		bad("INV8: %s was answered %d %s with request id %q", r.request, r.status, r.body, r.header.Get("X-Request-Id"))
	}
}
