package backend

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// failed runs a task up to the failure of its third step, and returns the engine's view of it.
func failed(t *testing.T, b adapter.Backend, files *adaptertest.Files) (adapter.Assignment, adaptertest.Trace) {
	t.Helper()
	task := adaptertest.NewTask(files)
	tr := runTask(t, b, task)
	mustFail(t, tr, mapping.CodeUpstreamError)
	for _, ev := range tr.Events {
		task.Task.Uploaded = max(task.Task.Uploaded, ev.Head.Uploaded)
	}
	return again(task, tr.Events), tr
}

func compare(t *testing.T, ctx context.Context, b adapter.Backend, task adapter.Assignment) (update mapping.Event, changed bool) {
	t.Helper()
	var err error
	update, changed, err = b.(adapter.FileComparer).CompareFiles(ctx, &task)
	if err != nil {
		t.Fatal(err)
	}
	if changed && (!update.WithEnd || update.Head.Step != nil || !update.Head.Reduce) {
		t.Errorf("the update is %+v", update)
	}
	return update, changed
}

// skippedAtEnd returns the skipped files of an update, by path.
func skippedAtEnd(t *testing.T, update mapping.Event) map[string]string {
	t.Helper()
	var delta struct {
		Messages []struct {
			Kwargs struct {
				Apbridge struct {
					Skipped []struct{ Path, Reason string } `json:"skipped_files"`
				}
			} `json:"additional_kwargs"`
		}
	}
	if err := json.Unmarshal(update.Data, &delta); err != nil && update.Data != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range delta.Messages {
		for _, f := range m.Kwargs.Apbridge.Skipped {
			all[f.Path] = f.Reason
		}
	}
	return all
}

// TestFileRewrittenBeforeAFailure checks that the thread has the agent's files after a failed run, and that a second
// comparison finds nothing.
func TestFileRewrittenBeforeAFailure(t *testing.T) {
	t.Parallel()
	for _, kind := range silentKinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agent, files := rewriting(kind), uploaded()
			agent.Script[2] = adaptertest.ScriptStep{Fault: adaptertest.HTML500}
			b := backendOf(t, agent)
			task, tr := failed(t, b, files)
			update, changed := compare(t, t.Context(), b, task)
			if skipped := skippedAtEnd(t, update); !changed || len(skipped) > 0 {
				t.Errorf("changed %v, skipped %v", changed, skipped)
			}
			checkRewritten(t, agent, files, tr, adaptertest.Trace{Events: []mapping.Event{update}})
			if _, changed := compare(t, t.Context(), b, task); changed || agent.Work() != 2 {
				t.Errorf("second comparison: changed %v; the agent did %d steps", changed, agent.Work())
			}
		})
	}
}

// TestNewArtifactAtEveryWrite checks that the list of an agent that names each new version in a step is not used,
// because its order is undefined.
func TestNewArtifactAtEveryWrite(t *testing.T) {
	t.Parallel()
	agent, files := adaptertest.NewStepAgent(adaptertest.Evo), adaptertest.NewFiles(nil)
	agent.Script[0].Files = [][2]string{{"a.txt", "one"}}
	agent.Script[1].Files = [][2]string{{"a.txt", "two"}}
	agent.Script[2] = adaptertest.ScriptStep{Fault: adaptertest.HTML500}
	b := backendOf(t, agent)
	task, _ := failed(t, b, files)
	_, changed := compare(t, t.Context(), b, task)
	if got, _ := files.Content("a.txt"); changed || got != "two" {
		t.Errorf("changed %v, the file is %q", changed, got)
	}
}

// TestUnreadableFilesAtTheEnd checks that possibly outdated files are named when time runs out, and that nothing is
// reported if there are no files.
func TestUnreadableFilesAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hangs *regexp.Regexp
		files *adaptertest.Files
		want  []string
	}{
		"its list":              {regexp.MustCompile(`/artifacts$`), uploaded(), []string{""}},
		"its list, no files":    {regexp.MustCompile(`/artifacts$`), adaptertest.NewFiles(nil), nil},
		"the bytes of a file":   {regexp.MustCompile(`/artifacts/`), uploaded(), []string{"idle.txt", "in.txt"}},
		"nothing of it, at all": {regexp.MustCompile(`none of its paths`), uploaded(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := rewriting(adaptertest.Forge)
			agent.Script[0].Files, agent.Script[1].Rewrites = nil, nil
			agent.Script[2] = adaptertest.ScriptStep{Fault: adaptertest.HTML500}
			srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && c.hangs.MatchString(r.URL.Path) {
					<-r.Context().Done()
					return
				}
				agent.ServeHTTP(w, r)
			}))
			b := backendAt(t, srv.URL)
			task, _ := failed(t, b, c.files)
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
			defer stop()
			update, changed := compare(t, ctx, b, task)
			skipped := skippedAtEnd(t, update)
			if len(skipped) != len(c.want) || changed != (len(skipped) > 0) {
				t.Errorf("changed %v, skipped %q, want %q", changed, skipped, c.want)
			}
			for _, path := range c.want {
				if !strings.Contains(skipped[path], "after the run had ended") {
					t.Errorf("%q: %q", path, skipped[path])
				}
			}
		})
	}
}
