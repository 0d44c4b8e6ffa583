package backend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// filesOf returns the files in the deltas of a trace by path.
func filesOf(t *testing.T, tr adaptertest.Trace) map[string]json.RawMessage {
	t.Helper()
	all := map[string]json.RawMessage{}
	for _, ev := range tr.Outputs() {
		var delta struct{ Files map[string]json.RawMessage }
		if err := json.Unmarshal(ev.Data, &delta); err != nil {
			t.Fatalf("delta %s: %v", ev.Data, err)
		}
		for at, file := range delta.Files {
			all[at] = file
		}
	}
	return all
}

// TestFilesBothWays checks that uploads reach the agent under their path, and that its files reach the thread and the
// state, for every kind's handling of paths.
func TestFilesBothWays(t *testing.T) {
	t.Parallel()
	for _, kind := range adaptertest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(kind)
			uploads := map[string]string{"root.txt": "r", "in/deep/ünï code.txt": "ü", "in/empty": ""}
			files := adaptertest.NewFiles(uploads)
			tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(files))
			mustSucceed(t, tr)
			at := "out/result.txt"
			if kind == adaptertest.Bee {
				at = "result.txt" // takes no files and reports no folders
			} else {
				for path, want := range uploads {
					if got, ok := agent.Received(path); !ok || got != want {
						t.Errorf("%s reached the agent as %q, %v", path, got, ok)
					}
				}
			}
			if got, ok := files.Content(at); !ok || got != "42" || files.Saves() != 1 {
				t.Errorf("%s reached the thread as %q, %v, after %d saves", at, got, ok, files.Saves())
			}
			state := filesOf(t, tr)
			if len(state) != 1 || !strings.Contains(string(state["/"+at]), `"42"`) {
				t.Errorf("state %v", state)
			}
		})
	}
}

func TestFilesOfAnEvent(t *testing.T) {
	t.Parallel()
	tr := runTask(t, backendOf(t, adaptertest.NewStepAgent(adaptertest.Plain)), adaptertest.NewTask(nil))
	var got [][]string
	for _, ev := range tr.Outputs() {
		got = append(got, ev.Head.Artifacts)
	}
	if diff := cmp.Diff([][]string{nil, {"artifact-1"}, nil}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLargeFilesStayOut(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	agent.Script[0].Files = [][2]string{{"big", strings.Repeat("x", 33)}, {"small", strings.Repeat("y", 32)}}
	up := adaptertest.Upstream(adaptertest.Serve(t, agent).URL)
	up.Config.Artifacts.MaxInline = 32
	files := adaptertest.NewFiles(nil)
	tr := runTask(t, backendWith(t, up), adaptertest.NewTask(files))
	mustSucceed(t, tr)
	state := filesOf(t, tr)
	if !strings.Contains(string(state["/big"]), "artifact_id") || strings.Contains(string(state["/big"]), "xxx") {
		t.Errorf("big: %s", state["/big"])
	}
	if !strings.Contains(string(state["/small"]), "yyy") {
		t.Errorf("small: %s", state["/small"])
	}
	if got, _ := files.Content("big"); len(got) != 33 {
		t.Errorf("big was saved with %d bytes", len(got))
	}
}

// TestBadFilesAreSkipped checks that no run fails because of file names outside the folder, failed downloads or files
// over the limit.
func TestBadFilesAreSkipped(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.JS)
	agent.Script[0].Files = [][2]string{
		{"../../etc/passwd", "evil"}, {".hidden", "404"}, {"huge", strings.Repeat("x", 1<<20+1)}, {"good", "ok"},
	}
	files := adaptertest.NewFiles(nil)
	tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(files))
	mustSucceed(t, tr)
	if files.Saves() != 2 { // good and out/result.txt
		t.Errorf("%d files saved", files.Saves())
	}
	if _, ok := files.Content("good"); !ok {
		t.Error("the good file was lost")
	}
}

// TestUnchangedFiles checks that files that the thread already has cause no delta.
func TestUnchangedFiles(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	files := adaptertest.NewFiles(map[string]string{"out/result.txt": "42"})
	tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(files))
	mustSucceed(t, tr)
	if state := filesOf(t, tr); len(state) != 0 {
		t.Errorf("state %v", state)
	}
}

// TestRewrittenUpload checks an upload that forge rewrites, which is not in a step but only in the list at the end.
func TestRewrittenUpload(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Forge)
	agent.Script[1].Files = [][2]string{{"in/a.txt", "rewritten"}}
	files := adaptertest.NewFiles(map[string]string{"in/a.txt": "as it came"})
	mustSucceed(t, runTask(t, backendOf(t, agent), adaptertest.NewTask(files)))
	if got, _ := files.Content("in/a.txt"); got != "rewritten" {
		t.Errorf("content %q", got)
	}
}

func TestArtifactPaths(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"artifact_id":"1","file_name":"a.py","relative_path":"src/a.py"}`: "src/a.py",
		`{"artifact_id":"1","file_name":"a.py","relative_path":"src"}`:      "src/a.py",
		`{"artifact_id":"1","file_name":"a.py","relative_path":"src/"}`:     "src/a.py",
		`{"artifact_id":"1","file_name":"a.py","relative_path":"."}`:        "a.py",
		`{"artifact_id":"1","file_name":"a.py","relative_path":null}`:       "a.py",
		`{"artifact_id":1,"file_name":"a.py","uri":"file://src/a.py"}`:      "src/a.py",
		`{"artifact_id":"1","relative_path":"/src/a.py"}`:                   "src/a.py",
		`{"name":"a.py","content":"x"}`:                                     "a.py",
		`{"artifact_id":"1","file_name":"../a.py"}`:                         "",
		`{"artifact_id":"1","file_name":"a.py","relative_path":"C:\\x"}`:    "",
	} {
		a, err := parseArtifact(json.RawMessage(raw), "x")
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got, err := a.path(); got != want && !(want == "" && err != nil) {
			t.Errorf("%s: path %q, %v, want %q", raw, got, err, want)
		}
	}
}

// TestUploadPickUp checks that files that arrived before a crash are not sent again.
func TestUploadPickUp(t *testing.T) {
	t.Parallel()
	for _, kind := range []adaptertest.Kind{adaptertest.Python, adaptertest.JS, adaptertest.Forge} {
		agent := adaptertest.NewStepAgent(kind)
		url := adaptertest.Serve(t, agent).URL
		files := adaptertest.NewFiles(map[string]string{"in/a": "1", "in/b": "2"})
		first := runFor(t, backendAt(t, url), adaptertest.NewTask(files), 2)
		task := again(adaptertest.NewTask(files), first.Events[:1])
		if kind == adaptertest.JS {
			task.Done = 0 // as if the step had never been sent
		}
		rest := runTask(t, backendAt(t, url), task)
		if rest.Err != nil || agent.Counts().Uploads != 2 {
			t.Errorf("%s: %v, %+v", kind, rest.Err, agent.Counts())
		}
	}
}

func TestUploadRefused(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	agent.CreateFault = ""
	srv := adaptertest.Serve(t, refusing(agent, "/artifacts", 413))
	tr := runTask(t, backendAt(t, srv.URL), adaptertest.NewTask(adaptertest.NewFiles(map[string]string{"a/b": "1"})))
	mustFail(t, tr, mapping.CodeUpstreamError)
	if m := mapping.Classify(tr.Err).Message; !strings.Contains(m, "a/b") {
		t.Errorf("message %q does not name the file", m)
	}
	if agent.Counts().Steps != 0 {
		t.Error("a step was executed without its files")
	}
}
