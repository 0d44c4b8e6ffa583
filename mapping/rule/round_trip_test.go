package rule

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rawjson/rawjsontest"
	"github.com/apbridge/apbridge/mapping/state"
	"pgregory.net/rapid"
)

// An agent's output in a step is restored from the log unchanged for clients of its own dialect.
func TestStepRoundTrip(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{`"use_tool"`, `"k"`, `"upstream_step_id"`})
	rapid.Check(t, func(t *rapid.T) {
		info := mapping.StepInfo{
			ID: "up-1", Name: rapid.StringMatching(`[a-z _]{0,5}`).Draw(t, "name"), SaysLast: rapid.Bool().Draw(t, "last"),
			Output: rawjsontest.Value(t, name, 2), Additional: rawjsontest.Object(t, name, 2),
		}
		ask := rapid.SampledFrom([]mapping.Approval{mapping.ApprovalAuto, mapping.ApprovalAsk, mapping.ApprovalStep}).Draw(t, "approval")
		ev := StepUpdate(someRun, someTask, 1, info, nil, ask)
		steps := NewStepFolder(someTask, mapping.SteppingFree).Add(&state.Entry{Event: ev})
		if len(steps) != 1 {
			t.Fatalf("%d steps", len(steps))
		}
		got := steps[0]
		switch {
		case rawjson.IsNull(info.Output) != (got.Output == nil):
			t.Fatalf("output %s became %v", info.Output, got.Output)
		case got.Output != nil && *got.Output != outputText(info.Output):
			t.Fatalf("output %s became %q", info.Output, *got.Output)
		case got.IsLast != (info.SaysLast && len(ev.Head.Interrupts) == 0):
			t.Fatalf("is_last %v became %v", info.SaysLast, got.IsLast)
		}
		want, err := MergeMetadata(info.Additional, asRaw(`{"upstream_step_id":"up-1"}`))
		if err != nil || !rawjson.Equal(got.AdditionalOutput, want) {
			t.Fatalf("additional output %s became %s, %v", info.Additional, got.AdditionalOutput, err)
		}
	})
}

// TestGraphThroughSteps converts a graph's outputs to steps and back. The nodes, texts, order and last step are the
// same, and each complete update is included.
func TestGraphThroughSteps(t *testing.T) {
	t.Parallel()
	member := rapid.SampledFrom([]string{`"a"`, `"b"`, `"ü"`})
	rapid.Check(t, func(t *rapid.T) {
		near, n := NewStepFolder(someTask, mapping.SteppingFree), rapid.IntRange(1, 5).Draw(t, "updates")
		var nodes []string
		var deltas []json.RawMessage
		var steps []mapping.Step
		for i := range n {
			nodes = append(nodes, rapid.SampledFrom([]string{"plan", "think-2", "a.b"}).Draw(t, "node"))
			deltas = append(deltas, drawDelta(t, member, i))
			steps = append(steps, near.Add(&state.Entry{Event: mapping.Event{RunID: someRun, Kind: mapping.KindUpdate, Head: mapping.Head{Node: nodes[i]}, Data: deltas[i]}})...)
		}
		steps = append(steps, near.Add(&state.Entry{Event: mapping.Event{RunID: someRun, Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}}})...)
		if len(steps) != n {
			t.Fatalf("%d updates are %d steps", n, len(steps))
		}
		far := NewStepFolder(someTask, mapping.SteppingFree)
		for i, s := range steps {
			ev := StepUpdate(someRun, someTask, i+1, mapping.StepInfo{ID: s.ID, Name: s.Name, SaysLast: s.IsLast, Output: rawjson.Quote(*s.Output), Additional: s.AdditionalOutput}, nil, mapping.ApprovalAuto)
			said, _ := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages))
			if ev.Head.Step.Name != nodes[i] || len(said) != 1 || answerIn(said[0]) != *s.Output {
				t.Fatalf("update %s of node %s came back as %s of node %s", deltas[i], nodes[i], ev.Data, ev.Head.Step.Name)
			}
			if whole := rawjson.Get(rawjson.Get(rawjson.Get(said[0], "additional_kwargs"), "apbridge"), nodes[i]); !rawjson.Equal(whole, deltas[i]) {
				t.Fatalf("update %s is held as %s", deltas[i], whole)
			}
			again := far.Add(&state.Entry{Event: ev})
			if len(again) != 1 || again[0].Name != s.Name || *again[0].Output != *s.Output || again[0].IsLast != (i == n-1) {
				t.Fatalf("step %+v came back as %+v", s, again)
			}
		}
	})
}

// drawDelta generates the output of a node: an answer, other members, or both.
func drawDelta(t *rapid.T, member *rapid.Generator[string], n int) json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	if text := rapid.StringMatching(`[ab "\\\n<ü]{0,6}`).Draw(t, "text"); text != "" {
		w.Key(state.KeyMessages).Array([]json.RawMessage{message{kind: typeAI, id: fmt.Sprintf("m%d", n), content: rawjson.Quote(text)}.json()})
	}
	return w.Key("n").Int(1).Key("x").Raw(rawjsontest.Object(t, member, 1), "").Close('}').Bytes
}
