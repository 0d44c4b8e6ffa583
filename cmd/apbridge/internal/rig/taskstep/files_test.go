package taskstep

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// writer is a graph whose nth run replaces the files in its state by the nth of these objects.
func writer(states ...string) *adaptertest.ThreadAgent {
	var n atomic.Int64
	return &adaptertest.ThreadAgent{Choose: func(body []byte) adaptertest.ThreadPlay {
		var run struct {
			Input struct{ Messages []json.RawMessage }
		}
		_ = json.Unmarshal(body, &run)
		files := json.RawMessage(states[min(int(n.Add(1)), len(states))-1])
		return rig.FilePlay(run.Input.Messages, files, files)
	}}
}

// given returns the files of the nth run's input.
func given(t *testing.T, agent *adaptertest.ThreadAgent, n int) map[string]any {
	t.Helper()
	var run struct {
		Input struct{ Files map[string]any }
	}
	bodies := agent.Bodies(rig.StartRoute)
	if len(bodies) <= n || json.Unmarshal(bodies[n], &run) != nil {
		t.Fatalf("%d runs: %s", len(bodies), bodies)
	}
	for _, f := range run.Input.Files {
		if object, ok := f.(map[string]any); ok {
			delete(object, "created_at")
			delete(object, "modified_at")
		}
	}
	return run.Input.Files
}

// Files that are uploaded before the first step are in the graph's input under their paths, in the configured style.
// Bytes that are not text are base64.
func TestUploadsAreInTheInputOfAGraph(t *testing.T) {
	t.Parallel()
	text := func(content string) map[string]any {
		return map[string]any{"content": content, "encoding": "utf-8", "mimeType": "text/plain"}
	}
	binary := map[string]any{"content": "/wAB", "encoding": "base64", "mimeType": "application/octet-stream"}
	for style, want := range map[string]map[string]any{
		"object": {"/root.txt": text("new words"), "/in/deep/ü n.txt": text("ü"), "/in/empty": text(""), "/b.bin": binary},
		"string": {"/root.txt": "new words", "/in/deep/ü n.txt": "ü", "/in/empty": "", "/b.bin": binary},
	} {
		for name, mode := range map[string]func(*config.Agent){"free": rig.Free, "run": rig.Whole} {
			t.Run(style+"/"+name, func(t *testing.T) {
				t.Parallel()
				agent := writer(`{}`)
				b := rig.InFront(t, agent, mode, func(a *config.Agent) { a.Artifacts.Style = style })
				at := b.Task(`{"input":"hi"}`)
				first := b.Upload(at+"/artifacts", "root.txt", "", "words").OK()
				again := b.Upload(at+"/artifacts", "root.txt", "", "new words").OK()
				b.Upload(at+"/artifacts", "%C3%BC%20n.txt", "in/deep", "ü").OK()
				b.Upload(at+"/artifacts", "empty", "in/", "").OK()
				b.Upload(at+"/artifacts", "b.bin", "", "\xff\x00\x01").OK()
				if agent.Work() != 0 || first.Text("artifact_id") != again.Text("artifact_id") {
					t.Errorf("%d runs before the first step, or one path with two ids: %s %s", agent.Work(), first.Body, again.Body)
				}
				rig.PullAll(t, b, at, "")
				if diff := cmp.Diff(want, given(t, agent, 0)); diff != "" {
					t.Errorf("the initial state (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A client can resume a broken download at its position, as with curl -C -, through every guard and with any coding
// that it accepts.
func TestDownloadIsResumed(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, writer(`{}`))
	at := b.Task(`{"input":"hi"}`)
	content := strings.Repeat("0123456789abcde\n", 40_000) // three chunks
	file := at + "/artifacts/" + b.Upload(at+"/artifacts", "big.json", "", content).OK().Text("artifact_id")
	whole := b.Do("GET", file, "", "Accept-Encoding", "gzip").Is(200)
	if string(whole.Body) != content || whole.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("%d bytes, %v", len(whole.Body), whole.Header)
	}
	const from = 300_001
	rest := b.Do("GET", file, "", "Accept-Encoding", "gzip", "Range", "bytes=300001-", "If-Range", whole.Header.Get("ETag")).Is(206)
	if string(rest.Body) != content[from:] || rest.Header.Get("Content-Encoding") != "" || rest.Header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)) {
		t.Errorf("%d bytes, %v", len(rest.Body), rest.Header)
	}
	b.Do("GET", file, "", "Range", "bytes=9000000-").Want(t, 416, "Content-Range has its size")
	b.Do("GET", file, "", "If-None-Match", whole.Header.Get("ETag")).Is(304)
}

// Files in additional_input reach the graph together with the uploads.
func TestUploadsWithFilesOfAdditionalInput(t *testing.T) {
	t.Parallel()
	agent := writer(`{}`)
	b := rig.InFront(t, agent, func(a *config.Agent) { a.Artifacts.Style = "string" })
	at := b.Task(`{"input":"hi","additional_input":{"input":{"files":{"/named.txt":"named","/both.txt":"named"}}}}`)
	b.Upload(at+"/artifacts", "both.txt", "", "uploaded").OK()
	rig.PullAll(t, b, at, "")
	want := map[string]any{"/named.txt": "named", "/both.txt": "uploaded"}
	if diff := cmp.Diff(want, given(t, agent, 0)); diff != "" {
		t.Errorf("the initial state (-want +got):\n%s", diff)
	}
}

// Every form of a graph's files becomes an artifact, except for invalid names.
func TestFilesOfAGraphAreArtifacts(t *testing.T) {
	t.Parallel()
	agent := writer(`{
		"/string": "text", "bare": "no slash", "/lines": {"content": ["a", "b"], "created_at": "2026-01-02T03:04:05Z", "modified_at": "2026-01-02T03:04:05Z"},
		"/py": {"content": "x", "encoding": "utf-8"}, "/js": {"content": "j", "mimeType": "text/x", "created_at": "2026-01-02T03:04:05Z", "modified_at": "2026-01-02T03:04:05Z"},
		"/b64": {"content": "/wAB", "encoding": "base64"}, "/bytes": {"content": {"0": 255, "1": 0}, "mimeType": "a/b"},
		"/src/deep/é.py": "nested", "/gone": null, "/given.txt": {"content": "changed", "encoding": "utf-8"},
		"../../climbs": "x", "/a/../../climbs": "x", "//two": "x", "C:\\drive": "x", "/C:/drive": "x", "/CON": "x", "/nul.txt": "x", "/with\nbreak": "x", "/zero\u0000": "x", "/": "x", "": "x", "/number": 5
	}`, `{"/string": "newer text", "/src/deep/é.py": "nested"}`)
	b := rig.InFront(t, agent)
	at := b.Task(`{"input":"hi"}`)
	upload := b.Upload(at+"/artifacts", "given.txt", "", "as uploaded").OK()
	b.Upload(at+"/artifacts", "kept.txt", "in", "as uploaded").OK()
	rig.PullAll(t, b, at, "")
	first := b.Get(at + "/artifacts?page_size=50").OK()
	want := []string{
		"b64 <nil> true \xff\x00\x01", "bare <nil> true no slash", "bytes <nil> true \xff\x00", "given.txt <nil> true changed", "js <nil> true j", "lines <nil> true a\nb",
		"py <nil> true x", "string <nil> true text", "é.py src/deep/é.py true nested", "kept.txt in/kept.txt false as uploaded",
	}
	if diff := cmp.Diff(want, filesAt(b, at)); diff != "" {
		t.Errorf("artifacts, in order (-want +got):\n%s", diff)
	}
	for _, a := range first.List("artifacts") {
		if rig.Dig(a, "file_name") == "given.txt" && rig.Dig(a, "artifact_id") != upload.At("artifact_id") {
			t.Errorf("a changed upload has a new id: %v", a)
		}
	}
	rig.PullAll(t, b, at, `{"input":"more"}`)
	second := b.Get(at + "/artifacts?page_size=50").OK()
	ids := map[any]any{}
	for _, a := range first.List("artifacts") {
		ids[rig.Dig(a, "file_name")] = rig.Dig(a, "artifact_id")
	}
	for _, a := range second.List("artifacts") {
		if ids[rig.Dig(a, "file_name")] != rig.Dig(a, "artifact_id") {
			t.Errorf("%v has a new id", a)
		}
	}
	if got := filesAt(b, at); len(got) == 0 || got[0] != "string <nil> true newer text" {
		t.Errorf("after the second run: %q", got)
	}
}

// filesAt lists a task's files as benchmark harnesses see them: name, folder, owner, bytes.
func filesAt(b *rig.Bridge, at string) (list []string) {
	b.T.Helper()
	for _, a := range b.Get(at + "/artifacts?page_size=50").OK().List("artifacts") {
		file := b.Get(at + "/artifacts/" + rig.Dig(a, "artifact_id").(string)).OK()
		if h := file.Header; h.Get("Content-Type") != "application/octet-stream" || h.Get("X-Content-Type-Options") != "nosniff" || !rig.Says(h.Get("Content-Disposition"), "attachment; filename") {
			b.T.Errorf("%v is sent with %v", rig.Dig(a, "file_name"), h)
		}
		list = append(list, fmt.Sprintf("%v %v %v %s", rig.Dig(a, "file_name"), rig.Dig(a, "relative_path"), rig.Dig(a, "agent_created"), file.Body))
	}
	return list
}

// TestNamesOfAStepAgentsFiles checks that a task/step agent may choose any file names, too.
func TestNamesOfAStepAgentsFiles(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"done"`, Last: true, Files: [][2]string{
		{"../../climbs", "x"}, {"CON", "x"}, {"C:/drive", "x"}, {"a\nb", "x"}, {"in/good ü.txt", "good"}, {"page.html", "<script>"},
	}}}}
	b := rig.InFront(t, agent)
	at := b.Task(`{"input":"hi"}`)
	rig.PullAll(t, b, at, "")
	want := []string{"page.html <nil> true <script>", "good ü.txt in/good ü.txt true good"}
	if diff := cmp.Diff(want, filesAt(b, at)); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}

// Files that are uploaded while a graph waits for an answer are sent with the answer, and stay the client's own if the
// graph still has them.
func TestUploadsAtAQuestion(t *testing.T) {
	t.Parallel()
	type command struct {
		Resume json.RawMessage
		Update struct{ Files map[string]any }
	}
	sent := make(chan command, 1)
	agent := &adaptertest.ThreadAgent{Choose: func(body []byte) adaptertest.ThreadPlay {
		var run struct{ Command *command }
		if json.Unmarshal(body, &run) != nil || run.Command == nil {
			return adaptertest.AskPlay()
		}
		sent <- *run.Command
		made := map[string]any{"/made.txt": "made"}
		return rig.FilePlay([]json.RawMessage{json.RawMessage(`{"id":"h","type":"human","content":"hi"}`)}, made,
			map[string]any{"/made.txt": "made", "/in/late.txt": run.Command.Update.Files["/in/late.txt"]})
	}}
	b := rig.InFront(t, agent)
	at := b.Task(`{"input":"hi"}`)
	b.Post(at+"/steps", "").OK()
	b.Post(at+"/steps", "").OK() // the question
	b.Upload(at+"/artifacts", "late.txt", "in", "the answer's file").OK()
	say(b, at, "see my file")
	rig.PullAll(t, b, at, "")
	got := <-sent
	if file, _ := got.Update.Files["/in/late.txt"].(map[string]any); !rig.Says(string(got.Resume), "see my file") || file["content"] != "the answer's file" {
		t.Errorf("the graph received the answer %s with the files %v", got.Resume, got.Update.Files)
	}
	want := []string{"made.txt <nil> true made", "late.txt in/late.txt false the answer's file"}
	if diff := cmp.Diff(want, filesAt(b, at)); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}

// A file that cannot become an artifact is named in the log, once.
func TestSkippedFilesAreLogged(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zap.WarnLevel)
	files := `{"../climbs": "x", "/number": 5, "/good": "x"}`
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, writer(files)).URL)})
	b := rig.StartLogging(t, cfg, zap.New(core))
	rig.PullAll(t, b, b.Task(`{"input":"hi"}`), "")
	var names []string
	for _, entry := range logged.FilterMessageSnippet("file skipped").All() {
		fields := entry.ContextMap()
		names = append(names, fmt.Sprint(fields["agent"], " ", fields["file"]))
	}
	if diff := cmp.Diff([]string{"agent ../climbs", "agent /number"}, names); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
}

// A task/step agent gets files that are uploaded between its steps, or at its question, before its next step, and each
// file once.
func TestUploadsBetweenSteps(t *testing.T) {
	t.Parallel()
	agent := rig.Curious(1)
	b := rig.InFront(t, agent)
	at := b.Task(`{"input":"hi"}`)
	b.Upload(at+"/artifacts", "first.txt", "", "1").OK()
	sent := func(want int) {
		t.Helper()
		if got := agent.Counts().Uploads; got != want {
			t.Errorf("the agent received %d files, want %d", got, want)
		}
	}
	b.Post(at+"/steps", "").OK()
	sent(1)
	b.Upload(at+"/artifacts", "second.txt", "in", "2").OK()
	if step := b.Post(at+"/steps", "").OK(); step.Text("output") != "I need to know more." {
		t.Errorf("the question: %s", step.Body)
	}
	sent(2)
	b.Upload(at+"/artifacts", "third.txt", "", "3").OK()
	say(b, at, "blue")
	sent(3)
	want := []string{"first.txt <nil> false 1", "third.txt <nil> false 3", "second.txt in/second.txt false 2"}
	if diff := cmp.Diff(want, filesAt(b, at)); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}
