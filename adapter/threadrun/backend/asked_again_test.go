package backend

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// TestQuestionsOfADeadProcess lets a process die after each event. The next process must yield the same questions with
// their text and state tasks, even if the server does not repeat the frame with the question.
func TestQuestionsOfADeadProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		play   adaptertest.ThreadPlay
		answer string
	}{
		"the frame that asks is repeated": {play: adaptertest.AskPlay()},
		"it is not":                       {play: unasked(adaptertest.AskPlay())},
		"one of two of a node asks again": {play: askingAgain(t), answer: `{"q1":"x","q2":"y"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := playing(c.play)
			b := scripted(t, server)
			task := adaptertest.NewTask(nil)
			if c.answer != "" {
				task.Resume, task.Run.Options.Resume = true, json.RawMessage(c.answer)
				task.Run.Options.Asked = []mapping.Interrupt{{ID: "q1"}, {ID: "q2"}}
				task.Link = mapping.Link{Remote: openRemote(t, server)}
			}
			whole := adaptertest.Collect(within(t), b, task, 0)
			want := asked(whole)
			if whole.Err != nil || len(want) != 2 {
				t.Fatalf("%v, %s", whole.Err, want)
			}
			for n, ev := range whole.Events {
				died := adaptertest.Trace{Events: whole.Events[:n]}
				if linkOf(died).RemoteRun == "" {
					continue
				}
				next := task
				next.InDoubt, next.After, next.Link = true, died.Events, linkOf(died)
				tr := adaptertest.Collect(within(t), b, next, 0)
				if d := cmp.Diff(want, asked(tr)); d != "" || tr.Err != nil {
					t.Errorf("died after event %d: %v, %s", n, tr.Err, d)
				}
				if ev.WithEnd { // logged together with the end or not at all
					break
				}
			}
			if server.Work() != 1 {
				t.Errorf("the agent was run %d times", server.Work())
			}
		})
	}
}

// asked returns the questions of an interrupt event and of the outcome.
func asked(tr adaptertest.Trace) (list []string) {
	tell := func(qs []mapping.Interrupt) {
		for _, q := range qs {
			list = append(list, fmt.Sprintf("%s of %s: %s", q.ID, q.Task, q.Value))
		}
	}
	for _, ev := range tr.Events {
		if ev.Kind == mapping.KindInterrupt {
			tell(ev.Head.Interrupts)
		}
	}
	if end := tr.End(); end != nil {
		tell(end.Interrupts)
	}
	return list
}

// unasked returns a play without the frame that has the question.
func unasked(play adaptertest.ThreadPlay) adaptertest.ThreadPlay {
	var kept []string
	for _, f := range play.Frames {
		if !strings.Contains(f, interruptKey) {
			kept = append(kept, f)
		}
	}
	play.Frames = kept
	return play
}

// askingAgain returns a play in which two state tasks of a node were answered and one asks again. The state has both
// questions.
func askingAgain(t *testing.T) adaptertest.ThreadPlay {
	t.Helper()
	task := func(id string) string {
		return `{"id":"task-` + id + `","name":"ask","interrupts":[{"id":"` + id + `","value":"really?"}],"result":null}`
	}
	play := unasked(adaptertest.AskPlay())
	play.Frames = append(framesBut(play.Frames, "tasks"), `tasks {"id":"task-q2","name":"ask","result":{},"interrupts":[{"id":"q2","value":"really?"}]}`, `custom {"so":1}`)
	state, err := rawjson.WithMembers(json.RawMessage(play.State), rawjson.Member{Name: "tasks", Value: json.RawMessage(`[` + task("q1") + `,` + task("q2") + `]`)})
	if err != nil {
		t.Fatal(err)
	}
	play.State = string(state)
	return play
}

// Questions of a previous upstream run do not belong to the current one.
func TestQuestionsOfTheRunBefore(t *testing.T) {
	t.Parallel()
	asks := mapping.Event{Kind: mapping.KindChunk, Head: mapping.Head{Name: "tasks"}, Data: json.RawMessage(`{"id":"t1","interrupts":[{"id":"q1"}]}`)}
	linked := func(run string) mapping.Event {
		return mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: "t", RemoteRun: run}}}
	}
	for name, c := range map[string]struct {
		after []mapping.Event
		want  string
	}{
		"its own":            {[]mapping.Event{linked("r1"), asks, linked("r1")}, "t1"},
		"of the run before":  {[]mapping.Event{linked("r1"), asks, linked("r2")}, ""},
		"of a graph below":   {[]mapping.Event{linked("r1"), {Kind: asks.Kind, Head: mapping.Head{Name: "tasks", NS: []string{"a:1"}}, Data: asks.Data}}, ""},
		"in another's frame": {[]mapping.Event{linked("r1"), {Kind: asks.Kind, Head: mapping.Head{Name: "debug"}, Data: asks.Data}}, ""},
	} {
		tr := &translator{job: &job{t: &adapter.Assignment{After: c.after}}, askers: map[string]string{}}
		if tr.replay(); tr.askers["q1"] != c.want {
			t.Errorf("%s: asked by %q, want %q", name, tr.askers["q1"], c.want)
		}
	}
}
