package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// scene describes the requests of clients to a bridge that may die at any moment, and the results that they must see.
type scene struct {
	name    string
	peer    func() adaptertest.Peer
	environ []string
	spared  int
	deletes bool          // events, by rolling runs back or by retention
	pace    time.Duration // how long a step or a run of the agent takes; 0: no time at all
	counts  bool          // one run after the other and nothing deleted, so that what is open can be counted: checkOpen
	play    func(t *testing.T, d *rig.Killable, peer adaptertest.Peer)
}

func scenes() []scene {
	steps := func(kind adaptertest.Kind) func() adaptertest.Peer {
		return func() adaptertest.Peer { return adaptertest.NewStepAgent(kind) }
	}
	graph := func() adaptertest.Peer {
		return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	}
	pulled := func(mode string) []string { return []string{"APBRIDGE_AGENTS__AGENT__STEPPING__MODE=" + mode} }
	return []scene{
		{name: "threads before steps that are listed", peer: steps(adaptertest.Python), play: threadScene{}.play, counts: true},
		{name: "threads before steps that are not", peer: steps(adaptertest.JS), play: threadScene{}.play, counts: true},
		{name: "threads before a graph", peer: graph, play: threadScene{}.play, counts: true},
		{name: "tasks in lockstep, with keys", peer: steps(adaptertest.Python), environ: pulled("lockstep"), play: taskScene{keys: true}.play, counts: true},
		{name: "tasks in lockstep, without keys", peer: steps(adaptertest.Python), environ: pulled("lockstep"), play: taskScene{}.play, counts: true},
		{name: "tasks before steps that are not listed", peer: steps(adaptertest.JS), environ: pulled("lockstep"), play: taskScene{keys: true}.play, counts: true},
		{name: "tasks before a graph", peer: graph, play: taskScene{keys: true}.play, counts: true},
		{name: "messages before steps", peer: steps(adaptertest.Python), play: messageScene{}.play},
		{name: "messages before a graph", peer: graph, play: messageScene{}.play},
		{name: "threads before slow steps", peer: steps(adaptertest.Python), play: threadScene{}.play, counts: true, pace: aWhile},
		{name: "tasks before slow steps", peer: steps(adaptertest.Python), environ: pulled("lockstep"), play: taskScene{keys: true}.play, counts: true, pace: aWhile},
		{name: "tasks before a slow graph", peer: graph, play: taskScene{keys: true}.play, counts: true, pace: aLongWhile},
	}
}

const (
	aWhile     = 60 * time.Millisecond  // longer than an event waits to be written with others
	aLongWhile = 150 * time.Millisecond // longer than the id of a graph's run waits
)

// threadScene is a client of threads and runs. It starts two consecutive runs, follows the first, and starts two more
// to check that the thread is free.
type threadScene struct{}

func (s threadScene) play(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	hooks := newHooks(t)
	d.Sure("POST", "/threads", `{"thread_id":"`+strings.TrimPrefix(rig.CrashThread, "/threads/")+`","if_exists":"do_nothing"}`).OK()
	body := func(more string) string {
		return `{"assistant_id":"agent","stream_mode":["updates","values"],"stream_resumable":true,` + more + rig.SaysHi + `}`
	}
	hook := `"webhook":"` + hooks.url + `",`
	first := d.Keyed(rig.CrashThread+"/runs", body(hook), "first").Text("run_id")
	reader := d.Follow(rig.CrashThread + "/runs/" + first)
	second := d.Keyed(rig.CrashThread+"/runs", body(`"multitask_strategy":"enqueue",`), "second").Text("run_id")
	d.Get(rig.CrashThread + "/runs/" + first + "/join")
	d.Get(rig.CrashThread + "/runs/" + second + "/join")
	d.Keyed(rig.CrashThread+"/runs/wait", body(""), "third")
	d.Keyed(rig.CrashThread+"/runs/wait", body(""), "fourth")
	for key, id := range map[string]string{"first": first, "second": second} {
		more := hook
		if key == "second" {
			more = `"multitask_strategy":"enqueue",`
		}
		if again := d.Keyed(rig.CrashThread+"/runs", body(more), key).Text("run_id"); again != id {
			t.Errorf("the run %s was acknowledged as %s, but is now %s", key, id, again)
		}
	}
	s.checkRuns(t, d, peer)
	<-reader.Done
	whole := d.Follow(rig.CrashThread + "/runs/" + first)
	<-whole.Done
	if diff := cmp.Diff(whole.Frames, reader.Frames); diff != "" || len(whole.Frames) == 0 {
		t.Errorf("read across the death (-whole +pieces):\n%s", diff)
	}
	d.Get("/readyz")
	d.End()
	hooks.check(t, d.Dsn, first)
}

// checkRuns checks that there are four runs, each with one outcome that agrees with the agent's work.
func (s threadScene) checkRuns(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	t.Helper()
	list := d.Get(rig.CrashThread + "/runs").List("")
	if len(list) != 4 {
		t.Errorf("%d runs, want 4", len(list))
	}
	lost := 0
	for _, r := range list {
		id := rig.Dig(r, "run_id").(string)
		joined := d.Get(rig.CrashThread + "/runs/" + id + "/join")
		switch status := rig.Dig(r, "status"); {
		case status == "success":
		case status == "error" && joined.At("__error__.error") == "outcome_unknown":
			lost++
		default:
			t.Errorf("a run is %v: %.300s", status, joined.Body)
		}
	}
	if lost > 1 {
		t.Errorf("%d outcomes are unknown after one death", lost)
	}
	if status := d.Get(rig.CrashThread).Text("status"); status != "idle" && (status != "error" || rig.Dig(list[0], "status") != "error") {
		t.Errorf("the thread is %s", status)
	}
	checkWork(t, peer, 4, lost)
}

// checkWork checks that the agent did the work of the given number of runs, and nothing twice. Runs with an unknown
// outcome may be done in part.
func checkWork(t *testing.T, peer adaptertest.Peer, runs, lost int) {
	t.Helper()
	if a, ok := peer.(*adaptertest.ThreadAgent); ok {
		if a.Work() > runs || a.Work() < runs-lost {
			t.Errorf("the graph executed %d of %d runs, %d of them with an unknown outcome", a.Work(), runs, lost)
		}
		return
	}
	c := peer.(*adaptertest.StepAgent).Counts()
	if c.Creates > runs || c.Creates < runs-lost || c.Steps > 3*runs || c.Steps < 3*(runs-lost) {
		t.Errorf("the agent created %d tasks and did %d steps for %d runs, %d of them with an unknown outcome", c.Creates, c.Steps, runs, lost)
	}
}

// taskScene is a client of tasks and steps, with a second task to check that everything continues.
type taskScene struct{ keys bool }

func (s taskScene) play(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	lost := 0
	for _, name := range []string{"one", "two"} {
		id := d.Keyed("/ap/v1/agent/tasks", `{"input":"hi"}`, name).Text("task_id")
		at := "/ap/v1/agent/tasks/" + id
		steps := s.pull(d, at, name)
		lost += s.checkTask(t, d, at, steps)
		if again := d.Keyed("/ap/v1/agent/tasks", `{"input":"hi"}`, name).Text("task_id"); again != id {
			t.Errorf("the task was acknowledged as %s, but is now %s", id, again)
		}
	}
	if lost > 1 {
		t.Errorf("%d outcomes are unknown after one death", lost)
	}
	checkWork(t, peer, 2, lost)
	d.Get("/readyz")
	d.End()
}

// pull fetches steps until the last one.
func (s taskScene) pull(d *rig.Killable, at, name string) (steps []rig.Answer) {
	for n := 1; len(steps) == 0 || steps[len(steps)-1].At("is_last") != true; n++ {
		if n > 8 {
			d.T.Fatalf("%s does not end", at)
		}
		if s.keys {
			steps = append(steps, d.Keyed(at+"/steps", "", fmt.Sprintf("%s step %d", name, n)))
		} else {
			steps = append(steps, d.Sure("POST", at+"/steps", "").OK())
		}
	}
	return steps
}

// checkTask checks that every step was handed out once. A client without keys may miss one, if the process died after
// recording the hand-out and before writing it.
func (s taskScene) checkTask(t *testing.T, d *rig.Killable, at string, steps []rig.Answer) (lost int) {
	t.Helper()
	var got, listed []string
	for _, st := range steps {
		got = append(got, st.Text("step_id"))
	}
	for _, st := range d.Get(at + "/steps").List("steps") {
		listed = append(listed, rig.Dig(st, "step_id").(string))
	}
	missing := len(listed) - len(got)
	inOrder := slices.IsSortedFunc(got, func(a, b string) int { return slices.Index(listed, a) - slices.Index(listed, b) })
	unique := len(slices.Compact(slices.Clone(got))) == len(got)
	if !inOrder || !unique || missing < 0 || missing > 0 && (s.keys || missing > 1 || !mayLose(d)) {
		t.Errorf("handed out %q, listed %q", got, listed)
	}
	last := steps[len(steps)-1]
	switch code := last.At("additional_output.error.type"); {
	case code == nil && len(listed) == 3:
	case code == "outcome_unknown":
		lost = 1
	default:
		t.Errorf("%d steps, the last one %.300s", len(listed), last.Body)
	}
	return lost
}

// mayLose reports whether the process died between recording a hand-out and writing its first byte.
func mayLose(d *rig.Killable) bool {
	name, _, _ := strings.Cut(d.Point, "#")
	return d.Died && (name == "after commit of store.Tasks.HandOut" || name == "reply begun")
}
