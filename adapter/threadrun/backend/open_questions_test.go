package backend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// TestQuestionsThatWereAnsweredAreNotOpen covers answered questions, which LangGraph keeps in the state while other
// questions of the superstep are open, even in later runs.
func TestQuestionsThatWereAnsweredAreNotOpen(t *testing.T) {
	t.Parallel()
	task := func(node, id string) string {
		return `{"id":"task-` + id + `","name":"` + node + `","interrupts":[{"id":"` + id + `","value":"?"}],"result":null}`
	}
	said := func(node, id string) string {
		return `tasks {"id":"task-` + id + `","name":"` + node + `","result":{},"interrupts":[{"id":"` + id + `","value":"?"}]}`
	}
	for name, c := range map[string]struct {
		next, tasks string
		frames      []string
		before      string // ids that were open
		answer      string
		open        string
	}{
		"both are asked":                       {next: `["a","b"]`, tasks: task("a", "q1") + `,` + task("b", "q2"), open: "q1 q2"},
		"one of two is answered":               {next: `["b"]`, tasks: task("a", "q1") + `,` + task("b", "q2"), before: "q1 q2", answer: `{"q1":"x"}`, open: "q2"},
		"one was answered before":              {next: `["c"]`, tasks: task("a", "q1") + `,` + task("b", "q2") + `,` + task("c", "q3"), before: "q2 q3", answer: `{"q2":"x"}`, open: "q3"},
		"it is asked again":                    {next: `["a","b"]`, tasks: task("a", "q1") + `,` + task("b", "q2"), before: "q1 q2", answer: `{"q1":"x"}`, open: "q1 q2"},
		"two of one node":                      {next: `["a","a"]`, tasks: task("a", "q1") + `,` + task("a", "q2"), open: "q1 q2"},
		"two of one node, one is answered":     {next: `["a"]`, tasks: task("a", "q1") + `,` + task("a", "q2"), before: "q1 q2", answer: `{"q1":"x"}`, open: "q2"},
		"three of one node, one was before":    {next: `["a"]`, tasks: task("a", "q1") + `,` + task("a", "q2") + `,` + task("a", "q3"), before: "q2 q3", answer: `{"q2":"x"}`, open: "q3"},
		"two of one node, the other asks anew": {next: `["a"]`, tasks: task("a", "q1") + `,` + task("a", "q2"), before: "q1 q2", answer: `{"q1":"x","q2":"y"}`, frames: []string{said("a", "q2")}, open: "q2"},
		"a server that does not say its next":  {next: `[]`, tasks: task("a", "q1"), open: "q1"},
		"tasks without names":                  {next: `["a"]`, tasks: `{"id":"t","interrupts":[{"id":"q1","value":"?"}]}`, open: "q1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := adaptertest.AskPlay()
			play.Frames = append(framesBut(framesBut(framesBut(play.Frames, "checkpoints"), "updates"), "tasks"), c.frames...)
			state, err := rawjson.WithMembers(json.RawMessage(play.State),
				rawjson.Member{Name: "next", Value: json.RawMessage(c.next)}, rawjson.Member{Name: "tasks", Value: json.RawMessage(`[` + c.tasks + `]`)})
			if err != nil {
				t.Fatal(err)
			}
			play.State = string(state)
			a := adaptertest.NewTask(nil)
			for id := range strings.FieldsSeq(c.before) {
				a.Run.Options.Asked = append(a.Run.Options.Asked, mapping.Interrupt{ID: id})
			}
			if c.answer != "" {
				a.Resume, a.Run.Options.Resume = true, json.RawMessage(c.answer)
			}
			server := playing(play)
			a.Link = mapping.Link{Remote: openRemote(t, server)}
			tr := run(t, server, a)
			var open []string
			if end := tr.End(); end != nil {
				for _, q := range end.Interrupts {
					open = append(open, q.ID)
				}
			}
			if got := strings.Join(open, " "); tr.Err != nil || got != c.open {
				t.Errorf("open: %q, want %q; %v", got, c.open, tr.Err)
			}
		})
	}
}

// TestTheNodesThatAreLeft covers checkpoint frames, which name all nodes of a superstep, and states, which name only
// the unfinished ones.
func TestTheNodesThatAreLeft(t *testing.T) {
	t.Parallel()
	play := adaptertest.AskPlay()
	for i, f := range play.Frames {
		play.Frames[i] = strings.Replace(f, `"next":["ask"]`, `"next":["done","ask"]`, 1)
	}
	var next []string
	for _, ev := range run(t, playing(play), adaptertest.NewTask(nil)).Events {
		if ev.Head.Checkpoint != nil {
			next = ev.Head.Checkpoint.Next
		}
	}
	if got := strings.Join(next, " "); got != "ask" {
		t.Errorf("next is %q, want ask", got)
	}
}
