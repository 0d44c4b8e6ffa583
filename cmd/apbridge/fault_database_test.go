package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// usedDatabase returns the file of a bridge that has worked and ended.
func usedDatabase(t *testing.T) string {
	t.Helper()
	cfg := rig.ConfigFor(t, rig.AgentsAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL))
	cfg.Database = filepath.Join(t.TempDir(), "bridge.db")
	b := rig.StartBridge(t, cfg)
	for range 8 {
		b.Post(b.Thread()+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	}
	b.End()
	return cfg.Database
}

// flip inverts a bit of the first byte of each page from the second on. That byte is the type of the page.
func flip(file string) error {
	data, err := os.ReadFile(file)
	for at := 4096; at < len(data); at += 4096 {
		data[at] ^= 1
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// TestDatabaseThatCannotBeUsed checks that apbridge serve exits with 1 and names the file, the problem and the remedy.
func TestDatabaseThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		harm  func(t *testing.T, file string) error
		words []string
	}{
		"bits flipped": {func(_ *testing.T, file string) error { return flip(file) }, []string{"damaged", "backup"}},
		"truncated":    {func(_ *testing.T, file string) error { return os.Truncate(file, 5*4096) }, []string{"truncated", "backup"}},
		"read-only":    {func(_ *testing.T, file string) error { return os.Chmod(file, 0o444) }, []string{"read-only", "writable"}},
		"newer": {func(_ *testing.T, file string) error {
			return rig.SQLOn(file, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
		}, []string{"newer", "999", "Use that version"}},
		"missing": {func(_ *testing.T, file string) error { return os.Remove(file) }, []string{"missing", "backup"}},
		"in use": {func(t *testing.T, file string) error {
			cfg := rig.ConfigFor(t, rig.AgentsAt("http://127.0.0.1:1"))
			cfg.Database = file
			rig.StartBridge(t, cfg)
			return nil
		}, []string{"another process", "Stop that one first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := usedDatabase(t)
			if err := tt.harm(t, file); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			p := &program{console.Process{Out: &out, Err: &errs}}
			if code := p.run(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "--agent", "a=http://127.0.0.1:1", "--database", file}); code != 1 {
				t.Errorf("exit code %d", code)
			}
			if !rig.Says(errs.String(), append(tt.words, file)...) {
				t.Errorf("it said %s", &errs)
			}
		})
	}
}
