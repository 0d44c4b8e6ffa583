package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLosses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from   Flavour
		opaque bool
		fields string
		want   string
	}{
		{FlavourLangGraph, true, "input stream_mode config.tags durability unknown", "config.tags;dropped, durability;dropped"},
		{FlavourLangGraph, true, "command.resume command", "command;approximated, command.resume;approximated"},
		{FlavourLangGraph, false, "input config.tags command interrupt_before", ""},
		{FlavourAgentProtocol, false, "feedback_keys messages", "feedback_keys;dropped"},
		{FlavourAgentProtocol, true, "context transcript", "context;dropped, transcript;approximated"},
		{FlavourTaskStep, false, "input additional_input", "additional_input;approximated"},
		{FlavourTopic, true, "input additional_input", ""},
	} {
		got := LossHeader(Losses(c.from, c.opaque, strings.Fields(c.fields)))
		if got != c.want {
			t.Errorf("%s, opaque %v, %s: %q, want %q", c.from, c.opaque, c.fields, got, c.want)
		}
	}
}

func TestLossTable(t *testing.T) {
	t.Parallel()
	type cell struct{ request, field, from, to string }
	seen := map[cell]bool{}
	for _, row := range LossTable() {
		at := cell{row.Request, row.Field, row.From, row.To}
		if seen[at] {
			t.Errorf("%v is there twice", at)
		}
		seen[at] = true
		if row.Fate == "" || !strings.HasSuffix(row.Reason, ".") {
			t.Errorf("%v has no fate or no reason in a sentence: %+v", at, row)
		}
		other := cell{row.Request, row.Field, row.From, map[string]string{threadrun: taskstep, taskstep: threadrun}[row.To]}
		defer func() {
			if !seen[other] {
				t.Errorf("%v has no other direction", at)
			}
		}()
	}
}

// What real clients send to start a run (SDK payload keys and the Agent
// Protocol's RunCreate) is all in the table.
func TestLossTableKnowsRunFields(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, row := range LossTable() {
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
