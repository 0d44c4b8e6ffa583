package render

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// namesOf returns the names of the frames that a reader with the given modes gets for events.
func namesOf(run mapping.Run, modes []string, events ...mapping.Event) (names []string) {
	v := NewView(&run, ModesOf(modes), adapter.Cursor{K: -1})
	fold, _ := state.NewFold(nil)
	for i, ev := range events {
		ev.Seq = int64(i + 1)
		v.Frames(&state.Entry{Event: ev, Before: fold, After: fold}, func(frame []byte) {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(frame), "event: "), "\n")
			names = append(names, name)
		})
	}
	return names
}

// A frame whose name is not a mode is sent to every reader, as by the agent's server. A frame of a mode is sent to
// readers that requested the mode.
func TestFramesOfOtherNamesAreHandedOn(t *testing.T) {
	t.Parallel()
	frame := func(name string, ns ...string) mapping.Event {
		return mapping.Event{Kind: mapping.KindChunk, Data: json.RawMessage(`{"a":1}`), Head: mapping.Head{Name: name, NS: ns}}
	}
	events := []mapping.Event{frame("a2a"), frame("a2a", "sub:1"), frame("custom:score"), frame("debug"), frame("messages/partial"), frame("messages")}
	for modes, want := range map[string][]string{
		"values":          {"a2a"},
		"custom":          {"a2a", "custom:score"},
		"messages":        {"a2a"},
		"debug,messages":  {"a2a", "debug"},
		"values (nested)": {"a2a", "a2a|sub:1"},
	} {
		list, nested := strings.CutSuffix(modes, " (nested)")
		run := mapping.Run{Options: mapping.RunOptions{Subgraphs: nested}}
		if got := namesOf(run, strings.Split(list, ","), events...); !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %s", modes, got, want)
		}
	}
}

// A reader of the mode messages without subgraphs also gets the tokens of inner graphs. A reader of messages-tuple gets
// such a message whole with the output of the outer node, as from LangGraph's server. Custom output of inner graphs
// appears at the root.
func TestTokensOfInnerGraphsWithoutSubgraphs(t *testing.T) {
	t.Parallel()
	token := func(id, text string, ns ...string) mapping.Event {
		return mapping.Event{Kind: mapping.KindDelta, Data: json.RawMessage(`[{"id":"` + id + `","content":"` + text + `"},{"langgraph_node":"plan","langgraph_step":3,"thread_id":"t","langgraph_checkpoint_ns":"` + strings.Join(ns, "|") + `|plan:2"}]`), Head: mapping.Head{NS: ns}}
	}
	output := func(node, data string) mapping.Event {
		return mapping.Event{Kind: mapping.KindUpdate, Data: json.RawMessage(data), Head: mapping.Head{Node: node}}
	}
	events := []mapping.Event{
		token("m1", "he", "inner:1"), token("m1", "llo", "inner:1"), token("m2", "x", "inner:1"), token("m3", "outer"),
		{Kind: mapping.KindCustom, Data: json.RawMessage(`1`), Head: mapping.Head{NS: []string{"inner:1"}}},
		output("inner", `{"messages":[{"id":"h","type":"human","content":"hi"},{"id":"m1","type":"ai","content":"hello"}]}`),
		output("inner", `{"messages":[{"id":"m1","type":"ai","content":"hello"},{"id":"m3","type":"ai","content":"outer"}]}`),
	}
	run := func(modes ...string) mapping.Run {
		return mapping.Run{Options: mapping.RunOptions{StreamModes: modes}}
	}
	partial := []string{"messages/metadata", "messages/partial", "messages/partial", "messages/metadata", "messages/partial", "messages/metadata", "messages/partial"}
	for _, tt := range []struct {
		modes string
		want  []string
	}{
		{"messages", partial},
		{"messages-tuple", []string{"messages", "messages"}},
		{"updates", []string{"updates", "updates"}},
		{"custom", []string{"custom"}},
	} {
		if got := namesOf(run("messages", "messages-tuple"), []string{tt.modes}, events...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.modes, got, tt.want)
		}
	}
	late := NewView(new(run("messages")), ModesOf([]string{"messages-tuple"}), adapter.Cursor{Seq: 3, K: -1})
	fold, _ := state.NewFold(nil)
	var frames []string
	for i, ev := range events {
		ev.Seq = int64(i + 1)
		e := &state.Entry{Event: ev, Before: fold, After: fold}
		if ev.Seq <= 3 {
			late.Recall(e)
			continue
		}
		late.Frames(e, func(frame []byte) { frames = append(frames, string(frame)) })
	}
	_, data, _ := strings.Cut(strings.Join(frames[1:], ""), "data: ")
	data, id, _ := strings.Cut(data, "\nid: ")
	want := `[{"id":"m1","type":"ai","content":"hello"},{"langgraph_node":"inner","thread_id":"t","langgraph_checkpoint_ns":"inner:1"}]`
	if !sameJSON(data, want) || strings.TrimSpace(id) != "6.64" {
		t.Errorf("%s, want %s", frames, want)
	}
}

// TestTokensOfInnerGraphsInEvents checks that a reader of the modes messages and events gets the tokens of inner graphs
// once. They arrive in events frames. The whole message that follows is not a token, and tokens of the outermost graph
// arrive in both ways. A late reader gets the text so far.
func TestTokensOfInnerGraphsInEvents(t *testing.T) {
	t.Parallel()
	event := func(id, text, ns, tags string) mapping.Event {
		return mapping.Event{Kind: mapping.KindChunk, Head: mapping.Head{Name: "events"}, Data: json.RawMessage(`{"event":"on_chat_model_stream","data":{"chunk":{"id":"` + id + `","content":"` + text + `"}},"tags":[` + tags + `],"metadata":{"langgraph_checkpoint_ns":"` + ns + `"}}`)}
	}
	delta := func(id, text string) mapping.Event {
		return mapping.Event{Kind: mapping.KindDelta, Data: json.RawMessage(`[{"id":"` + id + `","content":"` + text + `"},{}]`)}
	}
	events := []mapping.Event{
		event("m1", "he", "inner:1|plan:2", ""), event("m1", "llo", "inner:1|plan:2", ""), event("m2", "x", "inner:1|plan:2", `"nostream"`),
		event("m3", "out", "outer:1", ""), delta("m3", "out"), delta("m1", "hello"),
		{Kind: mapping.KindChunk, Head: mapping.Head{Name: "events"}, Data: json.RawMessage(`{"event":"on_chain_end"}`)},
	}
	run := func(modes ...string) mapping.Run {
		return mapping.Run{Options: mapping.RunOptions{StreamModes: modes}}
	}
	want := []string{"messages/metadata", "messages/partial", "messages/partial", "messages/metadata", "messages/partial"}
	if got := namesOf(run("messages", "events"), []string{"messages"}, events...); !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := namesOf(run("events"), []string{"events"}, events...); len(got) != 5 {
		t.Errorf("without the mode messages: %s, want only the events", got)
	}
	late := NewView(new(run("messages", "events")), ModesOf([]string{"messages"}), adapter.Cursor{Seq: 1, K: -1})
	fold, _ := state.NewFold(nil)
	var frames []string
	for i, ev := range events[:2] {
		ev.Seq = int64(i + 1)
		e := &state.Entry{Event: ev, Before: fold, After: fold}
		if i == 0 {
			late.Recall(e)
			continue
		}
		late.Frames(e, func(frame []byte) { frames = append(frames, string(frame)) })
	}
	if len(frames) != 1 || !strings.Contains(frames[0], `[{"id":"m1","content":"hello"}]`) || !strings.Contains(frames[0], "id: 2.2\n") {
		t.Errorf("a late reader got %q", frames)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// Clients that join the chunks of a message get the text of a streamed step once, and then only its end. Clients of whole
// messages get it complete.
func TestAStreamedStepIsNotRepeated(t *testing.T) {
	t.Parallel()
	run := mapping.Run{ID: "r", ThreadID: "t"}
	whole := rule.StepUpdate("r", "task", 1, mapping.StepInfo{Output: json.RawMessage(`"hello"`), StreamedAs: "m"}, nil, mapping.ApprovalAuto)
	events := []mapping.Event{rule.StepToken(&run, "m", "hel", false), rule.StepToken(&run, "m", "lo", false), whole}
	fold, _ := state.NewFold(nil)
	fromStart := adapter.Cursor{K: -1, Start: true}
	for _, x := range []struct {
		mode   string
		after  adapter.Cursor
		events []mapping.Event
		want   []string
	}{
		{"messages-tuple", fromStart, events, []string{"messages hel", "messages lo", "messages "}},
		{"messages", fromStart, events, []string{"messages/metadata", "messages/partial hel", "messages/partial hello", "messages/complete hello"}},
		{"messages-tuple", adapter.Cursor{Seq: 2, K: deltaTuple}, events[2:], []string{"messages "}},
		{"messages-tuple", fromStart, events[2:], []string{"messages hello", "messages "}}, // retention has removed the tokens
		{"messages", fromStart, events[2:], []string{"messages/metadata", "messages/complete hello"}},
	} {
		v := NewView(&run, ModesOf([]string{x.mode}), x.after)
		v.Exposes = mapping.ExposesHistory
		var got []string
		for i, ev := range x.events {
			ev.Seq = int64(i + 3)
			v.Frames(&state.Entry{Event: ev, Before: fold, After: fold}, func(frame []byte) {
				name, rest, _ := strings.Cut(strings.TrimPrefix(string(frame), "event: "), "\ndata: ")
				data, _, _ := strings.Cut(rest, "\n")
				if list := rawjson.ElementsOf(json.RawMessage(data)); len(list) > 0 {
					name += " " + rawjson.GetText(list[0], "content")
				}
				got = append(got, name)
			})
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s after %+v: %q, want %q", x.mode, x.after, got, x.want)
		}
	}
}
