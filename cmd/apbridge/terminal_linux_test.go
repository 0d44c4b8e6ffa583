package main

import (
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
	"github.com/apbridge/apbridge/examples/legacyagent"
	"golang.org/x/sys/unix"
)

// openTerminal is a terminal, and what it shows once it is closed.
func openTerminal(t *testing.T) (tty *os.File, shows func() string) {
	t.Helper()
	return openTyped(t, "")
}

// openTyped is a terminal on which a text was typed.
func openTyped(t *testing.T, typed string) (tty *os.File, shows func() string) {
	t.Helper()
	tty, screen := openPair(t)
	if _, err := io.WriteString(screen, typed); err != nil {
		t.Fatal(err)
	}
	text := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(screen) // ends with EIO when nobody writes any more
		text <- string(b)
	}()
	return tty, func() string {
		tty.Close()
		defer screen.Close()
		return <-text
	}
}

// openPair is a terminal, and the screen and keyboard of it.
func openPair(t *testing.T) (tty, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be had: %v", err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tty, screen
}

// E22: what an agent says in steps, questions and errors reaches no terminal as it is,
// and a pipe as it is.
func TestE22AgentsAndTerminals(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(&adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: jsonText(hostile), Last: true}}})
	t.Cleanup(agent.Close)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"detail":%s}`, jsonText(hostile))
	}))
	t.Cleanup(refuses.Close)
	for _, args := range [][]string{{"run", agent.URL, "hi"}, {"run", refuses.URL, "hi"}, {"doctor", "--agent", "a=" + refuses.URL}, {"run", hostileBytes, "hi"}} {
		tty, screen := openTerminal(t)
		p := &program{out: consoleOf(tty), err: consoleOf(tty)}
		p.run(t.Context(), args)
		if got := strings.ReplaceAll(screen(), "\r\n", "\n"); !harmless(got) || got == "" {
			t.Errorf("apbridge %s shows %q", args, got)
		}
	}
	var piped bytes.Buffer
	if code := (&program{out: &piped, err: io.Discard}).run(context.WithoutCancel(t.Context()), []string{"run", agent.URL, "hi"}); code != 0 || !strings.Contains(piped.String(), hostile) {
		t.Errorf("a pipe gets %q, code %d", piped.String(), code)
	}
}

// A terminal's own width goes before what the environment says.
func TestColumns(t *testing.T) {
	t.Parallel()
	tty, screen := openTerminal(t)
	defer screen()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 20, Col: 33}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		to      io.Writer
		environ []string
		want    int
	}{{tty, nil, 33}, {tty, []string{"COLUMNS=120"}, 33}, {io.Discard, []string{"COLUMNS=120"}, 120}, {io.Discard, []string{"COLUMNS=x"}, 80}, {io.Discard, []string{"COLUMNS=3"}, 80}} {
		if got := columns(x.to, x.environ); got != x.want {
			t.Errorf("%v: %d, want %d", x.environ, got, x.want)
		}
	}
}

// What an agent asks back is asked on the terminal, and the files that it makes are saved.
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
		{"\x04", 1, []string{"(it was not answered, and the run ends here)"}}, // Ctrl-D
	} {
		tty, screen := openTyped(t, x.typed)
		p := &program{in: tty, out: consoleOf(tty), err: consoleOf(tty)}
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
