package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestCommandsNameTheURLThatTheyWereGiven checks that no message contains the name of an agent or a key of a
// configuration if a person gave a URL.
func TestCommandsNameTheURLThatTheyWereGiven(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	away := "http://127.0.0.1:1"
	for _, x := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"run", away, "hi"}, 1, "The agent at 127.0.0.1:1 cannot be reached: nothing is listening there"},
		{[]string{"doctor", away}, 1, "  cannot be used: The agent at 127.0.0.1:1 cannot be reached: nothing is listening there"},
		{[]string{"doctor", away, page.URL}, 1, "apbridge: cannot be used: " + away + ", " + page.URL},
		{[]string{"conformance", away}, 2, "The agent at 127.0.0.1:1 cannot be reached: nothing is listening there"},
		{[]string{"run", page.URL, "hi"}, 1, "A server answers at " + page.URL + ", but it speaks none of the dialects this bridge knows. Check the URL, or name its dialect in a configuration"},
		{[]string{"doctor", page.URL}, 1, "Check the URL, or name its dialect in a configuration"},
		{[]string{"conformance", page.URL}, 2, "Check the URL, or name its dialect in a configuration"},
		{[]string{"bench", page.URL}, 2, "Check the URL, or name its dialect in a configuration"},
		{[]string{"run", "ftp://x", "hi"}, 2, `the URL ftp://x: cannot be "ftp://x"; write it like http://127.0.0.1:8000`},
	} {
		code, out, errs := command(t, nil, x.args...)
		said := out + errs
		if code != x.code || !strings.Contains(said, x.says) || strings.Contains(said, `agent "agent`) || strings.Contains(said, "agents.agent") {
			t.Errorf("%v: exit code %d, want %d and %q in: %s", x.args, code, x.code, x.says, said)
		}
	}
}

// TestRunSuggestsWhatWasMeant covers a URL without its scheme, and a misspelled name of the configuration.
func TestRunSuggestsWhatWasMeant(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "apbridge.yaml")
	rig.WriteFile(t, file, "agents: {legacy: {url: 'http://127.0.0.1:1'}, 'other': {url: 'http://127.0.0.1:1'}}")
	for _, x := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "127.0.0.1:8000", "hi"}, `"127.0.0.1:8000" is not a URL; did you mean http://127.0.0.1:8000?`},
		{[]string{"run", "localhost", "hi"}, `"localhost" is not a URL; did you mean http://localhost?`},
		{[]string{"run", "[::1]:80/x", "hi", "--config", file}, `"[::1]:80/x" is not a URL; did you mean http://[::1]:80/x?`},
		{[]string{"doctor", "127.0.0.1:8000"}, `"127.0.0.1:8000" is not a URL; did you mean http://127.0.0.1:8000?`},
		{[]string{"run", "lagacy", "hi", "--config", file}, `there is no agent "lagacy"; did you mean "legacy"?`},
		{[]string{"run", "nobody", "hi", "--config", file}, `there is no agent "nobody" in the configuration; known agents: legacy, other. Use one of them or a URL`},
		{[]string{"run", "lagacy", "hi"}, `there is no agent "lagacy", because no agents are configured. Use a URL, --agent NAME=URL or --config FILE`},
	} {
		if code, _, errs := command(t, nil, x.args...); code != 2 || !strings.Contains(errs, x.says) {
			t.Errorf("%v: exit code %d: %s", x.args, code, errs)
		}
	}
}
