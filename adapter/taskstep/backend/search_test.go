package backend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

var three = []string{`"one"`, `"two"`, `"three"`}

// listing kinds list completed steps. A step that is not listed may still be in progress.
var listing = map[adaptertest.Kind]bool{
	adaptertest.Plain: true, adaptertest.Python: true, adaptertest.Forge: true, adaptertest.AutoGPT: true, adaptertest.Old: true, adaptertest.Bee: true,
}

// TestBrokenStep breaks the connection of the second step's POST. The agent is queried for the result, and nothing runs
// twice.
func TestBrokenStep(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		for fault, able := range map[adaptertest.Fault]bool{
			adaptertest.DieDone:    listing[kind.Family()],
			adaptertest.DieHalfway: listing[kind.Family()],
			adaptertest.DieRunning: listing[kind.Family()] && kind != adaptertest.Bee && kind != adaptertest.Old,
			adaptertest.DieUnheard: false,
		} {
			if fault == adaptertest.DieRunning && (kind == adaptertest.Bee || kind == adaptertest.Old) {
				continue // its lists have no statuses to script
			}
			t.Run(fmt.Sprintf("%s/%s", kind, fault), func(t *testing.T) {
				t.Parallel()
				agent := faulty(kind, fault)
				tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(nil))
				if !able {
					mustFail(t, tr, mapping.CodeOutcomeUnknown)
					if n := len(agent.Inputs()); n != 2 {
						t.Errorf("%d POSTs were sent, want 2", n)
					}
					return
				}
				mustSucceed(t, tr)
				if n := agent.Counts().Steps; n != 3 {
					t.Errorf("%d steps executed, want 3", n)
				}
				if len(tr.Outputs()) != 3 {
					t.Errorf("outputs %v", said(tr))
				}
			})
		}
	}
}

// TestPickUpWithOpenStep lets the process die after POST n was answered and before that was logged.
func TestPickUpWithOpenStep(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		for logged := 1; logged <= 3; logged++ { // the link, then this many steps minus one
			t.Run(fmt.Sprintf("%s/logged%d", kind, logged), func(t *testing.T) {
				t.Parallel()
				agent := adaptertest.NewStepAgent(kind)
				url := adaptertest.Serve(t, agent).URL
				first := runFor(t, backendAt(t, url), adaptertest.NewTask(nil), logged+1)
				task := again(adaptertest.NewTask(nil), first.Events[:logged]) // the last step was never logged
				task.InDoubt = true
				rest := runTask(t, backendAt(t, url), task)
				if !listing[kind.Family()] {
					mustFail(t, rest, mapping.CodeOutcomeUnknown)
					return
				}
				mustSucceed(t, rest)
				if n := agent.Counts().Steps; n != 3 {
					t.Errorf("%d steps executed, want 3", n)
				}
				if got := len(first.Events[:logged]) - 1 + len(rest.Outputs()); got != 3 {
					t.Errorf("%d outputs in all, want 3", got)
				}
			})
		}
	}
}

// TestPickUpBeforeFirstStep lets the process die after the intent was committed and before anything was sent, which
// cannot be distinguished.
func TestPickUpBeforeFirstStep(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		agent := adaptertest.NewStepAgent(kind)
		url := adaptertest.Serve(t, agent).URL
		files := adaptertest.NewFiles(map[string]string{"in/a.txt": "x"})
		first := runFor(t, backendAt(t, url), adaptertest.NewTask(files), 1)
		task := again(adaptertest.NewTask(files), first.Events)
		task.InDoubt = true
		mustFail(t, runTask(t, backendAt(t, url), task), mapping.CodeOutcomeUnknown)
		if c := agent.Counts(); c.Creates != 1 || c.Steps != 0 {
			t.Errorf("%s: %+v", kind, c)
		}
	}
}

// TestBrokenCreate checks that a task whose creation was not answered is found by the run's id. A task that is not
// found may still be created, and is not created again.
func TestBrokenCreate(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		tells := kind != adaptertest.Bee && kind != adaptertest.Old // drop additional_input
		for fault, able := range map[adaptertest.Fault]bool{
			adaptertest.CreateDies: tells,
			adaptertest.CreateCut:  false,
		} {
			t.Run(fmt.Sprintf("%s/%s", kind, fault), func(t *testing.T) {
				t.Parallel()
				agent := adaptertest.NewStepAgent(kind)
				agent.CreateFault = fault
				tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(nil))
				if able {
					mustSucceed(t, tr)
				} else {
					mustFail(t, tr, mapping.CodeOutcomeUnknown)
				}
				if n := len(agent.Creates()); n != 1 {
					t.Errorf("%d POSTs to create a task, want 1", n)
				}
			})
		}
	}
}

// TestPickUpWithOpenCreate finds the run's task among many others, and creates none. Its first step may have been sent,
// too, and is used if it is listed.
func TestPickUpWithOpenCreate(t *testing.T) {
	t.Parallel()
	for _, kind := range []adaptertest.Kind{adaptertest.Plain, adaptertest.Python, adaptertest.JS, adaptertest.Forge} {
		for _, made := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/made=%v", kind, made), func(t *testing.T) {
				t.Parallel()
				agent := adaptertest.NewStepAgent(kind)
				url := adaptertest.Serve(t, agent).URL
				for i := range 130 {
					createElsewhere(t, url, fmt.Sprintf("other-%d", i))
				}
				if made { // the link and the first step
					runFor(t, backendAt(t, url), adaptertest.NewTask(nil), 2)
				}
				before := agent.Counts()
				task := adaptertest.NewTask(nil)
				task.InDoubt = true
				tr := runTask(t, backendAt(t, url), task)
				if made && listing[kind.Family()] {
					mustSucceed(t, tr)
				} else {
					mustFail(t, tr, mapping.CodeOutcomeUnknown)
				}
				if n := agent.Counts().Creates; n != before.Creates {
					t.Errorf("%d tasks made, want %d", n, before.Creates)
				}
			})
		}
	}
}

// TestPickUpWithUnloggedLink lets the process die in its first step, before the agent's task id was logged.
func TestPickUpWithUnloggedLink(t *testing.T) {
	t.Parallel()
	for _, kind := range []adaptertest.Kind{adaptertest.Plain, adaptertest.Python, adaptertest.JS, adaptertest.Forge} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(kind)
			url := adaptertest.Serve(t, agent).URL
			runFor(t, backendAt(t, url), adaptertest.NewTask(nil), 2) // the link and the first step
			task := adaptertest.NewTask(nil)
			task.InDoubt = true
			rest := runTask(t, backendAt(t, url), task)
			if !listing[kind.Family()] {
				mustFail(t, rest, mapping.CodeOutcomeUnknown)
				return
			}
			mustSucceed(t, rest)
			if c := agent.Counts(); len(rest.Outputs()) != 3 || c.Creates != 1 || c.Steps != 3 {
				t.Errorf("%d outputs of %+v, want 3 of one task with 3 steps", len(rest.Outputs()), c)
			}
		})
	}
}

func createElsewhere(t *testing.T, url, runID string) {
	t.Helper()
	body := `{"input":"hi","additional_input":{"apbridge":{"run_id":"` + runID + `"}}}`
	res, err := http.Post(url+"/ap/v1/agent/tasks", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

// TestRetryMakesANewTask checks that a retried run does not use the failed attempt's task.
func TestRetryMakesANewTask(t *testing.T) {
	t.Parallel()
	agent := faulty(adaptertest.Plain, adaptertest.HTML500)
	url := adaptertest.Serve(t, agent).URL
	first := runTask(t, backendAt(t, url), adaptertest.NewTask(nil))
	mustFail(t, first, mapping.CodeUpstreamError)
	started := mapping.Event{Kind: mapping.KindStarted, Head: mapping.Head{Attempt: 2}}
	rest := runTask(t, backendAt(t, url), again(adaptertest.NewTask(nil), append(first.Events, started)))
	mustSucceed(t, rest)
	if diff := cmp.Diff(three, said(rest)); diff != "" {
		t.Error(diff)
	}
	if n := agent.Counts().Creates; n != 2 {
		t.Errorf("%d tasks made, want 2", n)
	}
}

// TestEndNotLogged checks a run whose last step is logged without its end.
func TestEndNotLogged(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.JS)
	url := adaptertest.Serve(t, agent).URL
	whole := runTask(t, backendAt(t, url), adaptertest.NewTask(nil))
	task := again(adaptertest.NewTask(nil), whole.Events[:len(whole.Events)-1])
	task.InDoubt = true
	rest := runTask(t, backendAt(t, url), task)
	mustSucceed(t, rest)
	if len(rest.Events) != 1 || agent.Counts().Steps != 3 {
		t.Errorf("%d events and %d steps, want only the end", len(rest.Events), agent.Counts().Steps)
	}
}

// TestForgotten covers an agent that restarted while the bridge was down.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		for _, open := range []bool{false, true} {
			url := adaptertest.Serve(t, adaptertest.NewStepAgent(kind)).URL
			first := runFor(t, backendAt(t, url), adaptertest.NewTask(nil), 2)
			fresh := adaptertest.Serve(t, adaptertest.NewStepAgent(kind)).URL
			task := again(adaptertest.NewTask(nil), first.Events)
			task.InDoubt = open
			tr := runTask(t, backendAt(t, fresh), task)
			if tr.Code() != mapping.CodeUpstreamLost {
				t.Errorf("%s, open %v: %v", kind, open, tr.Err)
			}
		}
	}
}

// TestNoListIsNoLoss checks that an agent without a list of steps does not count as having forgotten the task. The
// error says that the result of the broken call cannot be queried.
func TestNoListIsNoLoss(t *testing.T) {
	t.Parallel()
	agent := faulty(adaptertest.Python, adaptertest.DieDone)
	url := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/steps") {
			http.NotFound(w, r)
			return
		}
		agent.ServeHTTP(w, r)
	})).URL
	mustFail(t, runTask(t, backendAt(t, url), adaptertest.NewTask(nil)), mapping.CodeOutcomeUnknown)
}

func TestLinkKnowsSteps(t *testing.T) {
	t.Parallel()
	tr := runTask(t, backendOf(t, asking(adaptertest.Plain)), adaptertest.NewTask(nil))
	link := tr.Events[len(tr.Events)-2].Head.Link
	if link == nil || len(link.Steps) != 2 || link.Agent != "agent" || link.TaskID != adaptertest.TaskID {
		raw, _ := json.Marshal(link)
		t.Errorf("link before the question's end: %s", raw)
	}
}

// TestPickUpOfARunAheadOfItsLog checks a run of an older version, which could request a step before the previous one
// was logged. There may therefore have been one more than the agent lists.
func TestPickUpOfARunAheadOfItsLog(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(kind)
			url := adaptertest.Serve(t, agent).URL
			first := runFor(t, backendAt(t, url), adaptertest.NewTask(nil), 2) // the link and the first step
			started := mapping.Event{Kind: mapping.KindStarted}
			if err := json.Unmarshal([]byte(`{"attempt":1,"ahead":true}`), &started.Head); err != nil {
				t.Fatal(err)
			}
			task := again(adaptertest.NewTask(nil), append([]mapping.Event{started}, first.Events[:1]...))
			task.InDoubt = true
			rest := runTask(t, backendAt(t, url), task)
			mustFail(t, rest, mapping.CodeOutcomeUnknown)
			if n := agent.Counts().Steps; n != 1 {
				t.Errorf("%d steps executed, want only the first", n)
			}
		})
	}
}

// TestPickUpAfterMoreThanOneStep checks a log that lacks two steps. At most one call is open, so the machine has failed
// and lost commits, and a third step may be in progress. The two are used, and nothing is requested.
func TestPickUpAfterMoreThanOneStep(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Python)
	url := adaptertest.Serve(t, agent).URL
	first := runFor(t, backendAt(t, url), adaptertest.NewTask(nil), 3) // the link and two steps
	task := again(adaptertest.NewTask(nil), first.Events[:1])
	task.InDoubt = true
	rest := runTask(t, backendAt(t, url), task)
	mustFail(t, rest, mapping.CodeOutcomeUnknown)
	if n := agent.Counts().Steps; n != 2 || len(rest.Outputs()) != 2 {
		t.Errorf("%d steps executed and %d used, want two of each", n, len(rest.Outputs()))
	}
}
