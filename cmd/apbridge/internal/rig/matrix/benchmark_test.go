package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/examples/benchmark"
)

// TestBenchmark runs the example benchmark before able and unable agents of
// both kinds.
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
			report, out := play(able, 0)
			want := map[benchmark.Status]int{benchmark.Passed: 6, benchmark.NotJudged: 1}
			if !hasPython() {
				want = map[benchmark.Status]int{benchmark.Passed: 4, benchmark.NotJudged: 1, benchmark.Skipped: 2}
			}
			for status, n := range want {
				if report.Count(status) != n {
					t.Errorf("%d %s, want %d:\n%s", report.Count(status), status, n, out)
				}
			}
			checkSeen(t, able, report)
			unable := rig.InFront(t, x.agent(careless), x.change)
			if report, out := play(unable, 1); report.Count(benchmark.Failed) == 0 || report.Count(benchmark.Passed) != 1 {
				t.Errorf("a careless agent:\n%s", out)
			}
		})
	}
}

func hasPython() bool {
	_, err := exec.LookPath("python3")
	return err == nil
}

// play runs the program against the bridge.
func play(b *rig.Bridge, code int) (benchmark.Report, string) {
	b.T.Helper()
	var out bytes.Buffer
	file := filepath.Join(b.T.TempDir(), "report.json")
	if got := benchmark.Command(b.T.Context(), []string{"-url", b.URL, "-report", file}, &out, &out); got != code {
		b.T.Errorf("exit code %d, want %d\n%s", got, code, &out)
	}
	var report benchmark.Report
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &report)
	}
	if err != nil {
		b.T.Fatal(err)
	}
	return report, out.String()
}

// checkSeen: the tasks of the report are the bridge's, with their steps.
func checkSeen(t *testing.T, b *rig.Bridge, report benchmark.Report) {
	t.Helper()
	for _, c := range report.Challenges {
		if c.Status == benchmark.Skipped {
			continue
		}
		steps := b.Get("/ap/v1/agent/tasks/" + c.TaskID + "/steps").OK()
		if got := len(steps.List("steps")); got != c.Steps || c.Steps == 0 {
			t.Errorf("%s: %d steps are listed, %d were asked for", c.Name, got, c.Steps)
		}
	}
}

// solver is what an agent makes of a task and the files it is given.
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

// careless writes one word, whatever it is asked for.
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
