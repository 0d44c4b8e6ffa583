package taskstep

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestURLOfALargeFile checks that the state has a URL on the bridge for a file above artifacts.max_inline. The URL
// works with the key that read the state, but not with another tenant's.
func TestURLOfALargeFile(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("large ", 100)
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"done"`, Files: [][2]string{{"out/large.txt", content}}, Last: true},
	}}
	small := func(a *config.Agent) { a.Artifacts.MaxInline = 100 }
	graph := writer(`{}`)
	cfg := rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL, small),
		"graph": rig.AgentAt(adaptertest.Serve(t, graph).URL, small),
	})
	cfg.Auth.Keys = []config.Key{{ID: "a", Key: "key-of-a", Tenant: "a"}, {ID: "b", Key: "key-of-b", Tenant: "b"}}
	b := rig.StartBridge(t, cfg)
	check := func(what string, values any, path string) {
		t.Helper()
		files, _ := values.(map[string]any)
		url, _ := rig.Dig(files[path], "url").(string)
		if url == "" || rig.Dig(files[path], "artifact_id") == nil || rig.Dig(files[path], "size") != float64(len(content)) {
			t.Fatalf("%s: files %v", what, files)
		}
		if got := b.Do("GET", url, "", "X-Api-Key", "key-of-a").OK(); string(got.Body) != content {
			t.Errorf("%s: %d bytes at %s", what, len(got.Body), url)
		}
		b.Do("GET", url, "", "X-Api-Key", "key-of-b").Is(http.StatusNotFound)
		b.Do("GET", url, "").Is(http.StatusUnauthorized)
	}
	as := []string{"X-Api-Key", "key-of-a"}
	b.Do("POST", "/threads", `{"thread_id":"`+strings.TrimPrefix(rig.CrashThread, "/threads/")+`"}`, as...).OK()
	for range 2 { // the second run has a separate task, and finds the file there
		values := b.Do("POST", rig.CrashThread+"/runs/wait", `{"assistant_id":"agent","input":"hi"}`, as...).OK()
		check("a run", values.At("files"), "/out/large.txt")
	}
	check("the state", b.Do("GET", rig.CrashThread+"/state", "", as...).OK().At("values.files"), "/out/large.txt")

	tasks := "/agents/graph/ap/v1/agent/tasks"
	at := tasks + "/" + b.Do("POST", tasks, `{"input":"hi"}`, as...).OK().Text("task_id")
	form := filePart("in.txt", content)
	b.Do("POST", at+"/artifacts", form, append(as, "Content-Type", "multipart/form-data; boundary=frontier")...).OK()
	b.Do("POST", at+"/steps", "", as...).OK()
	var files any = given(t, graph, 0)
	check("what a graph is given", files, "/in.txt")
}

// TestURLOfALargeFileInACopy checks a copied thread: it has no task until its first run, so its state refers to the
// original thread while that exists. Its own task has the copy's file.
func TestURLOfALargeFileInACopy(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("large ", 100)
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"done"`, Files: [][2]string{{"out/large.txt", content}}, Last: true},
	}}
	agent.Choose = func(input string, _ map[string]string) []adaptertest.ScriptStep {
		if input == "hi" {
			return agent.Script
		}
		return []adaptertest.ScriptStep{{Output: `"nothing new"`, Last: true}}
	}
	b := rig.InFront(t, agent, func(a *config.Agent) { a.Artifacts.MaxInline, a.Memory.History = 100, "none" })
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":"hi"}`).OK()
	twin := "/threads/" + b.Post(at+"/copy", "").OK().Text("thread_id")
	file := func() map[string]any {
		files, _ := b.Get(twin + "/state").OK().At("values.files").(map[string]any)
		f, _ := files["/out/large.txt"].(map[string]any)
		return f
	}
	url, _ := file()["url"].(string)
	if got := b.Get(url).OK(); string(got.Body) != content {
		t.Errorf("%d bytes at %s", len(got.Body), url)
	}
	b.Post(twin+"/runs/wait", `{"assistant_id":"agent","input":"and now?"}`).OK()
	run, _ := rig.Dig(b.Get(twin+"/runs").OK().List(""), "0.run_id").(string)
	b.Do("DELETE", at, "").Is(http.StatusNoContent)
	b.Get(url).Is(http.StatusNotFound)
	id, _ := file()["artifact_id"].(string)
	if got := b.Get("/ap/v1/agent/tasks/" + run + "/artifacts/" + id).OK(); string(got.Body) != content {
		t.Errorf("the copy's task has %d bytes", len(got.Body))
	}
}

// filePart returns a form with one file.
func filePart(name, content string) string {
	return "--frontier\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n--frontier--\r\n"
}
