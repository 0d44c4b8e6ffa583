package rule

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

func TestTopicMetadata(t *testing.T) {
	t.Parallel()
	name := "Holidays"
	for _, c := range []struct {
		about      string
		name       *string
		additional string
		want       string // "" means refused
	}{
		{"nothing", nil, ``, `{}`},
		{"a name", &name, ``, `{"name":"Holidays"}`},
		{"both", &name, `{ "a": 1.0 }`, `{"name":"Holidays","a":1.0}`},
		{"a name of its own", nil, `{"name":"x"}`, ``},
		{"an agent", nil, `{"graph_id":"x"}`, ``},
		{"an assistant", nil, `{"assistant_id":null}`, ``},
		{"our mark", &name, `{"apbridge":{}}`, ``},
		{"no object", nil, `[]`, ``},
	} {
		got, err := TopicMetadata(c.name, json.RawMessage(c.additional))
		if (err != nil) != (c.want == "") || err == nil && string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.about, got, err, c.want)
		}
		if err != nil && mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%s: class %s", c.about, mapping.Classify(err).Class)
		}
	}
}

func TestTopicOf(t *testing.T) {
	t.Parallel()
	for metadata, want := range map[string][2]string{
		`{}`: {"", `{}`},
		`{"name":"x","a":1.0,"graph_id":"g","assistant_id":"i","apbridge":{"task_id":"t"},"b":null}`: {"x", `{"a":1.0,"b":null}`},
		`{"name":5}`: {"", `{"name":5}`},
	} {
		got := TopicOf(mapping.Thread{Metadata: json.RawMessage(metadata)})
		name := ""
		if got.Name != nil {
			name = *got.Name
		}
		if name != want[0] || string(got.AdditionalInput) != want[1] {
			t.Errorf("%s: got %q, %s", metadata, name, got.AdditionalInput)
		}
	}
}

func TestOwnTopic(t *testing.T) {
	t.Parallel()
	for metadata, want := range map[string]bool{
		`{}`: true, `{"graph_id":null}`: true, `{"graph_id":"me"}`: true, `{"graph_id":"you"}`: false, `{"graph_id":5}`: false,
	} {
		if got := OwnTopic(json.RawMessage(metadata), "me"); got != want {
			t.Errorf("%s: got %v", metadata, got)
		}
	}
}

func TestTopicMemory(t *testing.T) {
	t.Parallel()
	items := []mapping.Item{
		{Namespace: []string{"topics", "t"}, Key: "diet", Value: json.RawMessage(`{"fish": true}`)},
		{Namespace: []string{"topics", "t", "ann"}, Key: "age", Value: json.RawMessage(`{"n":9}`)},
		{Namespace: []string{"topics", "t"}, Key: "colour", Value: json.RawMessage(`{"from":"store"}`)},
	}
	got := TopicMemory(json.RawMessage(`{"messages":[1],"colour":"blue","files":{"/a":"b"},"n":1.50}`), "t", items)
	if want := `{"diet":{"fish": true},"ann/age":{"n":9},"colour":"blue","n":1.50}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := TopicMemory(nil, "t", nil); string(got) != "{}" {
		t.Errorf("of nothing: %s", got)
	}
}

func TestTopicMessage(t *testing.T) {
	t.Parallel()
	for role, want := range map[Role]string{
		RoleUser:   `{"content":"a\nb","additional_kwargs":{"apbridge":{"x":1.0}},"response_metadata":{},"id":"i","type":"human"}`,
		RoleSystem: `{"content":"a\nb","additional_kwargs":{"apbridge":{"x":1.0}},"response_metadata":{},"id":"i","type":"system"}`,
		RoleAgent:  `{"content":"a\nb","additional_kwargs":{"apbridge":{"x":1.0}},"response_metadata":{},"id":"i","type":"ai","tool_calls":[],"invalid_tool_calls":[]}`,
	} {
		if got := TopicMessage("i", role, "a\nb", json.RawMessage(`{"x":1.0}`)); string(got) != want {
			t.Errorf("%s: got %s", role, got)
		}
	}
}

func TestMessageTime(t *testing.T) {
	t.Parallel()
	before := time.Now().Add(-time.Millisecond)
	if at := MessageTime(mapping.NewID()); at.Before(before) || at.After(time.Now()) {
		t.Errorf("of a new id: %v", at)
	}
	for _, id := range []string{"", "x", mapping.StepID("t", 1)} {
		if at := MessageTime(id); !at.IsZero() {
			t.Errorf("of %q: %v", id, at)
		}
	}
}

// told applies events to a state and returns them as entries.
func told(t *testing.T, from *state.Fold, runID string, events ...mapping.Event) []*state.Entry {
	t.Helper()
	var list []*state.Entry
	for _, ev := range events {
		ev.RunID = runID
		after, err := from.Apply(&ev)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &state.Entry{Event: ev, Before: from, After: after})
		from = after
	}
	return list
}

func says(messages ...string) mapping.Event {
	raw := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		raw[i] = json.RawMessage(m)
	}
	return mapping.Event{Kind: mapping.KindInput, Data: rawObject(state.KeyMessages, rawjson.Array(raw...))}
}

func ends(out mapping.Outcome) mapping.Event {
	return mapping.Event{Kind: mapping.KindEnd, At: time.Unix(9, 0).UTC(), Head: mapping.Head{Outcome: &out}}
}

func humanSays(id, text string) string {
	return `{"type":"human","id":"` + id + `","content":"` + text + `"}`
}
func aiSays(id, text string) string {
	return `{"type":"ai","id":"` + id + `","content":"` + text + `"}`
}

// line returns an interaction in short form: id, task, speaker and text.
func line(i Interaction) string {
	text := i.Output
	if i.Role != RoleAgent {
		text = i.Input
	}
	said := "<null>"
	if text != nil {
		said = *text
	}
	return i.ID + " " + i.TaskID + " " + string(i.Role) + ": " + said
}

func TestInteractions(t *testing.T) {
	t.Parallel()
	empty, err := state.NewFold(nil)
	if err != nil {
		t.Fatal(err)
	}
	success := mapping.Outcome{Status: mapping.RunSuccess}
	question := []mapping.Interrupt{{ID: "q", Value: json.RawMessage(`"Which?"`)}}
	task := func(id string) mapping.Task {
		return mapping.Task{ID: id, ThreadID: "topic", Input: "in " + id, HasInput: true}
	}
	input := func(id string) string { return mapping.MessageID(id, "input") }
	begun := mapping.Event{Kind: mapping.KindStarted}
	for _, c := range []struct {
		name  string
		state []string // messages of the newest state, if they differ from those of the last run
		tasks []mapping.Task
		runs  []mapping.Run
		told  func() [][]*state.Entry
		want  []string
	}{
		{name: "a task that waits", tasks: []mapping.Task{task("a")}, want: []string{input("a") + " a user: in a"}},
		{name: "one without words", tasks: []mapping.Task{{ID: "a", ThreadID: "topic"}}},
		{
			name: "a run that waits", tasks: []mapping.Task{task("a")}, runs: []mapping.Run{{ID: "r", TaskID: "a"}},
			told: func() [][]*state.Entry { return [][]*state.Entry{nil} }, want: []string{input("a") + " a user: in a"},
		},
		{
			name: "only the last words of an agent", tasks: []mapping.Task{task("a")}, runs: []mapping.Run{{ID: "r", TaskID: "a"}},
			told: func() [][]*state.Entry {
				return [][]*state.Entry{told(t, empty, "r", begun, says(humanSays(input("a"), "in a")), says(aiSays("1", "one")), says(aiSays("2", "two"), aiSays("3", "")), ends(success))}
			},
			want: []string{input("a") + " a user: in a", "2 a agent: two"},
		},
		{
			name: "no last words while it runs", tasks: []mapping.Task{task("a")}, runs: []mapping.Run{{ID: "r", TaskID: "a"}},
			told: func() [][]*state.Entry {
				return [][]*state.Entry{told(t, empty, "r", begun, says(humanSays(input("a"), "in a")), says(aiSays("1", "one")))}
			},
			want: []string{input("a") + " a user: in a"},
		},
		{
			name: "an agent that renames its input", tasks: []mapping.Task{task("a")}, runs: []mapping.Run{{ID: "r", TaskID: "a"}},
			told: func() [][]*state.Entry {
				return [][]*state.Entry{told(t, empty, "r", begun, says(humanSays("own", "in a"), aiSays("1", "one")), ends(success))}
			},
			want: []string{input("a") + " a user: in a", "1 a agent: one"},
		},
		{
			name: "an agent without messages", tasks: []mapping.Task{task("a")}, runs: []mapping.Run{{ID: "r", TaskID: "a"}},
			told: func() [][]*state.Entry { return [][]*state.Entry{told(t, empty, "r", begun, ends(success))} },
			want: []string{input("a") + " a user: in a", mapping.MessageID("r", "end") + " a agent: <null>"},
		},
		{
			name: "a failure", tasks: []mapping.Task{task("a")}, runs: []mapping.Run{{ID: "r", TaskID: "a"}},
			told: func() [][]*state.Entry {
				return [][]*state.Entry{told(t, empty, "r", begun, ends(mapping.Outcome{Status: mapping.RunError, Fault: &mapping.Fault{Code: "c", Message: "broken"}}))}
			},
			want: []string{input("a") + " a user: in a", mapping.MessageID("r", "end") + " a agent: Error: broken"},
		},
		{
			name: "a question and its answer", tasks: []mapping.Task{task("a")},
			runs: []mapping.Run{{ID: "r", TaskID: "a"}, {ID: "s", TaskID: "a", Options: mapping.RunOptions{Resuming: true, Resume: json.RawMessage(`"blue"`)}}},
			told: func() [][]*state.Entry {
				first := told(t, empty, "r", begun, says(humanSays(input("a"), "in a")), mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: question}},
					ends(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: question}))
				return [][]*state.Entry{first, told(t, first[len(first)-1].After, "s", begun, says(aiSays("1", "done")), ends(success))}
			},
			want: []string{input("a") + " a user: in a", "q a agent: Which?", mapping.MessageID("s", "answer") + " a user: blue", "1 a agent: done"},
		},
		{
			name: "a guessed answer is nobody's", tasks: []mapping.Task{task("a")},
			runs: []mapping.Run{{ID: "s", TaskID: "a", Options: mapping.RunOptions{Resuming: true, Resume: json.RawMessage(`"y"`), Guessed: "Which?"}}},
			told: func() [][]*state.Entry {
				return [][]*state.Entry{told(t, empty, "s", begun, says(aiSays("1", "done")), ends(success))}
			},
			want: []string{input("a") + " a user: in a", "1 a agent: done"},
		},
		{
			name: "words between runs", tasks: []mapping.Task{task("a"), task("b")}, runs: []mapping.Run{{ID: "r", TaskID: "a"}, {ID: "s", TaskID: "b"}},
			told: func() [][]*state.Entry {
				first := told(t, empty, "r", begun, says(humanSays(input("a"), "in a"), aiSays("1", "one")), ends(success))
				between := told(t, first[len(first)-1].After, "", says(`{"type":"system","id":"x","content":"brief"}`, aiSays("y", "noted")))
				return [][]*state.Entry{first, told(t, between[0].After, "s", begun, says(humanSays(input("b"), "in b"), aiSays("2", "two")), ends(success))}
			},
			want: []string{input("a") + " a user: in a", "1 a agent: one", "x  system: brief", "y  agent: noted", input("b") + " b user: in b", "2 b agent: two"},
		},
		{
			name: "what was forked away from is gone", state: []string{humanSays(input("b"), "in b"), aiSays("2", "two")},
			tasks: []mapping.Task{task("a"), task("b")}, runs: []mapping.Run{{ID: "r", TaskID: "a"}, {ID: "s", TaskID: "b"}},
			told: func() [][]*state.Entry {
				return [][]*state.Entry{
					told(t, empty, "r", begun, says(humanSays(input("a"), "in a"), aiSays("1", "one")), ends(success)),
					told(t, empty, "s", begun, says(humanSays(input("b"), "in b"), aiSays("2", "two")), ends(success)),
				}
			},
			want: []string{input("b") + " b user: in b", "2 b agent: two"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			talk := Conversation{TopicID: "topic", Tasks: c.tasks, Runs: c.runs}
			if c.told != nil {
				talk.Told = c.told()
			}
			for _, entries := range talk.Told {
				if n := len(entries); n > 0 {
					talk.Messages = entries[n-1].After.Messages()
				}
			}
			if c.state != nil {
				talk.Messages = nil
				for _, m := range c.state {
					talk.Messages = append(talk.Messages, json.RawMessage(m))
				}
			}
			var got []string
			for _, i := range talk.Interactions() {
				if i.TopicID != "topic" {
					t.Errorf("%s is of topic %q", i.ID, i.TopicID)
				}
				got = append(got, line(i))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A step of a task/step agent that asks is one interaction with its text.
func TestAskingStepIsOneInteraction(t *testing.T) {
	t.Parallel()
	empty, err := state.NewFold(nil)
	if err != nil {
		t.Fatal(err)
	}
	info := mapping.StepInfo{Output: json.RawMessage(`"I need to know."`), Additional: json.RawMessage(`{"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`)}
	step := StepUpdate("r", "a", 1, info, nil, mapping.ApprovalAuto)
	step.Head.Artifacts = []string{"file"}
	entries := told(t, empty, "r", mapping.Event{Kind: mapping.KindStarted}, step, ends(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: step.Head.Interrupts}))
	talk := Conversation{TopicID: "topic", Runs: []mapping.Run{{ID: "r", TaskID: "a"}}, Told: [][]*state.Entry{entries}, Messages: entries[2].After.Messages()}
	got := talk.Interactions()
	if len(got) != 1 || line(got[0]) != mapping.StepID("a", 1)+" a agent: Which?" || len(got[0].Artifacts) != 1 {
		t.Fatalf("got %+v", got)
	}
	for _, key := range []string{"use_tool", "interrupt"} {
		if rawjson.Get(got[0].AdditionalOutput, key) == nil {
			t.Errorf("no %s in %s", key, got[0].AdditionalOutput)
		}
	}
}

func TestTaskStrategy(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]mapping.Strategy{
		"sequence": mapping.StrategyEnqueue, "parallel": mapping.StrategyConcurrent, "enqueue": mapping.StrategyEnqueue, "interrupt": mapping.StrategyInterrupt, "": "", "other": "other",
	} {
		if got := TaskStrategy(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}
