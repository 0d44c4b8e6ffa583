package backend

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/google/go-cmp/cmp"
)

// skippedIn returns the skipped files of a trace's steps, by path.
func skippedIn(t *testing.T, tr adaptertest.Trace) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, ev := range tr.Outputs() {
		_, additional := rule.StepSaid(&ev)
		var said struct {
			Skipped []struct {
				Path, Reason string
				Remote       string `json:"upstream_artifact_id"`
			} `json:"skipped_files"`
		}
		if additional == nil {
			continue
		}
		if err := json.Unmarshal(additional, &said); err != nil {
			t.Fatalf("additional output %s: %v", additional, err)
		}
		for _, f := range said.Skipped {
			if f.Path != "" && f.Remote == "" {
				t.Errorf("%s has no id of the agent", f.Path)
			}
			all[f.Path] = f.Reason
		}
	}
	return all
}

// breaking cuts the first n downloads in the middle.
func breaking(agent http.Handler, n int64, chunked bool) http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/artifacts/") || asked.Add(1) > n {
			agent.ServeHTTP(w, r)
			return
		}
		whole := strings.Repeat("x", 600<<10)
		if !chunked {
			w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		}
		_, _ = io.WriteString(w, whole[:len(whole)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
}

// credulous is a thread that accepts an incomplete body.
type credulous struct{ *adaptertest.Files }

func (c credulous) Save(ctx context.Context, path, remoteID, mediaType string, body io.Reader) (mapping.Artifact, error) {
	b, _ := io.ReadAll(body)
	return c.Files.Save(ctx, path, remoteID, mediaType, strings.NewReader(string(b)))
}

// TestDownloadThatBreaks checks that a broken GET is retried once. If it breaks again, the file is omitted, the client
// is informed, and the run continues.
func TestDownloadThatBreaks(t *testing.T) {
	t.Parallel()
	for name, chunked := range map[string]bool{"Content-Length": false, "chunked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent, files := adaptertest.NewStepAgent(adaptertest.Plain), adaptertest.NewFiles(nil)
			tr := runTask(t, backendAt(t, adaptertest.Serve(t, breaking(agent, 1, chunked)).URL), adaptertest.NewTask(files))
			mustSucceed(t, tr)
			if got, _ := files.Content("out/result.txt"); got != "42" || len(skippedIn(t, tr)) != 0 {
				t.Errorf("broken once: the file is %d bytes, skipped %v", len(got), skippedIn(t, tr))
			}

			agent, files = adaptertest.NewStepAgent(adaptertest.Plain), adaptertest.NewFiles(nil)
			for what, thread := range map[string]adapter.Files{"": files, "a thread that sees no break": credulous{adaptertest.NewFiles(nil)}} {
				task := adaptertest.NewTask(nil)
				task.Files = thread
				tr = runTask(t, backendAt(t, adaptertest.Serve(t, breaking(agent, 1000, chunked)).URL), task)
				mustSucceed(t, tr)
				for _, ev := range tr.Outputs() {
					if len(ev.Head.Artifacts) > 0 {
						t.Errorf("%s: an incomplete file is an artifact", what)
					}
				}
				want := map[string]string{"out/result.txt": "The download broke off before the end of the file."}
				if diff := cmp.Diff(want, skippedIn(t, tr)); diff != "" || len(filesOf(t, tr)) != 0 {
					t.Errorf("%s: skipped (-want +got):\n%s", what, diff)
				}
			}
			if files.Saves() != 0 {
				t.Error("half a file was kept")
			}
		})
	}
}

// TestDownloadThatIsNotAnswered checks that an unanswered GET does not count as the end of the file.
func TestDownloadThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	agent, files := adaptertest.NewStepAgent(adaptertest.Forge), adaptertest.NewFiles(nil)
	var asked atomic.Int64
	srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/artifacts/") && asked.Add(1) <= 2 {
			panic(http.ErrAbortHandler)
		}
		agent.ServeHTTP(w, r)
	}))
	tr := runTask(t, backendAt(t, srv.URL), adaptertest.NewTask(files))
	mustSucceed(t, tr)
	if got, _ := files.Content("out/result.txt"); got != "42" {
		t.Errorf("the file is %q, skipped %v", got, skippedIn(t, tr))
	}
}

// TestSkippedFilesAreReported checks that skipped files are named in their step or, if nothing has changed, in the last
// one, even for steps without text.
func TestSkippedFilesAreReported(t *testing.T) {
	t.Parallel()
	for name, output := range map[string]string{"words": `"words"`, "none": "", "empty": `""`, "object": `{"a":1}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.JS)
			agent.Script = []adaptertest.ScriptStep{
				{Output: output, Files: [][2]string{{"../climbs", "evil"}, {".hidden", "404"}, {"huge", strings.Repeat("x", 1<<20+1)}, {"good", "ok"}}},
				{Output: output, Last: true},
			}
			tr := runTask(t, backendOf(t, agent), adaptertest.NewTask(nil))
			mustSucceed(t, tr)
			for i, step := range tr.Outputs() {
				got := skippedIn(t, adaptertest.Trace{Events: []mapping.Event{step}})
				if len(got) != 3 || !strings.Contains(got[".hidden"], "404") || !strings.Contains(got["huge"], "1048576 bytes") || got["../climbs"] == "" {
					t.Errorf("step %d: %v", i+1, got)
				}
				said, _ := rule.StepSaid(&step)
				if want := output; string(said) != want {
					t.Errorf("step %d: the output is %s, want %s", i+1, said, want)
				}
			}
		})
	}
}

// TestSkippedUntilItIsThere checks that a file that could be downloaded later is not reported as missing.
func TestSkippedUntilItIsThere(t *testing.T) {
	t.Parallel()
	agent, files := adaptertest.NewStepAgent(adaptertest.Plain), adaptertest.NewFiles(nil)
	tr := runTask(t, backendAt(t, adaptertest.Serve(t, breaking(agent, 2, false)).URL), adaptertest.NewTask(files))
	mustSucceed(t, tr)
	steps := tr.Outputs()
	for i, want := range []int{0, 1, 0} {
		if got := skippedIn(t, adaptertest.Trace{Events: steps[i : i+1]}); len(got) != want {
			t.Errorf("step %d names %v, want %d", i+1, got, want)
		}
	}
	if got, _ := files.Content("out/result.txt"); got != "42" {
		t.Errorf("the file is %q", got)
	}
}

// TestFileThatCannotBeCompared checks that the thread keeps its version, and that the client is informed that it may be
// outdated.
func TestFileThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	agent := rewriting(adaptertest.Forge)
	var asked atomic.Int64
	srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/artifacts/") && asked.Add(1) > 2 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		agent.ServeHTTP(w, r)
	}))
	files := uploaded()
	tr := runTask(t, backendAt(t, srv.URL), adaptertest.NewTask(files))
	mustSucceed(t, tr)
	got := skippedIn(t, tr)
	for _, path := range []string{"a.txt", "kept.txt", "in.txt", "idle.txt"} {
		if !strings.Contains(got[path], "500") || !strings.Contains(got[path], "keeps its previous bytes") {
			t.Errorf("%s: %q", path, got[path])
		}
	}
	if content, _ := files.Content("a.txt"); content != "one" {
		t.Errorf("a.txt is %q", content)
	}
}
