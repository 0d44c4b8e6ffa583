package adapter_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
)

// table contains a face without a backend, a backend without a face, and a dialect with both.
func table() adapter.Dialects {
	dial := func(adapter.Upstream) (adapter.Backend, error) { return nil, nil }
	return adapter.Dialects{
		{
			Name: "face", Paths: []string{"/f", "/agents/{agent}/f"},
			Fields:   append(mapping.Fields("ask", mapping.CapContext, "context"), mapping.BridgedFields("ask", "id")...),
			Flavours: []adapter.Flavour{{Name: "loud", Request: "ask", Strategy: mapping.StrategyEnqueue}},
		},
		{Name: "deaf", Dial: dial, Capabilities: mapping.Capabilities{}},
		{Name: "both", Paths: []string{"/agents"}, Dial: dial, Capabilities: mapping.Capabilities{mapping.CapContext: mapping.PassedOn()}},
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/f": "face", "/f/x": "face", "/f/": "face", "/fx": "", "f": "", "": "", "*": "", "//f": "", "/": "",
		"/agents": "both", "/agents/a": "both", "/agents/a/x": "both", "/agents/a/f": "face", "/agents/a/f/x": "face", "/agents//f": "face",
		"/agents/a/fx": "both",
	} {
		if d, ok := table().Owner(path); d.Name != want || ok != (want != "") {
			t.Errorf("%s belongs to %q, want %q", path, d.Name, want)
		}
	}
}

func TestPublicPaths(t *testing.T) {
	t.Parallel()
	d := adapter.Dialect{PublicPaths: []string{"/ok", "/a2a/{agent}/.well-known/card.json"}}
	for path, want := range map[string]bool{
		"/ok": true, "/ok/": false, "/ok/x": false, "/OK": false, "ok": false, "": false, "*": false,
		"/a2a/a/.well-known/card.json": true, "/a2a/{agent}/.well-known/card.json": true,
		"/a2a//.well-known/card.json": false, "/a2a/.well-known/card.json": false, "/a2a/a/b/.well-known/card.json": false,
		"/a2a/a/.well-known/card.json/x": false, "/a2a/a/.well-known/card.json/": false, "/a2a/a/.well-known": false, "/a2a/a": false,
	} {
		if got := d.IsOpen(path); got != want {
			t.Errorf("%s is public: %v, want %v", path, got, want)
		}
	}
}

func TestCallable(t *testing.T) {
	t.Parallel()
	var names []string
	for _, d := range table().Callable() {
		names = append(names, d.Name)
	}
	if diff := cmp.Diff([]string{"both", "deaf"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err := table().Dial(adapter.Upstream{Name: "a", Config: config.Agent{Dialect: "face"}})
	if err == nil || !strings.Contains(err.Error(), "agents.a.dialect") {
		t.Errorf("a face was called: %v", err)
	}
}

func TestFlavourSettings(t *testing.T) {
	t.Parallel()
	for flavour, want := range map[mapping.Flavour]mapping.Strategy{"loud": mapping.StrategyEnqueue, "unknown": mapping.StrategyReject} {
		if got := table().Strategy(flavour); got != want {
			t.Errorf("%s: %s, want %s", flavour, got, want)
		}
	}
	sent := []string{"id", "context", "more"}
	for _, c := range []struct {
		flavour mapping.Flavour
		agent   mapping.Capabilities
		want    string
	}{
		{"loud", mapping.Capabilities{}, "context;dropped"},
		{"loud", mapping.Capabilities{mapping.CapContext: mapping.Partial("Some of it.")}, "context;approximated"},
		{"loud", nil, ""}, // treated as a dialect with both
		{"unknown", mapping.Capabilities{}, ""},
	} {
		if got := mapping.LossHeader(table().UnsupportedFields(c.flavour, sent, c.agent)); got != c.want {
			t.Errorf("%s before %v: %q, want %q", c.flavour, c.agent, got, c.want)
		}
	}
	if _, err := table().WriteHook(adapter.HookNotice{Hook: mapping.Hook{Flavour: "loud"}}); err == nil {
		t.Error("a dialect without webhooks wrote one")
	}
}

// TestLossesNameTheDialectsFields checks that a lost capability is reported as the dialect's field or, without a field,
// under its own name.
func TestLossesNameTheDialectsFields(t *testing.T) {
	t.Parallel()
	meant := []mapping.Capability{mapping.CapContext, mapping.CapTranscript, mapping.CapTaskExtra}
	list := table()
	list[0].Fields[0].Name, list[2].Capabilities[mapping.CapTranscript] = "background", mapping.Partial("The end of it.")
	for _, c := range []struct {
		flavour mapping.Flavour
		agent   mapping.Capabilities
		want    string
	}{
		{"loud", mapping.Capabilities{}, "background;dropped, transcript;dropped, additional_task;dropped"},
		{"loud", nil, "transcript;approximated, additional_task;dropped"}, // treated as a dialect with both
		{"unknown", mapping.Capabilities{}, "context;dropped, transcript;dropped, additional_task;dropped"},
	} {
		if got := mapping.LossHeader(list.UnsupportedCapabilities(c.flavour, meant, c.agent)); got != c.want {
			t.Errorf("%s before %v: %q, want %q", c.flavour, c.agent, got, c.want)
		}
	}
	for loss, want := range map[mapping.Loss]string{
		{Field: "transcript", Fate: mapping.Approximated}: "The end of it.", {Field: "items", Fate: mapping.Dropped}: "The agent's protocol has no equivalent.",
		{Field: "items", Fate: mapping.Approximated}: "", {Field: "unheard", Fate: mapping.Dropped}: "",
	} {
		if got := list.LossReason("loud", loss); got != want {
			t.Errorf("%v has the reason %q, want %q", loss, got, want)
		}
	}
}

func TestLossTableHasEveryPair(t *testing.T) {
	t.Parallel()
	want := []mapping.LossRow{
		{Request: "ask", Field: "context", From: "face", To: "deaf", Fate: mapping.Dropped, Reason: "The agent's protocol has no equivalent."},
		{Request: "ask", Field: "context", From: "face", To: "both", Fate: mapping.Exact, Reason: "Passed to the agent unchanged."},
		{Request: "ask", Field: "id", From: "face", To: "deaf", Fate: mapping.Exact, Reason: "The bridge does this itself, for every agent."},
		{Request: "ask", Field: "id", From: "face", To: "both", Fate: mapping.Exact, Reason: "The bridge does this itself, for every agent."},
	}
	for _, m := range mapping.DetectedByBridge() { // for which the dialect documents no field
		for _, to := range []string{"deaf", "both"} {
			want = append(want, mapping.LossRow{Request: "ask", Field: string(m), From: "face", To: to, Fate: mapping.Dropped, Reason: "The agent's protocol has no equivalent."})
		}
	}
	if diff := cmp.Diff(want, table().LossTable()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestArtifactPathIsOfTheFirstFaceWithArtifacts(t *testing.T) {
	t.Parallel()
	named := func(face string) func(agent, taskID, artifactID string) string {
		return func(agent, taskID, artifactID string) string {
			return "/" + face + "/" + agent + "/" + taskID + "/" + artifactID
		}
	}
	mount := func(*mux.Router, adapter.Service, adapter.Face) {}
	served := adapter.Dialects{{Mount: mount}, {ArtifactPath: named("unmounted")}, {Mount: mount, ArtifactPath: named("first")}, {Mount: mount, ArtifactPath: named("second")}}
	for want, list := range map[string]adapter.Dialects{"/first/a/t/f": served, "": served[:2]} {
		if got := list.ArtifactPath("a", "t", "f"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestEndsAreSortedLongestFirst(t *testing.T) {
	t.Parallel()
	got := adapter.Dialects{{Ends: []string{"/a/b", "/a"}}, {Ends: []string{"/x/a/b", "/b"}}}.Ends()
	if diff := cmp.Diff([]string{"/x/a/b", "/a/b", "/a", "/b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
