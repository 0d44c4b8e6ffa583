package matrix

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// TestBenchmark checks that the built-in challenges have the same verdicts for able and unable agents of both kinds
// through the bridge, in every stepping mode.
func TestBenchmark(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		agent  func(solve solver) adaptertest.Peer
		change func(*config.Agent)
	}{
		"plain, lockstep": {stepSolver(adaptertest.Plain), rig.Lockstep},
		"autogpt, free":   {stepSolver(adaptertest.AutoGPT), rig.Free},
		"js, one step":    {stepSolver(adaptertest.JS), rig.Whole},
		"graph, free":     {graphSolver, rig.Free},
		"graph, one step": {graphSolver, rig.Whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			able := rig.InFront(t, x.agent(solved), x.change)
			report := play(t, able.URL)
			if diff := cmp.Diff(verdictsOfAble(), verdicts(report)); diff != "" {
				t.Errorf("verdicts of an able agent (-want +got):\n%s", diff)
			}
			checkSeen(t, able, report)
			unable := rig.InFront(t, x.agent(careless), x.change)
			if diff := cmp.Diff(verdictsOfCareless(), verdicts(play(t, unable.URL))); diff != "" {
				t.Errorf("verdicts of a careless agent (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBenchmarkDirect checks that a task/step agent has the same verdicts without a bridge.
func TestBenchmarkDirect(t *testing.T) {
	t.Parallel()
	able := httptest.NewServer(stepSolver(adaptertest.Plain)(solved))
	t.Cleanup(able.Close)
	if diff := cmp.Diff(verdictsOfAble(), verdicts(play(t, able.URL))); diff != "" {
		t.Errorf("verdicts of an able agent (-want +got):\n%s", diff)
	}
	unable := httptest.NewServer(stepSolver(adaptertest.Plain)(careless))
	t.Cleanup(unable.Close)
	if diff := cmp.Diff(verdictsOfCareless(), verdicts(play(t, unable.URL))); diff != "" {
		t.Errorf("verdicts of a careless agent (-want +got):\n%s", diff)
	}
}

func verdictsOfAble() map[string]report.Status {
	want := map[string]report.Status{
		"WriteWord": "passed", "CopyNote": "passed", "SumUp": "passed", "LeaveOut": "passed", "Describe": "skipped", "PrintTable": "passed", "Median": "passed",
	}
	return skippedWithoutPython(want)
}

func verdictsOfCareless() map[string]report.Status {
	return skippedWithoutPython(map[string]report.Status{
		"WriteWord": "passed", "CopyNote": "failed", "SumUp": "skipped", "LeaveOut": "skipped", "Describe": "skipped", "PrintTable": "failed", "Median": "skipped",
	})
}

func skippedWithoutPython(want map[string]report.Status) map[string]report.Status {
	if _, err := exec.LookPath("python3"); err != nil {
		want["PrintTable"], want["Median"] = "skipped", "skipped"
	}
	return want
}

func verdicts(r report.Report) map[string]report.Status {
	list := map[string]report.Status{}
	for _, each := range r.Results {
		list[each.Challenge.Name] = each.Attempts[0].Status
	}
	return list
}

// play runs the built-in challenges against a server.
func play(t *testing.T, url string) report.Report {
	t.Helper()
	found, err := challenge.Builtin()
	if err != nil || len(found.Faults) > 0 {
		t.Fatal(err, found.Faults)
	}
	ordered, _ := challenge.Order(found.Challenges)
	python, err := judge.NewPython("", judge.PythonLimits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return judge.Run(t.Context(), judge.Options{
		Agent: &agent.Client{Base: url, Patience: time.Minute, HTTP: &http.Client{}}, Challenges: ordered, Repeat: 1, Parallel: 2,
		Python: python, Bridge: true, Watch: func(report.Event) {},
	})
}

// checkSeen checks that the tasks of the report are the bridge's, with their steps.
func checkSeen(t *testing.T, b *rig.Bridge, r report.Report) {
	t.Helper()
	for _, each := range r.Results {
		a := each.Attempts[0]
		if a.Status == report.Skipped {
			continue
		}
		steps := b.Get("/ap/v1/agent/tasks/" + a.TaskID + "/steps").OK()
		if got := len(steps.List("steps")); got != a.Steps || a.Steps == 0 {
			t.Errorf("%s: %d steps are listed, %d were requested", each.Challenge.Name, got, a.Steps)
		}
	}
}

// solver returns an agent's result for a task and its files.
type solver func(task string, files map[string]string) map[string]string

func solved(task string, files map[string]string) map[string]string {
	for word, made := range map[string]map[string]string{
		"Harbour":  {"harbour.txt": "Harbour\n"},
		"note.txt": {"copy.txt": files["note.txt"]},
		"boxes":    {"reports/sum.txt": fmt.Sprint(sum(files["cargo/list.csv"]))},
		"crew.csv": {"names.txt": "Mara\nOle\n"},
		"squares":  {"squares.py": "for n in range(1, 6):\n    print(n * n)\n"},
		"median":   {"middle.py": "def median(n):\n    n = sorted(n)\n    if not n:\n        raise ValueError('nothing')\n    k = len(n) // 2\n    return n[k] if len(n) % 2 else (n[k - 1] + n[k]) / 2\n"},
		"dawn":     {"dawn.txt": "It is grey. It is still. It is early."},
	} {
		if strings.Contains(task, word) {
			return made
		}
	}
	return nil
}

// careless writes one word for any task.
func careless(string, map[string]string) map[string]string {
	return map[string]string{"harbour.txt": "Harbour"}
}

func sum(csv string) (total int) {
	for _, line := range strings.Split(csv, "\n") {
		var n int
		_, count, _ := strings.Cut(line, ",")
		if _, err := fmt.Sscan(count, &n); err == nil {
			total += n
		}
	}
	return total
}

// stepSolver is a task/step agent that thinks and then writes.
func stepSolver(kind adaptertest.Kind) func(solver) adaptertest.Peer {
	return func(solve solver) adaptertest.Peer {
		return &adaptertest.StepAgent{Kind: kind, Script: []adaptertest.ScriptStep{{Output: `"never"`, Last: true}},
			Choose: func(input string, files map[string]string) []adaptertest.ScriptStep {
				var made [][2]string
				for at, content := range solve(input, files) {
					made = append(made, [2]string{at, content})
				}
				return []adaptertest.ScriptStep{{Output: `"I think."`}, {Output: `"I wrote."`, Files: made, Last: true}}
			}}
	}
}

// graphSolver is a graph with files in its state: it thinks and then writes.
func graphSolver(solve solver) adaptertest.Peer {
	return &adaptertest.ThreadAgent{Choose: func(body []byte) adaptertest.ThreadPlay {
		var run struct {
			Input struct {
				Messages []json.RawMessage
				Files    map[string]struct{ Content string }
			}
		}
		_ = json.Unmarshal(body, &run)
		var said struct{ Content string }
		_ = json.Unmarshal(run.Input.Messages[0], &said)
		given, state := map[string]string{}, map[string]any{}
		for at, f := range run.Input.Files {
			given[strings.TrimPrefix(at, "/")], state[at] = f.Content, f
		}
		made := map[string]any{}
		for at, content := range solve(said.Content, given) {
			made["/"+at] = map[string]string{"content": content, "encoding": "utf-8"}
			state["/"+at] = made["/"+at]
		}
		return rig.FilePlay(run.Input.Messages, made, state)
	}}
}
