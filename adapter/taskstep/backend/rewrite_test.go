package backend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// rewriting writes two files and, in a later step, rewrites one of them and an upload without reporting it. forge keeps
// one artifact for each path, with the same id and time.
func rewriting(kind adaptertest.Kind) *adaptertest.StepAgent {
	a := adaptertest.NewStepAgent(kind)
	a.Script[0].Files = [][2]string{{"a.txt", "one"}, {"kept.txt", "kept"}}
	a.Script[1] = adaptertest.ScriptStep{Output: `"two"`, Rewrites: [][2]string{{"a.txt", "two"}, {"in.txt", "rewritten"}}}
	return a
}

func uploaded() *adaptertest.Files {
	return adaptertest.NewFiles(map[string]string{"in.txt": "as it came", "idle.txt": "as it came"})
}

// silentKinds are those that may rewrite a file without a new artifact.
func silentKinds() (list []adaptertest.Kind) {
	for _, kind := range adaptertest.Kinds {
		if kind != adaptertest.Evo {
			list = append(list, kind)
		}
	}
	return list
}

func checkRewritten(t *testing.T, agent *adaptertest.StepAgent, files *adaptertest.Files, trs ...adaptertest.Trace) {
	t.Helper()
	want := map[string]string{"a.txt": "two", "kept.txt": "kept", "in.txt": "rewritten", "idle.txt": "as it came"}
	for path, content := range want {
		if got, _ := files.Content(path); got != content {
			t.Errorf("%s is %q, want %q", path, got, content)
		}
	}
	for path, content := range map[string]string{"/a.txt": "two", "/kept.txt": "kept"} {
		state := ""
		for _, tr := range trs {
			if f := filesOf(t, tr)[path]; f != nil {
				state = string(f)
			}
		}
		if !strings.Contains(state, fmt.Sprintf("%q", content)) {
			t.Errorf("the state has %s as %s, want %q", path, state, content)
		}
	}
}

// TestFileRewrittenInTheSameRun checks that at the end of a run the thread has the agent's files.
func TestFileRewrittenInTheSameRun(t *testing.T) {
	t.Parallel()
	for _, kind := range silentKinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agent, files := rewriting(kind), uploaded()
			tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(files))
			mustSucceed(t, tr)
			checkRewritten(t, agent, files, tr)
			saves := 4 // a.txt twice, kept.txt, in.txt
			if kind == adaptertest.Bee {
				saves = 3 // its files are only seen at the end
			}
			if files.Saves() != saves {
				t.Errorf("%d files were stored, want %d: the same bytes are compared and not stored again", files.Saves(), saves)
			}
			if last := tr.Events[len(tr.Events)-1]; last.Kind != mapping.KindEnd {
				t.Errorf("the run ends with a %s event", last.Kind)
			}
		})
	}
}

// TestFileRewrittenInLockstep uses one call for each step. Only the last one requests files that no step has named.
func TestFileRewrittenInLockstep(t *testing.T) {
	t.Parallel()
	for _, kind := range silentKinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agent, files := rewriting(kind), uploaded()
			b, task := backendOf(t, agent), adaptertest.NewTask(files)
			task.OneStep = true
			var trs []adaptertest.Trace
			for range 3 {
				tr := runTask(t, b, task)
				if tr.Err != nil {
					t.Fatal(tr.Err)
				}
				trs = append(trs, tr)
				for _, ev := range tr.Events {
					task.Task.Uploaded = max(task.Task.Uploaded, ev.Head.Uploaded)
				}
				task = again(task, tr.Events[:len(tr.Events)-1]) // a parked end is not logged
			}
			checkRewritten(t, agent, files, trs...)
		})
	}
}

// TestFileRewrittenBeforeAQuestion checks runs that end with a question, and with the last allowed step.
func TestFileRewrittenBeforeAQuestion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*adaptertest.StepAgent, *adapter.Assignment){
		"question": func(a *adaptertest.StepAgent, _ *adapter.Assignment) { a.Script[1].Additional = askUser },
		"limit":    func(_ *adaptertest.StepAgent, task *adapter.Assignment) { task.Run.Options.MaxSteps = 2 },
	} {
		agent, files := rewriting(adaptertest.Forge), uploaded()
		task := adaptertest.NewTask(files)
		change(agent, &task)
		tr := runTask(t, backendOf(t, agent), task)
		if agent.Work() != 2 {
			t.Fatalf("%s: %d steps, error %v", name, agent.Work(), tr.Err)
		}
		checkRewritten(t, agent, files, tr)
	}
}

// TestFileNamedInEveryStep checks that files that the agent names in each step are downloaded once, and once more at
// the end.
func TestFileNamedInEveryStep(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	all := [][2]string{{"a", "1"}, {"b", "2"}, {"c", "3"}}
	agent.Script = nil
	for n := range 10 {
		agent.Script = append(agent.Script, adaptertest.ScriptStep{Output: `"x"`, Files: all, Last: n == 9})
	}
	files := adaptertest.NewFiles(nil)
	mustSucceed(t, runTask(t, backendOf(t, agent), adaptertest.NewTask(files)))
	if c := agent.Counts(); c.Downloads != 6 || c.Lists != 1 || files.Saves() != 3 {
		t.Errorf("%+v, %d saves; want 6 downloads, 1 list, 3 saves", c, files.Saves())
	}
}

// TestUploadThatTheAgentDidNotGet checks that a client's newer upload is not overwritten by the agent's bytes under
// its path.
func TestUploadThatTheAgentDidNotGet(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Forge)
	tr := &tracker{}
	newer := adaptertest.NewFiles(map[string]string{"in.txt": "newer"})
	list, _ := newer.List(t.Context())
	tr.load(list, 0)
	task := adaptertest.NewTask(newer)
	d := &downloads{runState: &runState{assigned: &task, site: site{kind: kind(agent.Kind)}}, files: tr}
	byClient := false
	if _, ok := d.wants("in.txt", &entries{listed: &remoteArtifact{ID: "1", Name: "in.txt", ByAgent: &byClient, Listed: true}}, true); ok {
		t.Error("the agent's older bytes would be stored as a newer version")
	}
}
