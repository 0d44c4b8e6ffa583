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
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"golang.org/x/sys/unix"
)

// openTerminal is a terminal, and what it shows once it is closed.
func openTerminal(t *testing.T) (tty *os.File, shows func() string) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
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

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
