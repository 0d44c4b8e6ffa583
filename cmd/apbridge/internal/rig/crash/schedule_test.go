package crash

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// scheduleChecks names the environment variable with the number of schedules to try.
const scheduleChecks = "APBRIDGE_TEST_SCHEDULES"

// TestSchedules runs random clients, an agent with whims, and restarts at any moment. It checks that a thread has one
// active run, each run ends once, the log only grows, nothing is executed twice, and the state results from the runs.
func TestSchedules(t *testing.T) {
	// Without the variable, the same few schedules run each time, so a new failure is due to a change. With it
	// they are random, unless -rapid.seed is set.
	settings := map[string]string{"rapid.checks": os.Getenv(scheduleChecks), "rapid.nofailfile": "true", "rapid.steps": "24", "rapid.shrinktime": "60s"}
	if settings["rapid.checks"] == "" {
		settings["rapid.checks"], settings["rapid.seed"] = "12", "1"
	}
	for name, value := range settings {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		s := newSchedule(t, r)
		defer s.leave()
		r.Repeat(map[string]func(*rapid.T){
			"": s.look, "run": s.run, "fork": s.fork, "run again": s.again, "cancel": s.cancel, "delete": s.remove, "read": s.read,
			"update": s.update, "task": s.task, "step": s.step, "whim": s.whim, "restart": s.restart, "settle": s.settle,
		})
		s.settle(r)
	})
}

// schedule is a bridge and a model of its clients' knowledge.
type schedule struct {
	t      *testing.T
	b      *rig.Bridge
	agent  *whimsical
	shares bool              // the agent allows concurrent runs
	work   func() (int, int) // tasks or runs created by the agent, and executed steps
	forked bool              // a run began elsewhere than where the last one ended
	runs   []*knownRun
	posted int      // requests for runs, each with a different text
	said   []string // messages of state updates, in their order
	tasks  []*knownTask
}

type knownRun struct {
	id, words, body, key string
	status               string      // last seen
	frames               []rig.Frame // last read
	ended                bool        // frames is all of it
	gone                 bool        // it is not there any more
	deleted              bool        // by its client; later changes stay
	mayGo                bool        // rolled back by another run's request
}

type knownTask struct {
	at    string
	steps []string // ids, as handed out
	over  bool
}

func newSchedule(t *testing.T, r *rapid.T) *schedule {
	s := &schedule{t: t, shares: rapid.Bool().Draw(r, "shares")}
	kind := rapid.SampledFrom([]adaptertest.Kind{adaptertest.Python, adaptertest.JS, adaptertest.Plain, "graph"}).Draw(r, "kind")
	modes := []func(*config.Agent){rig.Free, rig.Whole, rig.Lockstep}
	if kind == "graph" {
		agent := rig.NewMemoryGraph()
		s.agent, s.work = newWhimsical(agent), func() (int, int) { return agent.Work(), 0 }
		modes = modes[:2]
	} else {
		agent := adaptertest.NewStepAgent(kind)
		s.agent, s.work = newWhimsical(agent), func() (int, int) { c := agent.Counts(); return c.Creates, c.Steps }
	}
	s.b = rig.InFront(t, s.agent, rapid.SampledFrom(modes).Draw(r, "mode"), func(a *config.Agent) {
		a.StepTimeout, a.Concurrency, a.AllowConcurrent = 400*time.Millisecond, 4, s.shares
	})
	s.b.Post("/threads", `{"thread_id":"`+rig.CrashThread[9:]+`"}`).OK()
	return s
}

func (s *schedule) leave() {
	s.agent.recover()
	s.b.End()
}

// ask sends a request and fails the test unless the response has one of the statuses.
func (s *schedule) ask(r *rapid.T, statuses []int, method, path, body string, headers ...string) rig.Answer {
	a, err := s.b.Try(s.t.Context(), method, path, body, headers...)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	if !slices.Contains(statuses, a.Status) {
		r.Fatalf("%s %s %s: %d %.500s", method, path, body, a.Status, a.Body)
	}
	return a
}

var (
	fine   = []int{200}
	orBusy = []int{200, 409}
)

func (s *schedule) run(r *rapid.T) { s.order(r, "", orBusy) }

// fork starts a run at a random checkpoint.
func (s *schedule) fork(r *rapid.T) {
	list := s.ask(r, fine, "GET", rig.CrashThread+"/history?limit=1000", "").List("")
	if len(list) == 0 {
		r.Skip("there is no checkpoint")
	}
	at := list[rapid.IntRange(0, len(list)-1).Draw(r, "at")]
	allowed := orBusy
	if slices.ContainsFunc(s.runs, func(k *knownRun) bool { return k.mayGo && !k.gone }) {
		allowed = []int{200, 404, 409} // it may just have gone
	}
	s.order(r, `"checkpoint_id":"`+rig.Dig(at, "checkpoint.checkpoint_id").(string)+`",`, allowed)
}

// order requests a run that starts at the thread's state or elsewhere.
func (s *schedule) order(r *rapid.T, where string, allowed []int) {
	strategies := []string{"reject", "enqueue", "enqueue", "interrupt", "rollback", "concurrent"}
	if !s.shares || where != "" { // a concurrent run begins with the thread's state
		strategies = strategies[:5]
	}
	strategy := rapid.SampledFrom(strategies).Draw(r, "strategy")
	s.posted++
	k := &knownRun{words: fmt.Sprintf("run %d", s.posted)}
	k.body = `{"assistant_id":"agent",` + where + `"multitask_strategy":"` + strategy + `","stream_mode":["updates","values"],"input":{"messages":[{"role":"user","content":"` + k.words + `"}]}}`
	var headers []string
	if rapid.Bool().Draw(r, "key") {
		k.key = k.words
		headers = []string{"Idempotency-Key", k.key}
	}
	a := s.ask(r, allowed, "POST", rig.CrashThread+"/runs", k.body, headers...)
	if a.Status == http.StatusConflict && strategy != "reject" {
		r.Fatalf("%s was refused: %s", strategy, a.Body)
	}
	if a.Status == http.StatusOK {
		k.id, s.forked = a.Text("run_id"), s.forked || where != ""
		s.add(k, strategy)
	}
}

func (s *schedule) add(k *knownRun, strategy string) {
	for _, old := range s.runs {
		old.mayGo = old.mayGo || strategy == "rollback" && !final(old.status)
	}
	s.runs = append(s.runs, k)
}

// again repeats a request with a key and checks that the response names the same run.
func (s *schedule) again(r *rapid.T) {
	if k := s.pick(r, func(k *knownRun) bool { return k.key != "" && !k.gone && !k.mayGo }); k != nil {
		if id := s.ask(r, fine, "POST", rig.CrashThread+"/runs", k.body, "Idempotency-Key", k.key).Text("run_id"); id != k.id {
			r.Fatalf("%s was %s and is now %s", k.key, k.id, id)
		}
	}
}

func (s *schedule) pick(r *rapid.T, of func(*knownRun) bool) *knownRun {
	var list []*knownRun
	for _, k := range s.runs {
		if of(k) {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		r.Skip("there is none")
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(r, "which")]
}

func there(k *knownRun) bool { return !k.gone }

func (s *schedule) cancel(r *rapid.T) {
	k := s.pick(r, there)
	a := s.ask(r, []int{200, 202, 204, 404, 409}, "POST", rig.CrashThread+"/runs/"+k.id+"/cancel?wait=true", "")
	s.see(r, k)
	if a.Status == http.StatusNotFound && !k.gone {
		r.Fatalf("cancel: %s", a.Body)
	}
	if a.Status < 300 && !k.gone && !final(k.status) { // it may have ended before
		r.Fatalf("the cancelled run is %s", k.status)
	}
}

func (s *schedule) remove(r *rapid.T) {
	k := s.pick(r, there)
	a := s.ask(r, []int{200, 204, 404, 409}, "DELETE", rig.CrashThread+"/runs/"+k.id, "")
	if a.Status < 300 {
		k.gone, k.deleted = true, true
	}
	s.see(r, k)
}

func final(status string) bool {
	return status == "success" || status == "error" || status == "timeout" || status == "interrupted"
}

// see checks that a run exists and that its status has only advanced.
func (s *schedule) see(r *rapid.T, k *knownRun) {
	a := s.ask(r, []int{200, 404}, "GET", rig.CrashThread+"/runs/"+k.id, "")
	if a.Status == http.StatusNotFound {
		if !k.gone && !k.mayGo {
			r.Fatalf("%s (%s) no longer exists", k.words, k.id)
		}
		k.gone = true
		return
	}
	if k.gone {
		r.Fatalf("the deleted %s exists again: %s", k.words, a.Body)
	}
	order := []string{"", "pending", "running"}
	now := a.Text("status")
	if final(k.status) && now != k.status || slices.Index(order, now) >= 0 && slices.Index(order, now) < slices.Index(order, k.status) {
		r.Fatalf("%s was %s and is now %s", k.words, k.status, now)
	}
	k.status = now
}

// look is called after every action. It checks that the thread has no two active runs, unless they requested that.
func (s *schedule) look(r *rapid.T) {
	alone := 0
	for _, run := range s.ask(r, fine, "GET", rig.CrashThread+"/runs?status=running", "").List("") {
		if !s.shares || rig.Dig(run, "multitask_strategy") != "concurrent" {
			alone++
		}
	}
	if alone > 1 {
		r.Fatalf("%d runs are running on one thread", alone)
	}
}

// read reads a run from its start up to a random event, and from there.
func (s *schedule) read(r *rapid.T) {
	k := s.pick(r, there)
	s.see(r, k)
	if k.gone || k.mayGo || !final(k.status) { // removing a run breaks off its readers
		return
	}
	s.replay(r, k)
	if len(k.frames) == 0 {
		return
	}
	cut := rapid.IntRange(0, len(k.frames)-1).Draw(r, "cut")
	_, rest := s.stream(r, k, k.frames[cut].ID)
	if diff := cmp.Diff(k.frames[cut+1:], rest); diff != "" && len(k.frames[cut+1:])+len(rest) > 0 {
		r.Fatalf("resumed after %s (-want +got):\n%s", k.frames[cut].ID, diff)
	}
}

// stream reads the events after an id. A broken stream is resumed from there, a limited number of times.
func (s *schedule) stream(r *rapid.T, k *knownRun, after string) (rig.Answer, []rig.Frame) {
	for try := 1; ; try++ {
		res, frames, err := s.b.TryStream("GET", rig.CrashThread+"/runs/"+k.id+"/stream", "", 0, "Last-Event-ID", after)
		if err == nil {
			return res, frames
		}
		if try == 5 {
			r.Fatalf("%s: the stream after %s broke %d times, the last time after %d frames: %v", k.words, after, try, len(frames), err)
		}
	}
}

// replay reads an ended run completely and compares it with the events read before.
func (s *schedule) replay(r *rapid.T, k *knownRun) {
	res, all := s.stream(r, k, "-1")
	if res.Status == http.StatusNotFound && k.mayGo {
		k.gone = true
		return
	}
	if k.ended {
		if diff := cmp.Diff(k.frames, all); diff != "" {
			r.Fatalf("the stream of %s has changed (-before +after):\n%s", k.words, diff)
		}
	}
	for i := 1; i < len(all); i++ {
		if !before(all[i-1].ID, all[i].ID) {
			r.Fatalf("frame %s follows frame %s", all[i].ID, all[i-1].ID)
		}
	}
	k.frames, k.ended = all, true
}

// before compares two event ids, SEQ.K.
func before(a, b string) bool {
	var as, ak, bs, bk int64
	_, _ = fmt.Sscanf(a, "%d.%d", &as, &ak)
	_, _ = fmt.Sscanf(b, "%d.%d", &bs, &bk)
	return as < bs || as == bs && ak < bk
}

func (s *schedule) update(r *rapid.T) {
	words := fmt.Sprintf("update %d", len(s.said)+1)
	a := s.ask(r, orBusy, "POST", rig.CrashThread+"/state", `{"values":{"messages":[{"role":"user","content":"`+words+`"}]}}`)
	if a.Status == http.StatusOK {
		s.said = append(s.said, words)
	}
}

func (s *schedule) task(r *rapid.T) {
	id := s.ask(r, fine, "POST", "/ap/v1/agent/tasks", `{"input":"hi"}`).Text("task_id")
	s.tasks = append(s.tasks, &knownTask{at: "/ap/v1/agent/tasks/" + id})
}

// step fetches a step: the next one, or the last one again.
func (s *schedule) step(r *rapid.T) {
	if len(s.tasks) == 0 {
		r.Skip("there is no task")
	}
	k := s.tasks[rapid.IntRange(0, len(s.tasks)-1).Draw(r, "task")]
	a := s.ask(r, fine, "POST", k.at+"/steps", "")
	id, last := a.Text("step_id"), a.At("is_last") == true
	switch {
	case k.over && (id != k.steps[len(k.steps)-1] || !last):
		r.Fatalf("after the last step %q: %s", k.steps, a.Body)
	case !k.over && slices.Contains(k.steps, id):
		r.Fatalf("handed out again after %q: %s", k.steps, a.Body)
	case !k.over:
		k.steps, k.over = append(k.steps, id), last
	}
	var listed []string
	for _, st := range s.ask(r, fine, "GET", k.at+"/steps", "").List("steps") {
		listed = append(listed, rig.Dig(st, "step_id").(string))
	}
	if n := len(k.steps); len(listed) < n || !slices.Equal(listed[:n], k.steps) {
		r.Fatalf("handed out %q, listed %q", k.steps, listed)
	}
}

func (s *schedule) whim(r *rapid.T) {
	s.agent.expect(rapid.SliceOfN(rapid.SampledFrom([]whim{well, well, unheard, unsaid, garbage, broken, silent, thinking}), 1, 4).Draw(r, "whims")...)
}

// restart kills or stops the process.
func (s *schedule) restart(r *rapid.T) {
	if rapid.Bool().Draw(r, "killed") {
		s.b.Kill()
	} else {
		s.b.End()
	}
	s.b = s.b.Again()
}

// settle waits until everything has ended and compares the state with the work of the runs.
func (s *schedule) settle(r *rapid.T) {
	s.agent.recover()
	for late := time.Now().Add(adaptertest.Patience); ; {
		active := s.ask(r, fine, "GET", rig.CrashThread+"/runs?limit=1000&status=running", "").List("")
		active = append(active, s.ask(r, fine, "GET", rig.CrashThread+"/runs?limit=1000&status=pending", "").List("")...)
		if len(active) == 0 {
			break
		}
		if time.Now().After(late) {
			r.Fatalf("still active: %v", active)
		}
		for _, a := range active {
			s.ask(r, []int{200, 404}, "GET", rig.CrashThread+"/runs/"+rig.Dig(a, "run_id").(string)+"/join", "")
		}
	}
	for _, k := range s.runs {
		if s.see(r, k); !k.gone {
			s.replay(r, k)
		}
	}
	if status := s.ask(r, fine, "GET", rig.CrashThread, "").Text("status"); status == "busy" {
		r.Fatal("the thread is busy, and nothing runs")
	}
	s.compare(r)
	s.checkHistory(r)
	s.checkWork(r)
}
