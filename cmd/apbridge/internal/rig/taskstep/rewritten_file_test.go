package taskstep

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// rewriting returns an agent that writes a file in its first step and rewrites it, like an upload, in its second. It
// reports the file only in its first step.
func rewriting() *adaptertest.StepAgent {
	return &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
		{Output: `"one"`, Files: [][2]string{{"a.txt", "one"}}},
		{Output: `"two"`, Rewrites: [][2]string{{"a.txt", "two"}, {"in.txt", "rewritten"}}},
		{Output: `"three"`, Last: true},
	}}
}

// contentAt returns the content of a file in the files object of a state.
func contentAt(files any, path string) any {
	object, _ := files.(map[string]any)
	return rig.Dig(object[path], "content")
}

// TestFileRewrittenInTheSameRun checks that the files read at the end of a run are the agent's newest, and that the
// next turn does not send it older ones.
func TestFileRewrittenInTheSameRun(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"free": rig.Free, "run": rig.Whole, "lockstep": rig.Lockstep} {
		t.Run("v1/"+name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, rewriting(), mode)
			at := b.Task(`{"input":"hi"}`)
			b.Upload(at+"/artifacts", "in.txt", "", "as it came").OK()
			rig.PullAll(t, b, at, "")
			contents := map[string]string{}
			for _, a := range b.Get(at + "/artifacts").OK().List("artifacts") {
				id, _ := rig.Dig(a, "artifact_id").(string)
				contents[rig.Dig(a, "file_name").(string)] = string(b.Get(at + "/artifacts/" + id).OK().Body)
			}
			if contents["a.txt"] != "two" || contents["in.txt"] != "rewritten" {
				t.Errorf("artifacts: %v", contents)
			}
			values := b.Get(rig.ThreadOfTask(at)).OK()
			if files := values.At("values.files"); contentAt(files, "/a.txt") != "two" || contentAt(files, "/in.txt") != "rewritten" {
				t.Errorf("state %s", values.Body)
			}
		})
	}
	t.Run("threads and runs", func(t *testing.T) {
		t.Parallel()
		agent := rewriting()
		b := rig.InFront(t, agent)
		thread := "/threads/" + b.Post("/threads", `{}`).OK().Text("thread_id")
		body := `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}],"files":{"/in.txt":"as it came"}}}`
		values := b.Post(thread+"/runs/wait", body).OK()
		if files := values.At("files"); contentAt(files, "/a.txt") != "two" || contentAt(files, "/in.txt") != "rewritten" {
			t.Errorf("state %s", values.Body)
		}
		b.Post(thread+"/runs/wait", body).OK()
		if got, _ := agent.Received("a.txt"); got != "two" {
			t.Errorf("the next turn's task has %q", got)
		}
	})
}

// TestSkippedFilesAreReportedToBothFaces checks that a file that cannot be downloaded is named for clients of either
// dialect, and that the run succeeds.
func TestSkippedFilesAreReportedToBothFaces(t *testing.T) {
	t.Parallel()
	peer := func() http.Handler {
		agent := &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
			{Output: `"one"`, Files: [][2]string{{"日本.txt", "x"}, {"half.bin", strings.Repeat("x", 1<<20)}, {"big.bin", strings.Repeat("x", 3<<20)}, {"good.txt", "ok"}}},
			{Output: `"two"`, Last: true},
		}}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/artifacts/00000000-dddd-4000-8000-000000000001"):
				http.Error(w, "Internal Server Error", http.StatusInternalServerError) // like forge, AutoGPT's server, for names outside of Latin-1
			case strings.HasSuffix(r.URL.Path, "/artifacts/00000000-dddd-4000-8000-000000000002"):
				w.Header().Set("Content-Length", "1000000")
				_, _ = w.Write(make([]byte, 5000))
				panic(http.ErrAbortHandler)
			default:
				agent.ServeHTTP(w, r)
			}
		})
	}
	check := func(t *testing.T, where string, list any) {
		t.Helper()
		entries, _ := list.([]any)
		reasons := map[any]string{}
		for _, e := range entries {
			reasons[rig.Dig(e, "path")], _ = rig.Dig(e, "reason").(string)
		}
		if len(reasons) != 3 || !rig.Says(reasons["日本.txt"], "500") || !rig.Says(reasons["half.bin"], "broke off") || !rig.Says(reasons["big.bin"], "limits.artifact") {
			t.Errorf("%s: %v", where, list)
		}
	}
	bridgeTo := func(t *testing.T, mode func(*config.Agent)) *rig.Bridge {
		cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, peer()).URL, mode)})
		cfg.Limits.Artifact = 2 << 20
		return rig.StartBridge(t, cfg)
	}
	for name, mode := range map[string]func(*config.Agent){"free": rig.Free, "run": rig.Whole, "lockstep": rig.Lockstep} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bridgeTo(t, mode)
			at := b.Task(`{"input":"hi"}`)
			steps := rig.PullAll(t, b, at, "")
			check(t, "the first step", steps[0].At("additional_output.skipped_files"))
			check(t, "the last step", steps[len(steps)-1].At("additional_output.skipped_files"))
			if list := b.Get(at + "/artifacts").OK().List("artifacts"); len(list) != 1 {
				t.Errorf("artifacts: %v", list)
			}
		})
	}
	t.Run("threads and runs", func(t *testing.T) {
		t.Parallel()
		b := bridgeTo(t, rig.Free)
		values := b.Post("/runs/wait", `{"assistant_id":"agent","input":"hi"}`).OK()
		messages := values.List("messages")
		check(t, "the last message", rig.Dig(messages[len(messages)-1], "additional_kwargs.apbridge.skipped_files"))
		if files := values.At("files"); contentAt(files, "/good.txt") != "ok" || contentAt(files, "/half.bin") != nil {
			t.Errorf("state %s", values.Body)
		}
	})
}
