package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// C7: whatever clients have read of a database of version 5 to 12 of the schema, they read of it after the upgrade;
// members may be added. testdata/older has the database that the last build with that version of the schema left when
// it was stopped, in front of the agent of examples/legacyagent, and what it had answered of it (its commit is named
// there). They are never made anew.
//
// There is none of versions 1 to 4: the schemas that builds had as 1 and 2 are not those of today's migrations, and 3
// and 4 came with 5, in one commit. There is none of version 10, which was that of one commit, and that does not build.
// Of those there is the fixture in proxy/store alone, whose rows no build of that version wrote.
func TestC7DatabasesOfOlderBuilds(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	files, err := filepath.Glob("testdata/older/*.txtar")
	if err != nil || len(files) != 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".txtar")
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			answers, err := txtar.ParseFile(file)
			if err != nil || len(answers.Files) < 14 {
				t.Fatal(len(answers.Files), err)
			}
			b := rig.StartBridge(t, ofOlderBuild(t, name+".db.gz"))
			for _, f := range answers.Files {
				checkAnsweredAsBefore(t, b, f)
			}
		})
	}
}

// ofOlderBuild is a configuration for a copy of a database, whose agent is not there any more.
func ofOlderBuild(t *testing.T, file string) *config.Config {
	t.Helper()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"legacy": rig.AgentAt("http://127.0.0.1:1")})
	cfg.DefaultAgent, cfg.Retention.Events = "legacy", 0 // what is old by now is to be there
	cfg.Database = filepath.Join(t.TempDir(), "older.db")
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	rig.WriteFile(t, cfg.Database, string(raw))
	return cfg
}

// checkAnsweredAsBefore asks what f is called: a method, a path and, where there is one, a body.
func checkAnsweredAsBefore(t *testing.T, b *rig.Bridge, f txtar.File) {
	t.Helper()
	method, rest, _ := strings.Cut(f.Name, " ")
	path, body, _ := strings.Cut(rest, " ")
	got := b.Do(method, path, body)
	status, want, _ := strings.Cut(strings.TrimSpace(string(f.Data)), " ")
	if fmt.Sprint(got.Status) != status {
		t.Errorf("%s: %d, was %s", f.Name, got.Status, status)
	}
	before, now := valueOf(want), valueOf(got.String())
	if diff := cmp.Diff(before, withoutNewer(before, now)); diff != "" {
		t.Errorf("%s (-before +now):\n%s", f.Name, diff)
	}
}

// valueOf is an answer as a value; a text that is no JSON is itself.
func valueOf(answer string) (v any) {
	if json.Unmarshal([]byte(answer), &v) != nil {
		return strings.TrimSpace(answer)
	}
	return v
}

// withoutNewer is now without the members that before has not. A task is modified by its newest step, too, which it was
// not before.
func withoutNewer(before, now any) any {
	switch b := before.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		if !ok {
			return now
		}
		out := map[string]any{}
		for name := range b {
			if v, ok := n[name]; ok {
				out[name] = withoutNewer(b[name], v)
			}
		}
		if _, file := b["artifact_id"]; !file && out["modified_at"] != nil {
			out["modified_at"] = b["modified_at"]
		}
		return out
	case []any:
		n, ok := now.([]any)
		if !ok || len(n) != len(b) {
			return now
		}
		out := make([]any, len(b))
		for i := range b {
			out[i] = withoutNewer(b[i], n[i])
		}
		return out
	}
	return now
}
