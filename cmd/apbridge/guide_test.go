package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/forgetful"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// guides are the documents whose commands TestGuides runs.
var guides = []struct {
	file, listens string // the address of the agent in it
	agent         func() http.Handler
	promises      int
	configuration string // "": the first one in the document
}{
	{"memory.md", "http://127.0.0.1:8001", forgetful.Handler, 10, ""},
	{"approval.md", "http://127.0.0.1:8000", legacyagent.Handler, 8, ""},
	{"access.md", "http://127.0.0.1:8000", legacyagent.Handler, 5, ""},
	{"troubleshooting.md", "http://127.0.0.1:8000", legacyagent.Handler, 3, ""},
	{"headers.md", "http://127.0.0.1:8000", legacyagent.Handler, 2, ""},
	{"privacy.md", "http://127.0.0.1:8000", legacyagent.Handler, 6, ""},
	{"limits.md", "http://127.0.0.1:8000", legacyagent.Handler, 1, ""},
	{"a2a.md", "http://127.0.0.1:8000", legacyagent.Handler, 6, ""},
	{"metrics.md", "http://127.0.0.1:8000", legacyagent.Handler, 2, ""},
	{"store.md", "http://127.0.0.1:8000", legacyagent.Handler, 1, "listen: 127.0.0.1:8080\nagents: {legacy: {url: 'http://127.0.0.1:8000'}}\n"},
}

func guideFiles() (files []string) {
	for _, guide := range guides {
		files = append(files, guide.file)
	}
	return files
}

// TestGuides runs the commands of documents, with their configuration and their agent. Each line that begins with #
// must be in the output of the command before it.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	for _, guide := range guides {
		t.Run(guide.file, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile("../../docs/" + guide.file)
			if err != nil {
				t.Fatal(err)
			}
			agent := httptest.NewServer(guide.agent())
			t.Cleanup(agent.Close)
			text := guide.configuration
			if text == "" {
				text = regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(raw))[1]
			}
			text = strings.NewReplacer(guide.listens, agent.URL, "127.0.0.1:8080", "127.0.0.1:0").Replace(text)
			file := filepath.Join(t.TempDir(), "apbridge.yaml")
			rig.WriteFile(t, file, text)
			follow(t, string(raw), file, guide.promises)
		})
	}
}

// follow starts a bridge with the configuration and runs the document's commands.
func follow(t *testing.T, document, configuration string, least int) {
	t.Helper()
	p := startProgram(t, nil, "serve", "--config", configuration, "--database", filepath.Join(t.TempDir(), "a.db"))
	bridge := p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	script, promises := guideScript(document)
	sh := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(script, "http://127.0.0.1:8080", bridge))
	sh.Dir, sh.Env = t.TempDir(), append(rig.PlainEnvironment(), "PATH="+filepath.Dir(rig.Binary(t))+":"+os.Getenv("PATH"))
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	keeps(t, promises, string(out), least)
	p.stop()
	if code := <-p.code; code != 0 {
		t.Errorf("exit code %d\n%s", code, p.err)
	}
}

// keeps compares the output of a document's commands with its promises, of which there must be at least a number.
func keeps(t *testing.T, promises []string, printed string, least int) {
	t.Helper()
	answers := strings.Split(printed, "\x1e")
	if len(promises) < least || len(answers) != len(promises)+1 {
		t.Fatalf("%d promises, %d answers", len(promises), len(answers))
	}
	for i, promise := range promises {
		if !strings.Contains(answers[i], promise) {
			t.Errorf("answer %d is %s, not %s", i, answers[i], promise)
		}
	}
}

// guideScript returns the sh blocks of a document as a script, with a mark after each output that has a promise.
func guideScript(document string) (script string, promises []string) {
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(document, -1) {
		for line := range strings.Lines(block[1]) {
			if promise, ok := strings.CutPrefix(line, "# "); ok {
				promises = append(promises, strings.TrimSpace(promise))
				line = `printf '\036'` + "\n"
			}
			script += line
		}
	}
	return script, promises
}
