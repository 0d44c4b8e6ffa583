package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// TestBenchReportsNoSecrets checks that no secret from the command line or from the name of a started agent is in the
// output.
func TestBenchReportsNoSecrets(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	written := []string{"--report", in("a.json"), "--junit", in("a.xml"), "--markdown", in("a.md"), "--jsonl", in("a.jsonl")}
	args := append(append([]string{"bench", "--only", "WriteWord"}, written...), childAgent()...)
	code, out, errs := command(t, append(os.Environ(), "BENCH_CHILD=serves"), append(args, "--", "--api-key=hunter2", "http://me:hunter2@h")...)
	if code != 0 || strings.Contains(out+errs, "hunter2") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for i := 1; i < len(written); i += 2 {
		raw, err := os.ReadFile(written[i])
		if err != nil || strings.Contains(string(raw), "hunter2") {
			t.Errorf("%v: %s", err, raw)
		}
	}
	raw, err := os.ReadFile(in("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	holds(t, string(raw), `"command": "apbridge bench --only WriteWord --report `, "-test.run=^TestChildAgent$ -- --api-key=[hidden] http://[hidden]@h")
	file := in("agents.yaml")
	rig.WriteFile(t, file, "agents: {mine: {url: '"+serving(t, legacyagent.Handler())+"/?key=hunter2'}}")
	if _, out, errs := command(t, nil, "bench", "--only", "WriteWord", "--agent", "mine", "--config", file, "--keep", in("kept")); strings.Contains(out+errs, "hunter2") {
		t.Errorf("%s%s", out, errs)
	}
}
