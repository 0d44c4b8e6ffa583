package threadrun

import (
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// filesOf returns the artifacts of a thread as clients of its task list them, with their bytes.
func filesOf(b *rig.Bridge, at, task string) map[string]string {
	b.T.Helper()
	files, names := map[string]string{}, []string(nil)
	for _, a := range b.Get(task + "/artifacts").OK().List("artifacts") {
		name := rig.TextOf(rig.Dig(a, "file_name"))
		files[name] = string(b.Get(task + "/artifacts/" + rig.TextOf(rig.Dig(a, "artifact_id"))).OK().Body)
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, artifactNames(b, at)); diff != "" {
		b.T.Errorf("the task's artifacts and the topic's (-task +topic):\n%s", diff)
	}
	return files
}

// TestFilesFollowTheBranchOfTheThread checks that a thread that continues from an older state has the files of that
// state. The files of the other branch can be read by checkpoint and id, and are listed again when the thread returns
// there.
func TestFilesFollowTheBranchOfTheThread(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	at := b.Thread()
	task := "/ap/v1/agent/tasks/" + b.Post(at+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK().Text("run_id")
	b.Get(at + "/runs/" + strings.TrimPrefix(task, "/ap/v1/agent/tasks/") + "/join").OK()
	update := func(body string) string { return b.Post(at+"/state", body).OK().Text("checkpoint.checkpoint_id") }
	wants := func(when string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, filesOf(b, at, task)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	first := update(`{"values":{"files":{"/a.txt":"one"},"messages":[` + saidWith("m1", text) + `]}}`)
	second := update(`{"values":{"files":{"/a.txt":"changed","/b.txt":"two"},"messages":[` + saidWith("m2", text, image) + `]}}`)
	old, new := map[string]string{"a.txt": "one"}, map[string]string{"a.txt": "changed", "b.txt": "two", "a.png": "hi"}
	wants("before", new)
	picture := ""
	for _, a := range b.Get(task + "/artifacts").OK().List("artifacts") {
		if rig.Dig(a, "file_name") == "a.png" {
			picture = rig.TextOf(rig.Dig(a, "artifact_id"))
		}
	}

	update(`{"checkpoint_id":"` + first + `","values":{"other":1}}`)
	wants("an update of the older state", old)
	if there := b.Get(at + "/state/" + second).OK(); !strings.Contains(string(there.Body), `"/b.txt":"two"`) {
		t.Errorf("the state of the other branch: %s", there.Body)
	}
	if body := string(b.Get(task + "/artifacts/" + picture).OK().Body); body != "hi" {
		t.Errorf("the file of the other branch is %q", body)
	}
	update(`{"checkpoint_id":"` + second + `","values":{"other":1}}`)
	wants("back again", new)
	update(`{"checkpoint_id":"` + first + `","values":{"messages":[` + saidWith("m3", text, image) + `]}}`)
	wants("the same picture, said anew", map[string]string{"a.txt": "one", "a.png": "hi"})
	update(`{"checkpoint_id":"` + second + `","values":{"other":2}}`)

	run := b.Post(at+"/runs", `{"assistant_id":"agent","checkpoint_id":"`+first+`",`+rig.SaysMore+`}`).OK().Text("run_id")
	b.Get(at + "/runs/" + run + "/join").OK()
	wants("a run from the older state", old)
	b.Do("DELETE", at+"/runs/"+run, "").Is(204)
	wants("that run deleted", new)
}
