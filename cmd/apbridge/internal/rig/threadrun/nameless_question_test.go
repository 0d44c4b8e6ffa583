package threadrun

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestQuestionWithoutIDGetsTheSameEverywhere checks an agent whose questions have no ids. Every way to read the
// question gives the same id, once, even after another process has repeated it. The agent receives only the answer.
func TestQuestionWithoutIDGetsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	for name, answer := range answersOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.NamelessPlay(), adaptertest.ChatPlay()}}
			b := rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL, rig.AsThreads)}))
			at := b.Thread()
			_, frames := b.Stream("POST", at+"/runs/stream", `{`+saysAgent+`"stream_mode":["values","updates"],`+rig.SaysHi+`}`, 0)
			id := askedIn(frames)[0]
			checkOneID(b, at, id, frames)
			b.End()
			b = b.Again()
			checkOneID(b, at, id, frames)
			answer(b, at, id).OK()
			run := b.Get(at + "/runs").OK().Text("0.run_id")
			b.Get(at + "/runs/" + run + "/join").OK()
			b.Expect(at, "status", "idle")
			checkAnswerHasNoID(t, agent)
		})
	}
}

// askedIn returns the ids of the questions in a run's frames "updates" and "values", each once.
func askedIn(frames []rig.Frame) (ids []string) {
	for _, f := range frames {
		if list, _ := f.At("__interrupt__").([]any); list != nil {
			for _, q := range list {
				ids = append(ids, fmt.Sprint(rig.Dig(q, "id")))
			}
		}
	}
	return ids
}

func checkOneID(b *rig.Bridge, at, id string, frames []rig.Frame) {
	b.T.Helper()
	run := at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id")
	_, again := b.Stream("GET", run+"/stream?stream_mode=values&stream_mode=updates", "", 0, "Last-Event-ID", "-1")
	asked := events(b, at+"/stream/events", `{"channels":["input","lifecycle"]}`, 1, runOver)
	var requested []string
	for _, f := range asked {
		if f.Event == "input.requested" {
			requested = append(requested, fmt.Sprint(f.At("params.data.interrupt_id")))
		}
	}
	state := b.Get(at + "/state").OK()
	for where, got := range map[string]any{
		"the stream": askedIn(frames), "the stream, read again": askedIn(again), "input.requested": requested,
		"wait": []string{b.Get(run + "/join").OK().Text("__interrupt__.0.id")}, "the state's task": []string{state.Text("tasks.0.interrupts.0.id")},
		"the state": []string{state.Text("interrupts.0.id")}, "the history": []string{b.Get(at + "/history?limit=1").OK().Text("0.tasks.0.interrupts.0.id")},
		"pending": pending(b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":{"`+rig.UnknownQuestion+`":"blue"}}}`)),
	} {
		want := fmt.Sprint([]string{id})
		if strings.HasPrefix(where, "the stream") { // in updates and in values
			want = fmt.Sprint([]string{id, id})
		}
		if text := fmt.Sprint(got); text != want || id == "" {
			b.T.Errorf("%s: %s, want %s", where, text, want)
		}
	}
	for task, list := range b.Get(at).OK().At("interrupts").(map[string]any) {
		if got := fmt.Sprint(rig.Dig(list, "0.id")); got != id {
			b.T.Errorf("the thread's question of %s is %q, want %q", task, got, id)
		}
	}
}

func pending(a rig.Answer) (ids []string) {
	if a.Status != http.StatusUnprocessableEntity {
		return []string{fmt.Sprint(a)}
	}
	for _, id := range a.List("detail.pending") {
		ids = append(ids, fmt.Sprint(id))
	}
	return ids
}

// checkAnswerHasNoID checks that the agent receives the answer without an id, because it never gave one.
func checkAnswerHasNoID(t *testing.T, agent *adaptertest.ThreadAgent) {
	t.Helper()
	var last struct {
		Command struct{ Resume json.RawMessage }
	}
	bodies := agent.Bodies("POST /threads/{t}/runs/stream")
	if err := json.Unmarshal(bodies[len(bodies)-1], &last); err != nil {
		t.Fatal(err)
	}
	if told := string(last.Command.Resume); told != `"blue"` && !strings.Contains(told, `"content":"blue"`) || strings.HasPrefix(told, `{"`) && !strings.HasPrefix(told, `{"messages"`) {
		t.Errorf("the agent received %s", told)
	}
}
