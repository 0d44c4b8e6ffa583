package conformance_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }

// checked runs the named suites, or those that the server speaks.
func checked(t *testing.T, url string, limit time.Duration, names ...string) conformance.Report {
	t.Helper()
	return checkedAs(t, "", url, limit, names...)
}

// checkedAs is checked with the agent for runs.
func checkedAs(t *testing.T, agent, url string, limit time.Duration, names ...string) conformance.Report {
	t.Helper()
	server := &check.Server{Base: url, Agent: agent, Timeout: limit}
	suites := conformance.Spoken(t.Context(), server)
	if len(names) > 0 {
		suites = slices.DeleteFunc(conformance.Suites(), func(s check.Suite) bool { return !slices.Contains(names, s.Name) })
	}
	all := func(check.Check) bool { return true }
	return conformance.Run(t.Context(), conformance.Options{Server: server, Suites: suites, Wanted: all, Watch: func(check.Result) {}})
}

// failures returns the ids of the failed checks.
func failures(r conformance.Report) (ids []string) {
	for _, d := range r.Dialects {
		for _, c := range d.Results {
			if c.Status == check.Failed {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}

// In front of either kind of agent, the bridge passes every check, and nothing is left behind.
func TestTheBridgeConforms(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]http.Handler{"step agent": adaptertest.NewStepAgent(adaptertest.Plain), "graph": rig.Chats()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, agent)
			r := checked(t, b.URL, time.Minute)
			for _, d := range r.Dialects {
				for _, c := range d.Results {
					// The graph creates no files and has one step.
					optional := c.Status == check.Skipped && (c.ID == "v1.artifact.made" || c.ID == "v1.step.list.size") && name == "graph"
					if c.Status != check.Passed && !optional {
						t.Errorf("%s %s: %s\n%s\n%s\n%s", c.Status, c.ID, c.Reason, c.Cites, c.Sent, c.Came)
					}
				}
			}
			if n := len(r.Dialects); n != len(conformance.Suites()) || !r.Conforms() || len(r.Left) > 0 {
				t.Errorf("%d dialects, left behind: %v", n, r.Left)
			}
			b.Post("/store/namespaces", `{"prefix":["apbridge-conformance"]}`).Want(t, 200, "[]")
			if list := b.Post("/threads/search", `{"limit":100}`).OK().List(""); countChecked(list) > 0 {
				t.Errorf("threads were left behind: %v", list)
			}
		})
	}
}

// countChecked counts the threads that the checks have created.
func countChecked(threads []any) (n int) {
	for _, each := range threads {
		if check.At(each, "metadata.checked") != nil {
			n++
		}
	}
	return n
}

// The checks start no more runs than documented. A cancelled run may not have reached the agent.
func TestRunsMade(t *testing.T) {
	t.Parallel()
	for dialect, runs := range map[string]int{"agentprotocol": 5, "langgraph": 7, "streaming": 1} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			checked(t, rig.InFront(t, agent).URL, time.Minute, dialect)
			if n := agent.Counts().Creates; n > runs || n < runs-1 {
				t.Errorf("%d runs were started, but %d are documented", n, runs)
			}
		})
	}
}

// Each check has a unique id with its dialect, a sentence and a citation.
func TestChecksAreCited(t *testing.T) {
	t.Parallel()
	had := map[string]bool{}
	for _, s := range conformance.Suites() {
		for _, c := range s.Begin() {
			whole := c.ID[:min(len(c.ID), len(s.Name)+1)] == s.Name+"." && c.Says != "" && c.Says[len(c.Says)-1] == '.' && c.Cites.Document != "" && c.Cites.Section != ""
			if !whole || had[c.ID] || !slices.Contains([]check.Level{check.Must, check.Should, check.May}, c.Level) {
				t.Errorf("%+v", c)
			}
			had[c.ID] = true
		}
	}
}

// After a stop the rest is skipped and everything created is deleted.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, rig.Chats())
	ctx, stop := context.WithCancel(t.Context())
	o := conformance.Options{
		Server: &check.Server{Base: b.URL, Timeout: time.Minute}, Suites: conformance.Spoken(t.Context(), &check.Server{Base: b.URL, Timeout: time.Minute}),
		Wanted: func(check.Check) bool { return true },
		Watch: func(r check.Result) {
			if r.ID == "langgraph.runs.wait" {
				stop()
			}
		},
	}
	r := conformance.Run(ctx, o)
	if !r.Interrupted || r.Count(check.Skipped) < 10 || r.Count(check.Failed) > 0 || len(r.Left) > 0 {
		t.Errorf("skipped %d, failed %v, left %v", r.Count(check.Skipped), failures(r), r.Left)
	}
	if list := b.Post("/threads/search", `{"limit":100}`).OK().List(""); countChecked(list) > 0 {
		t.Errorf("threads were left behind: %v", list)
	}
}
