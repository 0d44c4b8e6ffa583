package operate

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/zap"
)

// testdata/before has what the build of commit 6a57d61b left: the database of a bridge that was stopped in order, what
// it had answered of it, and the files of one that was killed with runs in its redo log. They are never made anew. An
// item of the first has a time to live, which ends in May 2036.
const beforeFiles = "testdata/before"

// changed are the members that say something else since, on purpose; those of artifacts do not.
var changed = map[string]string{
	"modified_at": "a task is modified by its newest step, too",
	"score":       "a text is ranked by its words, not only found",
}

// C7: whatever clients have read of an older database, they read of it after the upgrade; members may be added.
func TestC7TheAnswersOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	cfg := before(t, filepath.Join(beforeFiles, "stopped.db"))
	b := rig.StartBridge(t, cfg)
	checkAnsweredAsBefore(t, b, filepath.Join(beforeFiles, "answers.txtar"), 20)
}

// checkAnsweredAsBefore asks what the answers of a file are called, at least so many: a method, a path and, where there
// is one, a body.
func checkAnsweredAsBefore(t *testing.T, b *rig.Bridge, file string, least int) {
	t.Helper()
	answers, err := txtar.ParseFile(file)
	if err != nil || len(answers.Files) < least {
		t.Fatal(len(answers.Files), err)
	}
	for _, f := range answers.Files {
		method, rest, _ := strings.Cut(f.Name, " ")
		path, body, _ := strings.Cut(rest, " ")
		got := b.Do(method, path, body)
		status, want, _ := strings.Cut(strings.TrimSpace(string(f.Data)), " ")
		if fmt.Sprint(got.Status) != status {
			t.Errorf("%s: %d, was %s", f.Name, got.Status, status)
		}
		if diff := cmp.Diff(was(want), kept(was(want), was(got.String()))); diff != "" {
			t.Errorf("%s (-before +now):\n%s", f.Name, diff)
		}
	}
}

// was is an answer as a value; a text that is no JSON is itself.
func was(text string) (v any) {
	if json.Unmarshal([]byte(text), &v) != nil {
		return strings.TrimSpace(text)
	}
	return v
}

// kept is got without the members that want has not.
func kept(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		_, file := w["artifact_id"]
		out := map[string]any{}
		for name := range w {
			if v, ok := g[name]; ok && changed[name] != "" && !file {
				out[name] = w[name]
			} else if ok {
				out[name] = kept(w[name], v)
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		out := make([]any, len(w))
		for i := range w {
			out[i] = kept(w[i], g[i])
		}
		return out
	}
	return got
}

// C7: runs that a killed bridge of that version has in its redo log alone are not passed over: the start is refused
// with what to do, and the files stay as they are.
func TestC7TheRedoLogOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	cfg := before(t, filepath.Join(beforeFiles, "killed.db"), "-wal", "-redo")
	for range 2 {
		_, err := bridge.New(t.Context(), cfg, bridge.Dialects(), zap.NewNop())
		if err == nil || !rig.Says(err.Error(), cfg.Database+"-redo holds runs", "09ca291d", "SIGTERM", "delete that file") {
			t.Fatalf("the start: %v", err)
		}
	}
	if err := os.Remove(cfg.Database + "-redo"); err != nil {
		t.Fatal(err)
	}
	b := rig.StartBridge(t, cfg)
	if runs := b.Post("/threads/search", `{"limit":100}`).OK().List(""); len(runs) != 5 {
		t.Errorf("%d threads without the log, want the 5 of the database", len(runs))
	}
}

// before is a configuration for the files of a database of that version, whose agents are not there.
func before(t *testing.T, packed string, beside ...string) *config.Config {
	t.Helper()
	nowhere := rig.AgentAt("http://127.0.0.1:1")
	cfg := rig.ConfigFor(t, map[string]config.Agent{"legacy": nowhere, "graph": nowhere})
	cfg.DefaultAgent, cfg.Retention.Events = "", 0 // what is old by now is to be there
	cfg.Database = filepath.Join(t.TempDir(), filepath.Base(packed))
	for _, end := range append(beside, "") {
		file, err := os.Open(packed + end + ".gz")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		unpacked, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(unpacked)
		if err == nil {
			err = os.WriteFile(cfg.Database+end, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}
