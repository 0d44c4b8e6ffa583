package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestOperationsGuide runs the commands of docs/operations.md with the built program.
func TestOperationsGuide(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	raw, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	admin := rig.FreeAddress(t)
	folder, moved := t.TempDir(), "moved.db"
	if storetest.Served(t) {
		moved = storetest.Schema(t)
	}
	p := startProgram(t, []string{"APBRIDGE_ADMIN=" + admin}, "serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(folder, "apbridge.db"), "--agent", "legacy="+serving(t, legacyagent.Handler()))
	url := p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	asShown(t, string(raw), folder, strings.NewReplacer("http://127.0.0.1:8080", url, "127.0.0.1:8081", admin, "postgres://apbridge@127.0.0.1:5432/apbridge", moved), 14)
}

// TestConfigurationGuide runs the commands of docs/configuration.md with the built program.
func TestConfigurationGuide(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	raw, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	asShown(t, string(raw), t.TempDir(), strings.NewReplacer("http://127.0.0.1:8000", serving(t, legacyagent.Handler())), 4)
}

// TestRecordingGuide runs the commands of docs/inspector.md in the same way.
func TestRecordingGuide(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	raw, err := os.ReadFile("../../docs/inspector.md")
	if err != nil {
		t.Fatal(err)
	}
	asShown(t, string(raw), t.TempDir(), strings.NewReplacer("http://127.0.0.1:8000", serving(t, legacyagent.Handler())), 2)
}

// asShown runs a document's commands in a folder with the built program, after replacements in the commands.
func asShown(t *testing.T, document, folder string, replaced *strings.Replacer, promised int) {
	t.Helper()
	script, promises := guideScript(document)
	sh := exec.CommandContext(t.Context(), "bash", "-e", "-c", replaced.Replace(script))
	sh.Dir = folder
	sh.Env = append(rig.PlainEnvironment(), "PATH="+filepath.Dir(rig.Binary(t))+":"+os.Getenv("PATH"))
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	keeps(t, promises, string(out), promised)
}
