package backend

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// leg is one call of Run, for a number of events or to the end, with a task derived from the previous leg's events.
type leg struct {
	events int // 0 means all
	task   func(before []mapping.Event) adapter.Assignment
}

// walk makes the calls one after the other, each in a new process, and returns the phases of the last one.
func walk(t *testing.T, h http.Handler, legs ...leg) []string {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	up := adaptertest.Upstream(adaptertest.Serve(t, h).URL)
	up.Log = zap.New(core)
	var tr adaptertest.Trace
	for _, l := range legs {
		logs.TakeAll()
		tr = adaptertest.Collect(t.Context(), backendWith(t, up), l.task(tr.Events), l.events)
	}
	list := []string{recalling.String()}
	for _, entry := range logs.FilterFieldKey("to").TakeAll() {
		if from := entry.ContextMap()["from"]; from != list[len(list)-1] {
			t.Fatalf("it left %v behind %v", from, list)
		}
		list = append(list, entry.ContextMap()["to"].(string))
	}
	return list
}

func whole([]mapping.Event) adapter.Assignment { return adaptertest.NewTask(nil) }

// oneStep returns a lockstep run at its first or its next step.
func oneStep(before []mapping.Event) adapter.Assignment {
	task := adaptertest.NewTask(nil)
	if len(before) > 0 {
		task = again(task, before[:len(before)-1])
	}
	task.OneStep = true
	return task
}

// afterDeath returns a run of which so many events were logged when its process died.
func afterDeath(logged int) func([]mapping.Event) adapter.Assignment {
	return func(before []mapping.Event) adapter.Assignment {
		task := again(adaptertest.NewTask(nil), before[:logged])
		task.InDoubt = true
		return task
	}
}

// answering returns the run with the answer to a question.
func answering(before []mapping.Event) adapter.Assignment {
	task := adaptertest.NewTask(nil)
	task.Resume, task.Task.Answer = true, rule.Answer{Text: "blue"}
	task.Link, task.Done = *before[len(before)-2].Head.Link, 2
	return task
}

// unprofiled returns a task whose links lack the location of the agent's routes.
func unprofiled(task func([]mapping.Event) adapter.Assignment) func([]mapping.Event) adapter.Assignment {
	return func(before []mapping.Event) adapter.Assignment {
		made := task(before)
		made.Link.Profile = ""
		made.After = slices.Clone(made.After)
		for i, ev := range made.After {
			if ev.Head.Link != nil {
				link := *ev.Head.Link
				link.Profile = ""
				made.After[i].Head.Link = &link
			}
		}
		return made
	}
}

// TestPhases checks the phases of runs, and that these runs use every transition of the table.
func TestPhases(t *testing.T) {
	t.Parallel()
	const begin, step = "recalling, locating, creating, linking, uploading", ", stepping, delivering"
	agent := func() *adaptertest.StepAgent { return adaptertest.NewStepAgent(adaptertest.Python) }
	lostTask := agent()
	lostTask.CreateFault = adaptertest.CreateDies
	passed := map[string]bool{}
	for _, c := range []struct {
		name  string
		agent http.Handler
		legs  []leg
		want  string
	}{
		{"a run", agent(), []leg{{0, whole}}, begin + step + step + step + ", ended"},
		{"one step", agent(), []leg{{0, oneStep}}, begin + step + ", ended"},
		{"the next step", agent(), []leg{{0, oneStep}, {0, oneStep}}, "recalling, uploading" + step + ", ended"},
		{"the next step, the routes unknown", agent(), []leg{{0, oneStep}, {0, unprofiled(oneStep)}}, "recalling, locating, uploading" + step + ", ended"},
		{"the answer of the creation is lost", lostTask, []leg{{0, whole}}, "recalling, locating, creating, finding task, linking, uploading" + step + step + step + ", ended"},
		{"the answer of a step is lost", faulty(adaptertest.Python, adaptertest.DieDone), []leg{{0, whole}},
			begin + step + ", stepping, searching, delivering" + step + ", ended"},
		{"a gateway answers for the creation", gateway(adaptertest.Python, theCreation), []leg{{0, whole}},
			"recalling, locating, creating, finding task, linking, uploading" + step + step + step + ", ended"},
		{"a gateway answers for a step", gateway(adaptertest.Python, aStep), []leg{{0, whole}}, begin + step + ", stepping, searching, delivering" + step + ", ended"},
		{"an answer", asking(adaptertest.Python), []leg{{0, whole}, {0, answering}}, "recalling, linking, uploading" + step + ", ended"},
		{"an answer, the routes unknown", asking(adaptertest.Python), []leg{{0, whole}, {0, unprofiled(answering)}}, "recalling, locating, linking, uploading" + step + ", ended"},
		{"a death in the first step", agent(), []leg{{2, whole}, {0, afterDeath(1)}}, "recalling, reconciling, uploading, delivering" + step + step + ", ended"},
		{"a death in the first step, the routes unknown", agent(), []leg{{2, whole}, {0, unprofiled(afterDeath(1))}},
			"recalling, locating, reconciling, uploading, delivering" + step + step + ", ended"},
		{"a death before the link was logged", agent(), []leg{{2, whole}, {0, afterDeath(0)}},
			"recalling, locating, finding task, linking, reconciling, uploading, delivering" + step + step + ", ended"},
		{"a death that took two steps along", agent(), []leg{{3, whole}, {0, afterDeath(1)}}, "recalling, reconciling, uploading, delivering, delivering, ambiguous"},
		{"a death before the end was logged", agent(), []leg{{0, whole}, {0, afterDeath(4)}}, "recalling, ended"},
	} {
		got := walk(t, c.agent, c.legs...)
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for i := range len(got) - 1 {
			passed[got[i]+" → "+got[i+1]] = true
		}
	}
	for from, list := range phases {
		for _, to := range list {
			if !passed[from.String()+" → "+to.String()] {
				t.Errorf("no run changes from %s to %s", from, to)
			}
		}
	}
}

// TestPhasesOutOfOrder checks that a transition outside of the table ends the run as an internal error.
func TestPhasesOutOfOrder(t *testing.T) {
	t.Parallel()
	b := backendOf(t, adaptertest.NewStepAgent(adaptertest.Plain)).(*backend)
	task := adaptertest.NewTask(nil)
	d := newRunDriver(t.Context(), b, &task)
	d.yield = func(mapping.Event, error) bool { return true }
	err := d.move(stepping)
	if mapping.Classify(err).Class != mapping.Internal || d.phase != recalling {
		t.Errorf("error %v, phase %s", err, d.phase)
	}
}
