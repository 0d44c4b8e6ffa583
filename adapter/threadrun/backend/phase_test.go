package backend

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// walk runs tasks in sequence and returns the phases of the last run. Each task is derived from the events of the
// previous run.
func walk(t *testing.T, h http.Handler, tasks ...func(adaptertest.Trace) adapter.Assignment) (list []string) {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	up := adaptertest.Upstream(adaptertest.Serve(t, h).URL)
	up.Log = zap.New(core)
	b, err := quick(up)
	if err != nil {
		t.Fatal(err)
	}
	var tr adaptertest.Trace
	for _, task := range tasks {
		logs.TakeAll()
		tr = adaptertest.Collect(within(t), b, task(tr), 0)
	}
	list = []string{locating.String()}
	for _, entry := range logs.TakeAll() {
		if from := entry.ContextMap()["from"]; from != list[len(list)-1] {
			t.Fatalf("the run left phase %v after %v", from, list)
		}
		list = append(list, entry.ContextMap()["to"].(string))
	}
	return list
}

func first(adaptertest.Trace) adapter.Assignment { return adaptertest.NewTask(nil) }

// stepwise returns a lockstep run at its first or next step.
func stepwise(before adaptertest.Trace) adapter.Assignment {
	task := adaptertest.NewTask(nil)
	task.OneStep = true
	if n := len(before.Events); n > 0 {
		task.After, task.Link = before.Events[:n-1], linkOf(before)
	}
	return task
}

// again returns a run whose process died after it had sent the request.
func again(before adaptertest.Trace) adapter.Assignment {
	task := adaptertest.NewTask(nil)
	task.InDoubt, task.After, task.Link = true, before.Events, linkOf(before)
	return task
}

// follow returns another run on a thread. Both sides agree on the state unless the run is forked.
func follow(agreed bool) func(adaptertest.Trace) adapter.Assignment {
	return func(before adaptertest.Trace) adapter.Assignment {
		task := then(before, "again")
		task.State, _ = state.NewFold(json.RawMessage(`{"messages":[{"id":"h1","type":"human","content":"hi"}]}`))
		if !agreed {
			task.Link.RemoteCheckpoint, task.Link.RemoteMark = "", ""
		}
		return task
	}
}

// forgetful deletes the agent's threads after the first run.
type forgetful struct {
	*adaptertest.ThreadAgent
	once sync.Once
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.Work() == 1 {
		f.once.Do(f.Drop)
	}
	f.ThreadAgent.ServeHTTP(w, r)
}

type walked struct {
	name  string
	agent http.Handler
	tasks []func(adaptertest.Trace) adapter.Assignment
	want  string
}

func played(change func(*adaptertest.ThreadPlay)) *adaptertest.ThreadAgent {
	p := adaptertest.ChatPlay()
	change(&p)
	return playing(p)
}

func canned(a *adaptertest.ThreadAgent, route string, c adaptertest.Canned) *adaptertest.ThreadAgent {
	a.Canned = map[string]*adaptertest.Canned{route: &c}
	return a
}

// nameless removes the id of the created run from all responses.
type nameless struct{ http.Handler }

func (n nameless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.Handler.ServeHTTP(unnamed{w}, r)
}

type unnamed struct{ http.ResponseWriter }

func (u unnamed) Flush() {
	u.Header().Del("Content-Location")
	_ = http.NewResponseController(u.ResponseWriter).Flush()
}

const hello = "locating, picking up, preparing, starting, "

func graphRoutes() []walked {
	separate := playing(adaptertest.ChatPlay())
	separate.NoCreate = true
	empty := adaptertest.StepPlays()[0]
	empty.Frames = []string{empty.Frames[0], empty.Frames[3]}
	silent := adaptertest.FailPlay()
	silent.Frames = silent.Frames[:4]
	lost := adaptertest.StepPlays()
	lost[1].LoseAnswer = true
	tasks := func(list ...func(adaptertest.Trace) adapter.Assignment) []func(adaptertest.Trace) adapter.Assignment {
		return list
	}
	return []walked{
		{"the stream tells the end", playing(adaptertest.ChatPlay()), tasks(first), hello + "reading, ended"},
		{"the state tells the end", playing(adaptertest.AskPlay()), tasks(first), hello + "reading, asking, ended"},
		{"the agent fails", playing(adaptertest.FailPlay()), tasks(first), hello + "reading, asking, failing"},
		{"the agent fails, and names no run", nameless{playing(adaptertest.ThreadPlay{Frames: adaptertest.FailPlay().Frames[4:], Status: "error"})}, tasks(first), hello + "reading, failing"},
		{"an attempt fails", canned(retrying(true), routeRun, adaptertest.Canned{Status: 200, Type: "application/json", Body: `{"status":"pending"}`, Times: 1}), tasks(first),
			hello + "reading, asking, rejoining, reading, asking, ended"},
		{"an attempt fails, and the run is forgotten", &adaptertest.ThreadAgent{Plays: retrying(true).Plays, Canned: map[string]*adaptertest.Canned{
			routeRun: {Status: 200, Type: "application/json", Body: `{"status":"pending"}`}, routeJoin: {Status: 404, Type: "text/plain", Body: "Run not found"},
		}}, tasks(first), hello + "reading, asking, rejoining, failing"},
		{"the agent fails without a word", playing(silent), tasks(first), hello + "reading, rejoining, reading, asking, failing"},
		{"the stream breaks", played(func(p *adaptertest.ThreadPlay) { p.CutAfter = []int{3} }), tasks(first), hello + "reading, rejoining, reading, asking, ended"},
		{"the stream breaks, and has no ids", played(func(p *adaptertest.ThreadPlay) { p.CutAfter, p.NoIDs = []int{8}, true }), tasks(first), hello + "reading, rejoining, asking, ended"},
		{"the way back breaks", canned(played(func(p *adaptertest.ThreadPlay) { p.CutAfter = []int{3} }), routeJoin, adaptertest.Canned{Status: 500, Times: 1}), tasks(first),
			hello + "reading, rejoining, rejoining, reading, asking, ended"},
		{"the state cannot be read at once", canned(playing(adaptertest.AskPlay()), routeState, adaptertest.Canned{Status: 500, Times: 1}), tasks(first),
			hello + "reading, asking, rejoining, reading, asking, ended"},
		{"the answer is lost", played(func(p *adaptertest.ThreadPlay) { p.LoseAnswer = true }), tasks(first), hello + "rejoining, reading, asking, ended"},
		{"the server wants the thread first", separate, tasks(first), hello + "making, starting, reading, ended"},
		{"the thread is lost before it is read", &forgetful{ThreadAgent: playing(adaptertest.ChatPlay())}, tasks(first, follow(true)),
			"locating, picking up, preparing, replacing, starting, reading, ended"},
		{"the thread is lost when the run is sent", &forgetful{ThreadAgent: playing(adaptertest.ChatPlay())}, tasks(first, follow(false)),
			hello + "replacing, starting, reading, ended"},
		{"the process died", playing(adaptertest.ChatPlay()), tasks(first, again), "locating, picking up, rejoining, reading, asking, ended"},
		{"a further step", playing(adaptertest.StepPlays()...), tasks(stepwise, stepwise), "locating, picking up, continuing, reading, asking, ended"},
		{"a further step whose answer is lost", playing(lost...), tasks(stepwise, stepwise),
			"locating, picking up, continuing, rejoining, reading, asking, ended"},
		{"a step without output", playing(empty, adaptertest.StepPlays()[1]), tasks(stepwise), hello + "reading, asking, continuing, reading, asking, ended"},
	}
}

func plainRoutes() []walked {
	tasks := func(list ...func(adaptertest.Trace) adapter.Assignment) []func(adaptertest.Trace) adapter.Assignment {
		return list
	}
	lost := func() http.Handler {
		a := &plainAgent{stream: plainStream, status: "success"}
		return &lateGateway{agent: a, starts: "/runs/stream"}
	}
	return []walked{
		{"a stream", &plainAgent{stream: plainStream, status: "success"}, tasks(first), hello + "reading, waiting, ended"},
		{"no streams", &plainAgent{status: "success"}, tasks(first), hello + "ended"},
		{"the answer is lost", lost(), tasks(first), hello + "searching, waiting, ended"},
		{"the process died", &plainAgent{stream: plainStream, status: "success"}, tasks(first, again), "locating, picking up, waiting, ended"},
		{"nothing was logged of the request", lost(), tasks(first, func(adaptertest.Trace) adapter.Assignment { return again(adaptertest.Trace{}) }),
			"locating, picking up, searching, waiting, ended"},
	}
}

// TestPhases checks the phases of runs, and that these runs cover every transition in the tables.
func TestPhases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		table  phases
		routes []walked
	}{{"graph", graphPhases, graphRoutes()}, {"plain", plainPhases, plainRoutes()}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			passed := map[string]bool{}
			for _, r := range c.routes {
				got := walk(t, r.agent, r.tasks...)
				if diff := cmp.Diff(r.want, strings.Join(got, ", ")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", r.name, diff)
				}
				for i := range len(got) - 1 {
					passed[got[i]+" → "+got[i+1]] = true
				}
			}
			for from, list := range c.table {
				for _, to := range list {
					if !passed[from.String()+" → "+to.String()] {
						t.Errorf("no run goes from %s to %s", from, to)
					}
				}
			}
		})
	}
}

// TestPhasesOutOfOrder checks that a transition that is not in the table ends the run with an internal error.
func TestPhasesOutOfOrder(t *testing.T) {
	t.Parallel()
	b := scripted(t, playing(adaptertest.ChatPlay())).(*backend)
	task := adaptertest.NewTask(nil)
	s := newRunDriver(within(t), b, &task, func(mapping.Event, error) bool { return true })
	defer s.close()
	err := s.move(starting)
	if mapping.Classify(err).Class != mapping.Internal || s.phase != locating {
		t.Errorf("error %v, phase %s", err, s.phase)
	}
}
