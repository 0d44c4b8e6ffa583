package main

import (
	"archive/tar"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestDataCommands checks that an owner's data is listed, exported and removed, and the exit codes: 0, 3 if an agent
// keeps something, 1 if something is left.
func TestDataCommands(t *testing.T) {
	t.Parallel()
	const keys = "\nauth:\n  keys:\n    - {id: alice, key: alice-0123456789abcdef, tenant: acme}\n    - {id: root, key: root--0123456789abcdef, rights: [admin]}\n"
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	b := rig.Configured(t, "default_agent: graph"+keys+"agents: {graph: {url: $GRAPH, dialect: threadrun}, step: {url: $STEP, dialect: taskstep}}",
		map[string]http.Handler{"graph": graph, "step": adaptertest.NewStepAgent(adaptertest.Plain)})
	said := func(code int, line string, words ...string) {
		t.Helper()
		p := &program{console.Process{Out: rig.NewConsole(), Err: rig.NewConsole(), Environ: []string{"APBRIDGE_URL=" + b.URL, "APBRIDGE_KEY=root--0123456789abcdef"}}}
		got := p.run(t.Context(), strings.Fields(line))
		all := p.Out.(*rig.Console).String() + p.Err.(*rig.Console).String()
		if got != code || !rig.Says(all, words...) {
			t.Errorf("%s: exit code %d, want %d, and %q in:\n%s", line, got, code, words, all)
		}
	}
	run := func(agent string) {
		t.Helper()
		b.Do("POST", "/runs/wait", `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":"hi"}]},"on_completion":"keep"}`, "X-Api-Key", "alice-0123456789abcdef").Is(200)
	}
	const of = " --owner alice --tenant acme"
	said(0, "data ls"+of, "There is no data of alice of tenant acme")
	said(2, "data ls", "--owner is required")
	said(2, "data export"+of, "--out is required")
	said(2, "data rm"+of, "--yes")
	said(1, "data ls --owner alice --tenant acme --key alice-0123456789abcdef --url http://127.0.0.1:1", "no bridge answers")
	run("graph")
	said(0, "data ls"+of, "threads", "runs", "agent graph, copies of threads: 1")
	said(0, "data ls -o json"+of, `"agent": "graph"`)
	file := filepath.Join(t.TempDir(), "alice.tar")
	said(0, "data export --out "+file+of, "contains all data of alice")
	said(2, "data export --out "+file+of, "already exists")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if h, err := tar.NewReader(f).Next(); err != nil || h.Name != "README.txt" {
		t.Errorf("the archive begins with %v, %v", h, err)
	}
	said(0, "data rm --yes"+of, "removed data of alice: 1 copy, 1 thread")
	run("step")
	said(3, "data rm --yes"+of, "removed data of alice: 1 thread", "agent step keeps ", "no way to delete")
	run("graph")
	graph.Canned = map[string]*adaptertest.Canned{"DELETE /threads/{t}": {Status: 503, Times: 1000}}
	said(1, "data rm --yes -o json --keep-file"+of, `"outcome": "failed"`, "did not delete its copy")
	said(3, "data rm --yes --leave-copies"+of, "agent graph keeps ")
	said(0, "data rm --yes"+of, "removed data of alice: nothing")
}
