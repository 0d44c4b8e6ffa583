package taskstep

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// filer is a graph of four steps that keeps its files in its state.
type filer struct {
	adaptertest.ThreadAgent

	mu    sync.Mutex
	files map[string]json.RawMessage
	steps []string // the files that came with each step, sorted
}

func newFiler() *filer {
	f := &filer{files: map[string]json.RawMessage{}}
	f.Choose = f.step
	return f
}

func (f *filer) step(body []byte) adaptertest.ThreadPlay {
	var run struct {
		Input   struct{ Files map[string]json.RawMessage }
		Command struct {
			Update struct{ Files map[string]json.RawMessage }
		}
	}
	_ = json.Unmarshal(body, &run)
	f.mu.Lock()
	defer f.mu.Unlock()
	came := run.Input.Files
	if len(f.steps) > 0 {
		came = run.Command.Update.Files
	}
	maps.Copy(f.files, came)
	f.steps = append(f.steps, strings.Join(slices.Sorted(maps.Keys(came)), " "))
	return keptPlay(len(f.steps), f.files)
}

func (f *filer) came() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.steps)
}

func keptPlay(n int, files map[string]json.RawMessage) adaptertest.ThreadPlay {
	kept, _ := json.Marshal(files)
	said := `{"id":"run-` + string(rune('0'+n)) + `","type":"ai","content":"step"}`
	values := `{"messages":[` + said + `],"files":` + string(kept) + `}`
	next := `["work"]`
	if n == 4 {
		next = `[]`
	}
	return adaptertest.ThreadPlay{
		Frames: []string{`metadata {"run_id":"{{run}}","attempt":1}`, `updates {"work":{"messages":[` + said + `]}}`, `values ` + values,
			`updates {"__interrupt__":[]}`, `values {"__interrupt__":[]}`},
		State: `{"values":` + values + `,"next":` + next + `,"tasks":[],"metadata":{"thread_id":"{{thread}}","run_id":"{{run}}","source":"loop","step":` + string(rune('0'+n)) + `,"parents":{}},` +
			`"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":""},"parent_checkpoint":null}`,
	}
}

// taker is a task/step agent of four steps that records the files that it receives before each.
type taker struct {
	*adaptertest.StepAgent

	mu    sync.Mutex
	news  int
	steps []int
	forms []string // the uploads in the order of arrival
}

func newTaker() *taker {
	script := []adaptertest.ScriptStep{{Output: `"1"`}, {Output: `"2"`}, {Output: `"3"`}, {Output: `"4"`, Last: true}}
	return &taker{StepAgent: &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: script}}
}

func (a *taker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	switch {
	case rig.StepPosts(r):
		a.steps, a.news = append(a.steps, a.news), 0
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/artifacts"):
		a.news++
		form, _ := io.ReadAll(r.Body)
		a.forms, r.Body = append(a.forms, string(form)), io.NopCloser(bytes.NewReader(form))
	}
	a.mu.Unlock()
	a.StepAgent.ServeHTTP(w, r)
}

func (a *taker) came() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.steps)
}

// duringSecond uploads before every step of a lockstep task, and during the second.
func duringSecond(t *testing.T, b *rig.Bridge, g *rig.Gate) string {
	t.Helper()
	at := b.Task(`{"input":"hi"}`)
	b.Upload(at+"/artifacts", "first.txt", "", "1").OK()
	b.Post(at+"/steps", "").OK()
	b.Upload(at+"/artifacts", "between.txt", "", "2").OK()
	var second sync.WaitGroup
	second.Go(func() { _, _ = b.Try(t.Context(), "POST", at+"/steps", "") })
	g.Await(t)
	b.Upload(at+"/artifacts", "during.txt", "in", "3").OK()
	g.Open()
	second.Wait()
	b.Upload(at+"/artifacts", "first.txt", "", "1, mended").OK()
	b.Post(at+"/steps", "").OK()
	if last := b.Post(at+"/steps", "").OK(); last.At("is_last") != true {
		t.Errorf("the fourth step: %s", last.Body)
	}
	return at
}

// hasLate checks that the thread's state has the uploaded files.
func hasLate(b *rig.Bridge, at string) {
	b.T.Helper()
	files, _ := b.Get(rig.ThreadOfTask(at) + "/state").OK().At("values.files").(map[string]any)
	got := map[string]any{}
	for path, f := range files {
		got[path] = rig.Dig(f, "content")
	}
	want := map[string]any{"/first.txt": "1, mended", "/between.txt": "2", "/in/during.txt": "3"}
	if diff := cmp.Diff(want, got); diff != "" {
		b.T.Errorf("files in the state (-want +got):\n%s", diff)
	}
}

// A file that is uploaded between two steps, or during one, is in the agent's state before its next step. Each version
// is there once, and belongs to the client.
func TestUploadsInLockstep(t *testing.T) {
	t.Parallel()
	own := []string{"between.txt <nil> false 2", "first.txt <nil> false 1, mended", "during.txt in/during.txt false 3"}
	t.Run("graph", func(t *testing.T) {
		t.Parallel()
		agent := newFiler()
		g := rig.NewGate(agent, rig.RunPosts, 2)
		b := rig.InFront(t, g, rig.Lockstep)
		at := duringSecond(t, b, g)
		if diff := cmp.Diff([]string{"/first.txt", "/between.txt", "/first.txt /in/during.txt", ""}, agent.came()); diff != "" {
			t.Errorf("files received with the steps (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(own, filesAt(b, at)); diff != "" {
			t.Errorf("artifacts (-want +got):\n%s", diff)
		}
		hasLate(b, at)
	})
	t.Run("step agent", func(t *testing.T) {
		t.Parallel()
		agent := newTaker()
		g := rig.NewGate(agent, rig.StepPosts, 2)
		b := rig.InFront(t, g, rig.Lockstep)
		at := duringSecond(t, b, g)
		if diff := cmp.Diff([]int{1, 1, 2, 0}, agent.came()); diff != "" {
			t.Errorf("files received before the steps (-want +got):\n%s", diff)
		}
		if forms := agent.forms; len(forms) != 4 || !rig.Says(strings.Join(forms[2:], ""), "1, mended") {
			t.Errorf("the agent did not receive the corrected file: %q", forms)
		}
		hasLate(b, at)
		if diff := cmp.Diff(own, filesAt(b, at)); diff != "" {
			t.Errorf("artifacts (-want +got):\n%s", diff)
		}
	})
}

// An upload that cannot be read when a step begins is sent with the next.
func TestUnreadableUploadIsSentWithTheNextStep(t *testing.T) {
	t.Parallel()
	agent := newFiler()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL, rig.Lockstep)})
	cfg.Database = filepath.Join(t.TempDir(), "a.db")
	b := rig.StartBridge(t, cfg)
	at := b.Task(`{"input":"hi"}`)
	b.Upload(at+"/artifacts", "hidden.txt", "", "1").OK()
	b.Upload(at+"/artifacts", "later.txt", "", "2").OK()
	for _, change := range []string{"n + 1000 WHERE CAST(data AS TEXT) = '1'", "n - 1000 WHERE n >= 1000"} {
		if err := rig.SQLOn("file:"+cfg.Database+"?_pragma=busy_timeout(60000)", "UPDATE chunks SET n = "+change); err != nil {
			t.Fatal(err)
		}
		b.Post(at+"/steps", "").OK()
	}
	b.Post(at+"/steps", "").OK()
	if diff := cmp.Diff([]string{"/later.txt", "/hidden.txt /later.txt", ""}, agent.came()); diff != "" {
		t.Errorf("files received with the steps (-want +got):\n%s", diff)
	}
}

// If a client replaces a file while it is sent to the agent, the agent gets the new version.
func TestUploadReplacedWhileItIsSent(t *testing.T) {
	t.Parallel()
	agent := newTaker()
	g := rig.NewGate(agent, func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/artifacts")
	}, 1)
	b := rig.InFront(t, g)
	at := b.Task(`{"input":"hi"}`)
	b.Upload(at+"/artifacts", "big.bin", "", strings.Repeat("old", 5<<20)).OK()
	var first sync.WaitGroup
	var step rig.Answer
	first.Go(func() { step, _ = b.Try(t.Context(), "POST", at+"/steps", "") })
	g.Await(t)
	b.Upload(at+"/artifacts", "big.bin", "", "new").OK()
	g.Open()
	first.Wait()
	if step.Status != 200 || step.At("output") != "1" {
		t.Errorf("the step: %d %.300s", step.Status, step.Body)
	}
	agent.mu.Lock() // the agent may still be reading the broken upload
	defer agent.mu.Unlock()
	if !rig.Says(strings.Join(agent.forms, ""), "\r\n\r\nnew\r\n") {
		t.Errorf("the agent did not receive the new bytes in %d uploads", len(agent.forms))
	}
}
