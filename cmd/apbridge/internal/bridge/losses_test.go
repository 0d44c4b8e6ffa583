package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/taskstep"
	"github.com/apbridge/apbridge/adapter/threadrun"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestLossTableOfTheProgram compares the loss table of each pair of dialects with its golden file.
func TestLossTableOfTheProgram(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, row := range bridge.Dialects().LossTable() {
		fmt.Fprintf(&table, "%s %s, %s to %s: %s. %s\n", row.Request, row.Field, row.From, row.To, row.Fate, row.Reason)
	}
	rig.CheckGolden(t, "testdata/losses.txtar", &txtar.Archive{Files: []txtar.File{{Name: "rows", Data: []byte(table.String())}}})
}

func TestLosses(t *testing.T) {
	t.Parallel()
	steps, graph := taskstep.Dialect().Capabilities, threadrun.Dialect().Capabilities
	for _, c := range []struct {
		from   mapping.Flavour
		to     mapping.Capabilities
		fields string
		want   string
	}{
		{"langgraph", steps, "input stream_mode config.tags durability unknown", "config.tags;dropped, durability;dropped"},
		{"langgraph", steps, "command.resume command", "command;approximated, command.resume;approximated"},
		{"langgraph", graph, "input config.tags command interrupt_before", ""},
		{"agentprotocol", graph, "feedback_keys messages", "feedback_keys;dropped"},
		{"agentprotocol", steps, "context transcript", "context;dropped, transcript;approximated"},
		{"taskstep", graph, "input additional_input", "additional_input;approximated"},
		{"topic", steps, "input additional_input", ""},
		{"taskstep", nil, "additional_input", "additional_input;approximated"}, // as the dialect that is asked for first
		{"unknown", steps, "context", ""},
	} {
		got := mapping.LossHeader(bridge.Dialects().UnsupportedFields(c.from, strings.Fields(c.fields), c.to))
		if got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.from, c.fields, got, c.want)
		}
	}
}

func TestLossTable(t *testing.T) {
	t.Parallel()
	type cell struct{ request, field, from, to string }
	seen := map[cell]bool{}
	for _, row := range bridge.Dialects().LossTable() {
		at := cell{row.Request, row.Field, row.From, row.To}
		if seen[at] {
			t.Errorf("%v is there twice", at)
		}
		seen[at] = true
		if row.Fate == "" || !strings.HasSuffix(row.Reason, ".") {
			t.Errorf("%v has no fate or no reason in a sentence: %+v", at, row)
		}
	}
	for at := range seen {
		for _, other := range bridge.Dialects().Names() {
			if !seen[cell{at.request, at.field, at.from, other}] {
				t.Errorf("%v has no direction to %s", at, other)
			}
		}
	}
}

// What real clients send to start a run (SDK payload keys and the Agent Protocol's RunCreate) is all in the table.
func TestLossTableKnowsRunFields(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, row := range bridge.Dialects().LossTable() {
		if row.Request == "run" {
			have[row.Field] = true
		}
	}
	var missing []string
	for field := range strings.FieldsSeq(`input command config context metadata stream_mode stream_subgraphs stream_resumable
		feedback_keys assistant_id interrupt_before interrupt_after checkpoint checkpoint_id webhook multitask_strategy
		on_completion on_disconnect after_seconds if_not_exists checkpoint_during durability langsmith_tracer strict_resume
		thread_id agent_id messages`) {
		if !have[field] {
			missing = append(missing, field)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Error(diff)
	}
}

// TestEveryMeaningIsHandled checks that each field of each dialect is passed to an agent, or that the dialect gives a
// reason why not.
func TestEveryMeaningIsHandled(t *testing.T) {
	t.Parallel()
	for _, from := range bridge.Dialects() {
		for _, f := range from.Fields {
			for _, to := range bridge.Dialects() {
				if _, ok := to.Capabilities[f.Capability]; f.Capability != "" && !ok {
					t.Errorf("%s says nothing of %q, which %s.%s of %s means", to.Name, f.Capability, f.Request, f.Name, from.Name)
				}
			}
		}
	}
}

// TestBackendsTellWhatTheirDialectSays checks that backends and dialects agree. The service uses the backend, the table
// the dialect.
func TestBackendsTellWhatTheirDialectSays(t *testing.T) {
	t.Parallel()
	for _, d := range bridge.Dialects() {
		b, err := d.Dial(adaptertest.Upstream("http://agent.test"))
		if err != nil {
			t.Fatal(err)
		}
		traits := b.(adapter.Traited).Traits()
		if diff := cmp.Diff(d.Capabilities, traits.Capabilities); diff != "" || traits.Kind == "" {
			t.Errorf("%s, %q (-dialect +backend):\n%s", d.Name, traits.Kind, diff)
		}
	}
}
