package conformance_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// The document has the current results of the bridge and of the test agents.
func TestKnownServers(t *testing.T) {
	known := []knownServer{
		{"this bridge in front of a step agent", rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL, ""},
		{"this bridge in front of a graph", rig.InFront(t, rig.Chats()).URL, ""},
	}
	for _, kind := range []adaptertest.Kind{adaptertest.Plain, adaptertest.JS, adaptertest.Python, adaptertest.Forge} {
		known = append(known, knownServer{"the tests' step agent (" + string(kind) + ")", adaptertest.Serve(t, adaptertest.NewStepAgent(kind)).URL, ""})
	}
	documented(t, known)
}

// The document has the results of real servers, which make e2e starts.
func TestRealKnownServers(t *testing.T) {
	var known []knownServer
	if url := os.Getenv("APBRIDGE_E2E_JSAGENT"); url != "" {
		known = append(known, knownServer{"agent on npm's agent-protocol 1.0.5", url, ""})
	}
	if url := os.Getenv("APBRIDGE_E2E_LANGGRAPH"); url != "" {
		known = append(known, knownServer{"LangGraph's JavaScript server 1.4.6", url, "chat"})
	}
	if len(known) == 0 {
		t.Skip("make e2e starts real servers")
	}
	documented(t, known)
}

type knownServer struct {
	name, url string
	agent     string // of runs; "" means the first listed
}

const knownServers = "../../../../docs/conformance.md"

// documented compares rows of the document with the results, or writes them with -update.
func documented(t *testing.T, known []knownServer) {
	t.Helper()
	raw, err := os.ReadFile(knownServers)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	for _, server := range known {
		mine := func(line string) bool { return strings.HasPrefix(line, "| "+server.name+" |") }
		r := checkedAs(t, server.agent, server.url, time.Minute)
		want := rowsOf(server.name, r)
		var got []string
		for _, line := range lines {
			if mine(line) {
				got = append(got, line)
			}
		}
		if *rig.Update {
			lines = slices.DeleteFunc(lines, mine)
			end := slices.Index(lines, "<!-- end -->") - 1
			lines = slices.Insert(lines, end, want...)
		} else if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("the document has\n%s\nbut the results are\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), reasons(r))
		}
	}
	if *rig.Update && !t.Failed() {
		if err := os.WriteFile(knownServers, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func rowsOf(server string, r conformance.Report) (rows []string) {
	for _, d := range r.Dialects {
		var failed []string
		for _, c := range d.Results {
			if c.Status == check.Failed {
				failed = append(failed, "`"+strings.TrimPrefix(c.ID, d.Name+".")+"`")
			}
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s |", server, d.Name, d.Share(check.Must), d.Share(check.Should), strings.Join(failed, ", ")))
	}
	return rows
}
