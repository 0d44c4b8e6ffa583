package backend

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// Behaviour of single servers, beyond the suite for all kinds.

// The server's only step does all the work (gpt-engineer).
func TestOneStepServer(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Python)
	agent.Script = []adaptertest.ScriptStep{{Output: `"all of it"`, Files: [][2]string{{"main.py", "print(1)"}}, Last: true}}
	files := adaptertest.NewFiles(nil)
	tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(files))
	mustSucceed(t, tr)
	if got, ok := files.Content("main.py"); !ok || got != "print(1)" || agent.Work() != 1 {
		t.Errorf("the file is %q after %d steps", got, agent.Work())
	}
}

// smol developer fails at a task without input. The run reports that and ends.
func TestEmptyInputAndBrokenAgentDiffer(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Smol)
	task := adaptertest.NewTask(nil)
	task.Task.Prompt, task.Input.Text = "", ""
	tr := runTask(t, backendOf(t, agent), task)
	mustFail(t, tr, mapping.CodeUpstreamError)
	if m := mapping.Classify(tr.Err).Message; !strings.Contains(m, "no input") || len(agent.Creates()) != 1 {
		t.Errorf("%q after %d tasks", m, len(agent.Creates()))
	}
}

// evo.ninja writes its outputs as JSON within a string, which is kept. Each write of a file is a new artifact; only the
// last one counts.
func TestEvo(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Evo)
	agent.Script[0].Files = [][2]string{{"out/result.txt", "41"}}
	files := adaptertest.NewFiles(nil)
	tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(files))
	mustSucceed(t, tr)
	if diff := cmp.Diff([]string{`"\"one\""`, `"\"two\""`, `"\"three\""`}, said(tr)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if got, _ := files.Content("out/result.txt"); got != "42" || files.Saves() != 2 {
		t.Errorf("the file is %q after %d writes, want 42 after one a step", got, files.Saves())
	}
}

// Every kind of server that never ends is stopped by max_steps, and by a repeated error.
func TestNoKindRunsForever(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		for output, want := range map[string]struct {
			code  string
			steps int
		}{`"more"`: {mapping.CodeStepLimit, 5}, `"Error: no model"`: {mapping.CodeUpstreamError, repeatLimit}} {
			agent := adaptertest.NewStepAgent(kind)
			agent.Script = []adaptertest.ScriptStep{{Output: output, Repeat: true}}
			if kind == adaptertest.Bee && want.code == mapping.CodeUpstreamError {
				continue // its outputs are objects; max_steps stops it
			}
			task := adaptertest.NewTask(nil)
			task.Run.Options.MaxSteps = 5
			tr := runTask(t, backendOf(t, agent), task)
			if tr.Code() != want.code || agent.Work() != want.steps {
				t.Errorf("%s, %s: %v after %d steps, want %s after %d", kind, output, tr.Err, agent.Work(), want.code, want.steps)
			}
		}
	}
}

// lying replaces an agent's answers to a list.
func lying(agent http.Handler, list string, serve func(w http.ResponseWriter, r *http.Request)) (h http.Handler, asked *atomic.Int64) {
	asked = &atomic.Int64{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, list) {
			asked.Add(1)
			serve(w, r)
			return
		}
		agent.ServeHTTP(w, r)
	}), asked
}

// After a broken POST the steps are listed. Regardless of the list, the run ends, nothing is done twice, and no other
// step is mistaken for this one.
func TestListsOfStepsThatLie(t *testing.T) {
	t.Parallel()
	stepOf := func(id string) string {
		return `{"task_id":"00000000-aaaa-4000-8000-000000000001","step_id":"` + id + `","status":"completed","output":"one","artifacts":[],"is_last":false}`
	}
	const first = "00000000-bbbb-4000-8000-000000000001"
	for name, serve := range map[string]func(w http.ResponseWriter, r *http.Request){
		"the first page for ever": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"steps":[%s],"pagination":{"total_items":1000,"total_pages":100,"current_page":1}}`, stepOf(first))
		},
		"pages without end": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"steps":[],"pagination":{"total_items":1000000,"total_pages":100000,"current_page":1}}`)
		},
		"ids, and the first step whatever is asked for": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/steps") {
				fmt.Fprintf(w, `["%s","00000000-bbbb-4000-8000-000000000002"]`, first)
				return
			}
			fmt.Fprint(w, stepOf(first))
		},
		"ids, and another step whatever is asked for": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/steps") {
				fmt.Fprintf(w, `["%s","00000000-bbbb-4000-8000-000000000002"]`, first)
				return
			}
			fmt.Fprint(w, stepOf("00000000-bbbb-4000-8000-000000000009"))
		},
		"ids of nothing": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/steps") {
				fmt.Fprint(w, `["a","b","c"]`)
				return
			}
			w.WriteHeader(http.StatusNotFound)
		},
		"no list": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"message":"hello"}`) },
		"HTML":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := faulty(adaptertest.Plain, adaptertest.DieDone)
			h, asked := lying(agent, "/steps", serve)
			tr := runTask(t, backendAt(t, adaptertest.Serve(t, h).URL), adaptertest.NewTask(nil))
			if tr.Code() != mapping.CodeOutcomeUnknown || agent.Work() != 2 || len(tr.Outputs()) != 1 {
				t.Errorf("%v after %d steps and %d outputs, want outcome_unknown after 2 and 1", tr.Err, agent.Work(), len(tr.Outputs()))
			}
			if n := asked.Load(); n > 50 {
				t.Errorf("it was requested %d times", n)
			}
		})
	}
}

// Wrong lists of files may lose files, but never fail the run.
func TestListsOfFilesThatLie(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"the first page for ever": `{"artifacts":[{"artifact_id":"00000000-dddd-4000-8000-000000000001","file_name":"result.txt","relative_path":"out","agent_created":true}],"pagination":{"total_items":1000,"current_page":1}}`,
		"a bare list of ids":      `["00000000-dddd-4000-8000-000000000001"]`,
		"null":                    `{"artifacts":null}`,
		"garbage":                 `{"artifacts":[[]]}`,
		"no JSON":                 `oops`,
		"names that climb":        `[{"artifact_id":"x","file_name":"../../x","agent_created":true},{"artifact_id":"y","file_name":"y","relative_path":"/etc/../../..","agent_created":true}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Python)
			h, asked := lying(agent, "/artifacts", func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/artifacts") {
					fmt.Fprint(w, body)
					return
				}
				agent.ServeHTTP(w, r)
			})
			files := adaptertest.NewFiles(nil)
			tr := runTask(t, backendAt(t, adaptertest.Serve(t, h).URL), adaptertest.NewTask(files))
			mustSucceed(t, tr)
			if got, _ := files.Content("out/result.txt"); got != "42" { // its step names it
				t.Errorf("the file of the step is %q", got)
			}
			if n := asked.Load(); n > 50 {
				t.Errorf("it was requested %d times", n)
			}
		})
	}
}
