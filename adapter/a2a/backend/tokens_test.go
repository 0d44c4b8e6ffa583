package backend_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// typing returns the first run of a task whose client requested tokens.
func typing(prompt string) adapter.Assignment {
	task := saying(prompt)
	task.Run.Options.StreamModes = []string{"values", "messages-tuple"}
	return task
}

// heard is what a client of tokens has heard: the text of each message by its id, in order of appearance.
type heard struct {
	ids     []string
	texts   map[string]string
	passing map[string]bool
	steps   map[string]string // texts of steps whose messages were streamed, by id
	whole   []string          // texts of steps whose messages were not
}

func listen(events []mapping.Event) heard {
	h := heard{texts: map[string]string{}, passing: map[string]bool{}, steps: map[string]string{}}
	for _, ev := range events {
		switch ev.Kind {
		case mapping.KindDelta:
			chunk := rawjson.ElementsOf(ev.Data)[0]
			id := state.IDOfMessage(chunk)
			if !slices.Contains(h.ids, id) {
				h.ids = append(h.ids, id)
			}
			h.texts[id] += rule.MessageText(chunk)
			h.passing[id] = ev.Head.Passing
		case mapping.KindUpdate:
			for _, m := range rawjson.ElementsOf(rawjson.Get(ev.Data, "messages")) {
				if ev.Head.Streamed {
					h.steps[state.IDOfMessage(m)] = rule.MessageText(m)
				} else if text := rule.MessageText(m); text != "" {
					h.whole = append(h.whole, text)
				}
			}
		}
	}
	return h
}

// check checks that each streamed step has exactly its tokens.
func (h heard) check(t *testing.T) {
	t.Helper()
	for id, text := range h.steps {
		if h.texts[id] != text {
			t.Errorf("the tokens of a step are %q, but it has %q", h.texts[id], text)
		}
	}
}

const fox, cat = "A fox jumps over the dog.", "A cat ha ha sleeps."

func TestAGrowingArtifactArrivesAsTokens(t *testing.T) {
	t.Parallel()
	for _, a := range []*adaptertest.A2AAgent{{}, {Version: "0.3"}, {HTTP: true}, {Version: "0.3", HTTP: true}} {
		tr := adaptertest.Collect(t.Context(), dial(t, a), typing("type"), 0)
		h := listen(tr.Events)
		h.check(t)
		var said []string
		for _, id := range h.ids {
			said = append(said, h.texts[id])
		}
		if want := []string{"Thinking", fox, "Writing more", cat}; tr.Err != nil || !slices.Equal(said, want) {
			t.Errorf("tokens %q, %v", said, tr.Err)
		}
		if len(h.steps) != 2 || len(h.whole) > 0 || !h.passing[h.ids[0]] || h.passing[h.ids[1]] {
			t.Errorf("%+v", h)
		}
	}
}

func TestRunsWithoutTokensGetSteps(t *testing.T) {
	t.Parallel()
	tr := adaptertest.Collect(t.Context(), dial(t, &adaptertest.A2AAgent{}), saying("type"), 0)
	if h := listen(tr.Events); len(h.ids) > 0 || !slices.Equal(h.whole, []string{cat, fox}) {
		t.Errorf("%+v", h)
	}
}

// Wherever a stream breaks, each text comes once. Servers whose subscriptions omit or repeat pieces are corrected at the
// end of the task, with another message for clients that join tokens.
func TestTokensSurviveACut(t *testing.T) {
	t.Parallel()
	for _, sloppy := range []*adaptertest.A2AAgent{{}, {Lost: 1}, {Lost: 2}, {Repeated: 1}, {Repeated: 2}} {
		for cut := 1; cut < 14; cut++ {
			t.Run(fmt.Sprintf("%d lost, %d repeated, cut after %d", sloppy.Lost, sloppy.Repeated, cut), func(t *testing.T) {
				t.Parallel()
				a := &adaptertest.A2AAgent{Live: true, CutAfter: cut, Lost: sloppy.Lost, Repeated: sloppy.Repeated}
				tr := adaptertest.Collect(t.Context(), dial(t, a), typing("type"), 0)
				got := texts(tr)
				got = slices.DeleteFunc(got, func(s string) bool { return s == "" })
				slices.Sort(got)
				if want := []string{cat, fox}; tr.Err != nil || !slices.Equal(got, want) {
					t.Errorf("steps %q, %v", got, tr.Err)
				}
				h := listen(tr.Events)
				h.check(t)
				if sloppy.Lost+sloppy.Repeated == 0 && (len(h.steps) != 2 || len(h.ids) != 4) {
					t.Errorf("%d steps have tokens, and %d messages", len(h.steps), len(h.ids))
				}
			})
		}
	}
}

// A process that takes a run over continues its tokens.
func TestTokensContinueInAnotherProcess(t *testing.T) {
	t.Parallel()
	for n := 1; n < 18; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			b := dial(t, &adaptertest.A2AAgent{})
			first := adaptertest.Collect(t.Context(), b, typing("type"), n)
			again := typing("type")
			again.InDoubt, again.After = true, first.Events
			for _, ev := range first.Events {
				if ev.Head.Step != nil {
					again.Done++
				}
			}
			second := adaptertest.Collect(t.Context(), b, again, 0)
			all := adaptertest.Trace{Events: slices.Concat(first.Events, second.Events), Err: second.Err}
			got := slices.DeleteFunc(texts(all), func(s string) bool { return s == "" })
			slices.Sort(got)
			if all.Err != nil || !slices.Equal(got, []string{cat, fox}) {
				t.Errorf("steps %q, %v", got, all.Err)
			}
			listen(all.Events).check(t)
		})
	}
}

// An agent may report its answer before it makes it an artifact.
func TestAReportedAnswerIsNotRepeated(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{Change: func(ev map[string]any) {
		if u, ok := ev["statusUpdate"].(map[string]any); ok {
			u["status"].(map[string]any)["message"] = map[string]any{"messageId": "m", "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": "third"}}}
		}
	}}
	h := listen(adaptertest.Collect(t.Context(), dial(t, a), typing("say"), 0).Events)
	h.check(t)
	said := 0
	for _, text := range append(h.whole, h.texts[h.ids[0]], h.texts[h.ids[1]]) {
		if text == "third" {
			said++
		}
	}
	if said != 1 || len(h.ids) != 2 {
		t.Errorf("%+v", h)
	}
}
