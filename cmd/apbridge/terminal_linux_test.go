package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/mapping"
)

// acting is agent output with effects on a terminal: colours, a title, a cleared screen, an overwritten line, and
// reversed text.
const acting = "\x1b[31mred\x1b[0m \x1b]0;title\a \x1b[2J \u009b2J a\rb \b\x7f \u202egpj.exe \u2066x\u2069 \u2028"

// inert reports whether text has no effect on a terminal.
func inert(s string) bool { return string(mapping.Visible([]byte(s))) == s }

// TestAgentsAndTerminals checks that escape sequences in an agent's steps, questions and errors are shown as text on a
// terminal and passed unchanged to a pipe (E22).
func TestAgentsAndTerminals(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(&adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: jsonText(acting), Last: true}}})
	t.Cleanup(agent.Close)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"detail":%s}`, jsonText(acting))
	}))
	t.Cleanup(refuses.Close)
	for _, args := range [][]string{{"run", agent.URL, "hi"}, {"run", refuses.URL, "hi"}, {"doctor", "--agent", "a=" + refuses.URL}, {"run", acting + "\x9b2J", "hi"}} {
		tty, screen := rig.OpenTerminal(t)
		p := &program{console.Process{Out: console.Of(tty), Err: console.Of(tty), Environ: []string{"NO_COLOR=1"}}}
		p.run(t.Context(), args)
		if got := strings.ReplaceAll(screen(), "\r\n", "\n"); !inert(got) || got == "" {
			t.Errorf("apbridge %s shows %q", args, got)
		}
	}
	var piped bytes.Buffer
	if code := (&program{console.Process{Out: &piped, Err: io.Discard}}).run(context.WithoutCancel(t.Context()), []string{"run", agent.URL, "hi"}); code != 0 || !strings.Contains(piped.String(), acting) {
		t.Errorf("a pipe gets %q, code %d", piped.String(), code)
	}
}

// An agent's question is asked on the terminal, and the files that it creates are saved.
func TestRunAsksOnATerminal(t *testing.T) {
	t.Parallel()
	agent, out := httptest.NewServer(legacyagent.Handler()), filepath.Join(t.TempDir(), "out")
	t.Cleanup(agent.Close)
	for _, x := range []struct {
		typed string
		code  int
		says  []string
	}{
		{"blue\n", 0, []string{"the agent asks: What shall the file say?\n> ", "finish: Done: ask me", "saved " + out + "/answer.txt"}},
		{"\x04", 1, []string{"(not answered; the run ends here)"}}, // Ctrl-D
	} {
		tty, screen := rig.OpenTyped(t, x.typed)
		p := &program{console.Process{In: tty, Out: console.Of(tty), Err: console.Of(tty), Environ: []string{"NO_COLOR=1"}}}
		if code := p.run(t.Context(), []string{"run", agent.URL, "ask me", "--out", out}); code != x.code {
			t.Errorf("typed %q: exit code %d, want %d", x.typed, code, x.code)
		}
		holds(t, strings.ReplaceAll(screen(), "\r\n", "\n"), x.says...)
	}
	if text, err := os.ReadFile(filepath.Join(out, "answer.txt")); err != nil || !strings.Contains(string(text), "You told me: blue") {
		t.Errorf("the file is %q, %v", text, err)
	}
}

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestServeLeadsAPersonToTheInspector checks for a separate line after the log's lines, only on a terminal.
func TestServeLeadsAPersonToTheInspector(t *testing.T) {
	t.Parallel()
	tty, screen := rig.OpenPair(t)
	t.Cleanup(func() { _ = screen.Close() })
	ctx, stop := context.WithCancel(t.Context())
	p := &program{console.Process{Out: console.Of(tty), Err: console.Of(tty)}}
	code := make(chan int, 1)
	go func() {
		code <- p.run(ctx, []string{"serve", "--agent", "a=http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db")})
		_ = tty.Close()
	}()
	found := false
	for lines := bufio.NewScanner(screen); lines.Scan(); { // ends when no writer is left
		if strings.HasPrefix(lines.Text(), "Open http://127.0.0.1:") {
			found = strings.Contains(lines.Text(), "/inspect to see runs. Press Ctrl-C to stop the bridge.")
			stop()
		}
	}
	stop()
	if c := <-code; c != 0 || !found {
		t.Errorf("exit code %d, found %v", c, found)
	}
}
