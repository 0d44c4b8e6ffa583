package main

import (
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// TestExampleClients runs each example client with agents of both kinds.
func TestExampleClients(t *testing.T) {
	t.Parallel()
	legacy, graph := httptest.NewServer(legacyagent.Handler()), httptest.NewServer(threadagent.Handler())
	t.Cleanup(legacy.Close)
	t.Cleanup(graph.Close)
	for _, agent := range []struct{ name, url string }{{"legacy", legacy.URL}, {"graph", graph.URL}} {
		t.Run(agent.name, func(t *testing.T) {
			t.Parallel()
			p := startProgram(t, nil, "serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--agent", agent.name+"="+agent.url)
			bridge := p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
			for _, c := range []struct {
				needs []string
				file  string
				args  []string
				says  []string
			}{
				{[]string{"bash", "curl"}, "task.sh", nil, []string{"task ", `"is_last":true`, "notes.txt"}},
				{[]string{"bash", "curl"}, "thread.sh", []string{agent.name}, []string{"thread ", "event: updates", `"values":{`}},
				{[]string{"node"}, "task.mjs", nil, []string{"task ", "notes.txt", "Write it in capitals."}},
				{[]string{"node"}, "thread.mjs", []string{agent.name}, []string{"thread ", "you: what did I say before?"}},
			} {
				t.Run(c.file, func(t *testing.T) {
					for _, tool := range c.needs {
						if _, err := exec.LookPath(tool); err != nil {
							t.Skipf("%s is not installed", tool)
						}
					}
					args := append([]string{filepath.Join("..", "..", "examples", "clients", c.file), bridge}, c.args...)
					out, err := exec.CommandContext(t.Context(), c.needs[0], args...).CombinedOutput()
					if err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					for _, text := range c.says {
						if !strings.Contains(string(out), text) {
							t.Errorf("it does not say %q:\n%s", text, out)
						}
					}
				})
			}
			p.stop()
			if code := <-p.code; code != 0 {
				t.Errorf("exit code %d\n%s", code, p.err)
			}
		})
	}
}
