package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// TestURLOfALargeFile: a file above artifacts.max_inline stands in the state with a URL
// on the bridge, which opens with the key that the state was read with and with no
// other tenant's.
func TestURLOfALargeFile(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("large ", 100)
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"done"`, Files: [][2]string{{"out/large.txt", content}}, Last: true},
	}}
	small := func(a *config.Agent) { a.Artifacts.MaxInline = 100 }
	graph := writer(`{}`)
	cfg := configFor(t, map[string]config.Agent{
		"agent": agentAt(adaptertest.Serve(t, agent).URL, small),
		"graph": agentAt(adaptertest.Serve(t, graph).URL, small),
	})
	cfg.Auth.Keys = []config.Key{{ID: "a", Key: "key-of-a", Tenant: "a"}, {ID: "b", Key: "key-of-b", Tenant: "b"}}
	b := startBridge(t, cfg)
	check := func(what string, values any, path string) {
		t.Helper()
		files, _ := values.(map[string]any)
		url, _ := dig(files[path], "url").(string)
		if url == "" || dig(files[path], "artifact_id") == nil || dig(files[path], "size") != float64(len(content)) {
			t.Fatalf("%s: files %v", what, files)
		}
		if got := b.do("GET", url, "", "X-Api-Key", "key-of-a").ok(); string(got.body) != content {
			t.Errorf("%s: %d bytes at %s", what, len(got.body), url)
		}
		b.do("GET", url, "", "X-Api-Key", "key-of-b").is(http.StatusNotFound)
		b.do("GET", url, "").is(http.StatusUnauthorized)
	}
	as := []string{"X-Api-Key", "key-of-a"}
	b.do("POST", "/threads", `{"thread_id":"`+strings.TrimPrefix(crashThread, "/threads/")+`"}`, as...).ok()
	for range 2 { // the second run has a task of its own, and finds the file there
		values := b.do("POST", crashThread+"/runs/wait", `{"assistant_id":"agent","input":"hi"}`, as...).ok()
		check("a run", values.at("files"), "/out/large.txt")
	}
	check("the state", b.do("GET", crashThread+"/state", "", as...).ok().at("values.files"), "/out/large.txt")

	tasks := "/agents/graph/ap/v1/agent/tasks"
	at := tasks + "/" + b.do("POST", tasks, `{"input":"hi"}`, as...).ok().text("task_id")
	form := filePart("in.txt", content)
	b.do("POST", at+"/artifacts", form, append(as, "Content-Type", "multipart/form-data; boundary=frontier")...).ok()
	b.do("POST", at+"/steps", "", as...).ok()
	var files any = given(t, graph, 0)
	check("what a graph is given", files, "/in.txt")
}

// TestURLOfALargeFileInACopy: a copy has no task until its first run, so its state leads to the
// thread it was made of, while that is there; its own task has the copy's file.
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
	b := inFront(t, agent, func(a *config.Agent) { a.Artifacts.MaxInline, a.Memory.Transcript = 100, "none" })
	at := b.thread()
	b.post(at+"/runs/wait", `{"assistant_id":"agent","input":"hi"}`).ok()
	twin := "/threads/" + b.post(at+"/copy", "").ok().text("thread_id")
	file := func() map[string]any {
		files, _ := b.get(twin + "/state").ok().at("values.files").(map[string]any)
		f, _ := files["/out/large.txt"].(map[string]any)
		return f
	}
	url, _ := file()["url"].(string)
	if got := b.get(url).ok(); string(got.body) != content {
		t.Errorf("%d bytes at %s", len(got.body), url)
	}
	b.post(twin+"/runs/wait", `{"assistant_id":"agent","input":"and now?"}`).ok()
	run, _ := dig(b.get(twin+"/runs").ok().list(""), "0.run_id").(string)
	b.do("DELETE", at, "").is(http.StatusNoContent)
	b.get(url).is(http.StatusNotFound)
	id, _ := file()["artifact_id"].(string)
	if got := b.get("/ap/v1/agent/tasks/" + run + "/artifacts/" + id).ok(); string(got.body) != content {
		t.Errorf("the copy's task has %d bytes", len(got.body))
	}
}

// filePart is a form of one file.
func filePart(name, content string) string {
	return "--frontier\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n--frontier--\r\n"
}
