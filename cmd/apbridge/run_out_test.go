package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// TestRunSavesAllFilesThatItCan checks that a file that cannot be saved is named with the reason, and that the
// following ones are saved.
func TestRunSavesAllFilesThatItCan(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(&adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"done"`, Last: true, Files: [][2]string{{"a.txt", "1"}, {"b.txt", "2"}, {"c/d.txt", "3"}, {"e.txt", "4"}}},
	}})
	defer agent.Close()
	out := t.TempDir()
	if err := os.Mkdir(filepath.Join(out, "b.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "c"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, said, errs := command(t, nil, "run", agent.URL, "hi", "--out", out)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	holds(t, said, "saved "+out+"/a.txt\n", "saved "+out+"/e.txt\n")
	holds(t, errs, "2 of the agent's 4 files could not be saved in "+out+":\n  /b.txt: is a directory\n  /c/d.txt: ")
	if text, err := os.ReadFile(filepath.Join(out, "e.txt")); err != nil || string(text) != "4" {
		t.Errorf("the last file: %q, %v", text, err)
	}
}
