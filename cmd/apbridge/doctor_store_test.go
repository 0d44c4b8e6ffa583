package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// TestDoctorTellsOfTheAgentsStore checks that doctor reports whether the agent's store differs from the bridge's, and
// that an agent without one cannot be the store.
func TestDoctorTellsOfTheAgentsStore(t *testing.T) {
	t.Parallel()
	const apart = "separate from this bridge's /store"
	agents := map[string]string{
		"graph":  serving(t, &adaptertest.ThreadAgent{}), // it has a store
		"simple": serving(t, threadagent.Handler()),
		"legacy": serving(t, legacyagent.Handler()),
	}
	for name, c := range map[string]struct {
		agent, store string
		code         int
		apart        bool
		holds        string
	}{
		"another one":      {"graph", "", 0, true, "(store.agent: graph shares it)"},
		"the same":         {"graph", "graph", 0, false, "its own, also used for this bridge's /store (store.agent)"},
		"a server without": {"simple", "", 0, false, ""},
		"a step agent":     {"legacy", "", 0, false, ""},
		"none to be it":    {"legacy", "legacy", 1, false, "its dialect taskstep has no store"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "apbridge.yaml")
			if err := os.WriteFile(file, []byte("store: {agent: '"+c.store+"'}\nagents: {"+c.agent+": {url: '"+agents[c.agent]+"'}}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, errs := command(t, nil, "doctor", "--config", file)
			if code != c.code || strings.Contains(out, apart) != c.apart || !strings.Contains(out, c.holds) {
				t.Errorf("exit code %d: %s\n%s", code, out, errs)
			}
		})
	}
}
