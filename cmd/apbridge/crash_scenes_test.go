package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/google/go-cmp/cmp"
)

// scene is what clients do with a bridge that may die at any moment, and what
// they must see.
type scene struct {
	name    string
	peer    func() adaptertest.Peer
	environ []string
	spared  int
	deletes bool          // events, by rolling runs back or by retention
	pace    time.Duration // how long a step of the agent takes; 0: no time at all
	counts  bool          // one run after the other, so that what is open can be counted
	play    func(t *testing.T, d *doomed, peer adaptertest.Peer)
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
		{name: "threads before a graph", peer: graph, play: threadScene{}.play},
		{name: "tasks in lockstep, with keys", peer: steps(adaptertest.Python), environ: pulled("lockstep"), play: taskScene{keys: true}.play, counts: true},
		{name: "tasks in lockstep, without keys", peer: steps(adaptertest.Python), environ: pulled("lockstep"), play: taskScene{}.play, counts: true},
		{name: "tasks before steps that are not listed", peer: steps(adaptertest.JS), environ: pulled("lockstep"), play: taskScene{keys: true}.play, counts: true},
		{name: "tasks before a graph", peer: graph, play: taskScene{keys: true}.play},
		{name: "threads before slow steps", peer: steps(adaptertest.Python), play: threadScene{}.play, counts: true, pace: 60 * time.Millisecond},
	}
}

// threadScene is a client of threads and runs: two runs one after the other, the
// first of which is followed, and two more to see that the thread is free.
type threadScene struct{}

const crashThread = "/threads/11111111-2222-4333-8444-555555555555"

func (s threadScene) play(t *testing.T, d *doomed, peer adaptertest.Peer) {
	hooks := newHooks(t)
	d.sure("POST", "/threads", `{"thread_id":"`+strings.TrimPrefix(crashThread, "/threads/")+`","if_exists":"do_nothing"}`).ok()
	body := func(more string) string {
		return `{"assistant_id":"agent","stream_mode":["updates","values"],"stream_resumable":true,` + more + saysHi + `}`
	}
	hook := `"webhook":"` + hooks.url + `",`
	first := d.keyed(crashThread+"/runs", body(hook), "first").text("run_id")
	reader := d.follow(crashThread + "/runs/" + first)
	second := d.keyed(crashThread+"/runs", body(`"multitask_strategy":"enqueue",`), "second").text("run_id")
	d.get(crashThread + "/runs/" + first + "/join")
	d.get(crashThread + "/runs/" + second + "/join")
	d.keyed(crashThread+"/runs/wait", body(""), "third")
	d.keyed(crashThread+"/runs/wait", body(""), "fourth")
	for key, id := range map[string]string{"first": first, "second": second} {
		more := hook
		if key == "second" {
			more = `"multitask_strategy":"enqueue",`
		}
		if again := d.keyed(crashThread+"/runs", body(more), key).text("run_id"); again != id {
			t.Errorf("the run %s was acknowledged as %s, and is %s now", key, id, again)
		}
	}
	s.checkRuns(t, d, peer)
	<-reader.done
	whole := d.follow(crashThread + "/runs/" + first)
	<-whole.done
	if diff := cmp.Diff(whole.frames, reader.frames, cmp.AllowUnexported(frame{})); diff != "" || len(whole.frames) == 0 {
		t.Errorf("read across the death (-whole +pieces):\n%s", diff)
	}
	d.get("/readyz")
	d.end()
	hooks.check(t, d.dsn, first)
}

// checkRuns: four runs, each with one outcome that fits what its agent did.
func (s threadScene) checkRuns(t *testing.T, d *doomed, peer adaptertest.Peer) {
	t.Helper()
	list := d.get(crashThread + "/runs").list("")
	if len(list) != 4 {
		t.Errorf("%d runs, want 4", len(list))
	}
	lost := 0
	for _, r := range list {
		id := dig(r, "run_id").(string)
		joined := d.get(crashThread + "/runs/" + id + "/join")
		switch status := dig(r, "status"); {
		case status == "success":
		case status == "error" && joined.at("__error__.error") == "outcome_unknown":
			lost++
		default:
			t.Errorf("a run is %v: %.300s", status, joined.body)
		}
	}
	if lost > 1 {
		t.Errorf("%d outcomes are unknown after one death", lost)
	}
	if status := d.get(crashThread).text("status"); status != "idle" && (status != "error" || dig(list[0], "status") != "error") {
		t.Errorf("the thread is %s", status)
	}
	checkWork(t, peer, 4, lost)
}

// checkWork: the agent did the work of so many runs, and nothing twice. Of those with
// an unknown outcome nobody can say how much.
func checkWork(t *testing.T, peer adaptertest.Peer, runs, lost int) {
	t.Helper()
	if a, ok := peer.(*adaptertest.ThreadAgent); ok {
		if a.Work() > runs || a.Work() < runs-lost {
			t.Errorf("the graph made %d runs of %d, %d of them with unknown outcome", a.Work(), runs, lost)
		}
		return
	}
	c := peer.(*adaptertest.StepAgent).Counts()
	if c.Creates > runs || c.Creates < runs-lost || c.Steps > 3*runs || c.Steps < 3*(runs-lost) {
		t.Errorf("the agent made %d tasks and did %d steps for %d runs, %d of them with unknown outcome", c.Creates, c.Steps, runs, lost)
	}
}

// taskScene is a client of tasks and steps, and a second task to see that
// everything goes on.
type taskScene struct{ keys bool }

func (s taskScene) play(t *testing.T, d *doomed, peer adaptertest.Peer) {
	lost := 0
	for _, name := range []string{"one", "two"} {
		id := d.keyed("/ap/v1/agent/tasks", `{"input":"hi"}`, name).text("task_id")
		at := "/ap/v1/agent/tasks/" + id
		steps := s.pull(d, at, name)
		lost += s.checkTask(t, d, at, steps)
		if again := d.keyed("/ap/v1/agent/tasks", `{"input":"hi"}`, name).text("task_id"); again != id {
			t.Errorf("the task was acknowledged as %s, and is %s now", id, again)
		}
	}
	if lost > 1 {
		t.Errorf("%d outcomes are unknown after one death", lost)
	}
	checkWork(t, peer, 2, lost)
	d.get("/readyz")
	d.end()
}

// pull fetches steps until the last one.
func (s taskScene) pull(d *doomed, at, name string) (steps []answer) {
	for n := 1; len(steps) == 0 || steps[len(steps)-1].at("is_last") != true; n++ {
		if n > 8 {
			d.t.Fatalf("%s does not come to an end", at)
		}
		if s.keys {
			steps = append(steps, d.keyed(at+"/steps", "", fmt.Sprintf("%s step %d", name, n)))
		} else {
			steps = append(steps, d.sure("POST", at+"/steps", "").ok())
		}
	}
	return steps
}

// checkTask: every step was handed out once. One may be missing to a client without
// keys: the process died when it had noted the hand-out and not written it.
func (s taskScene) checkTask(t *testing.T, d *doomed, at string, steps []answer) (lost int) {
	t.Helper()
	var got, listed []string
	for _, st := range steps {
		got = append(got, st.text("step_id"))
	}
	for _, st := range d.get(at + "/steps").list("steps") {
		listed = append(listed, dig(st, "step_id").(string))
	}
	missing := len(listed) - len(got)
	inOrder := slices.IsSortedFunc(got, func(a, b string) int { return slices.Index(listed, a) - slices.Index(listed, b) })
	unique := len(slices.Compact(slices.Clone(got))) == len(got)
	if !inOrder || !unique || missing < 0 || missing > 0 && (s.keys || missing > 1 || !d.mayLose()) {
		t.Errorf("handed out %q of %q", got, listed)
	}
	last := steps[len(steps)-1]
	switch code := last.at("additional_output.error.type"); {
	case code == nil && len(listed) == 3:
	case code == "outcome_unknown":
		lost = 1
	default:
		t.Errorf("%d steps, the last one %.300s", len(listed), last.body)
	}
	return lost
}

// mayLose: death came between a hand-out's being noted and its first byte.
func (d *doomed) mayLose() bool {
	name, _, _ := strings.Cut(d.point, "#")
	return d.died && (name == "after commit of Store.HandOut" || name == "reply begun")
}
