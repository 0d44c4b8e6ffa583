package backend_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// paced is an agent that streams each event only when the next value can be received from sent.
type paced struct {
	*adaptertest.A2AAgent
	events []event
	sent   <-chan struct{}
}

func (p paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		p.A2AAgent.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range p.events {
		select {
		case <-p.sent:
		case <-r.Context().Done():
			return
		}
		raw, _ := json.Marshal(event{"jsonrpc": "2.0", "id": "1", "result": ev})
		_, _ = w.Write([]byte("data: " + string(raw) + "\n\n"))
		_ = http.NewResponseController(w).Flush()
	}
}

func artifact(id string, parts ...any) event {
	return event{"artifactUpdate": event{"taskId": "task-1", "contextId": "c", "lastChunk": true, "artifact": event{"artifactId": id, "parts": parts}}}
}

// A complete artifact is a step although the agent says nothing after it for a long time, and events keep their order.
func TestACompleteArtifactIsNotHeld(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), adaptertest.Patience)
	defer stop()
	working := func(text string) event {
		return status("WORKING", event{"message": event{"messageId": "m-" + text, "role": "ROLE_AGENT", "parts": []any{event{"text": text}}}})
	}
	sent := make(chan struct{}, 10)
	b := dial(t, paced{&adaptertest.A2AAgent{}, []event{
		status("WORKING", nil), artifact("one", event{"text": "first"}),
		working("more"), artifact("two", event{"text": "second"}), working("almost"), status("COMPLETED", nil),
	}, sent})
	sent <- struct{}{}
	sent <- struct{}{}
	task := saying("say")
	var got []string
	for ev, err := range b.Run(ctx, &task) {
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		switch {
		case ev.Kind == mapping.KindCustom && strings.Contains(string(ev.Data), "more"):
			got = append(got, "more")
		case ev.Kind == mapping.KindCustom:
			got = append(got, "almost")
		case ev.Kind == mapping.KindUpdate:
			got = append(got, texts(adaptertest.Trace{Events: []mapping.Event{ev}})...)
			if len(got) == 1 { // the agent goes on once the first step was received
				for range 4 {
					sent <- struct{}{}
				}
			}
		}
	}
	if !slices.Equal(got, []string{"first", "more", "second", "almost", ""}) {
		t.Errorf("%q", got)
	}
}

// If a task asks without a status message, its newest artifact is the question, even if its step is no longer held.
func TestAnArtifactThatWasNotHeldIsTheQuestion(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), adaptertest.Patience)
	defer stop()
	sent := make(chan struct{}, 3)
	b := dial(t, paced{&adaptertest.A2AAgent{}, []event{
		status("WORKING", nil), artifact("interrupt", event{"data": event{"interrupt_id": "i-1", "value": "Which colour?"}}), status("INPUT_REQUIRED", nil),
	}, sent})
	sent <- struct{}{}
	sent <- struct{}{}
	task := saying("say")
	asked := false
	for ev, err := range b.Run(ctx, &task) {
		switch {
		case err != nil:
			t.Fatal(err)
		case ev.Kind == mapping.KindUpdate && !asked:
			asked = true
			sent <- struct{}{}
		case ev.Head.Outcome != nil:
			if got := ev.Head.Outcome.Interrupts; len(got) != 1 || got[0].ID != "i-1" || string(got[0].Value) != `"Which colour?"` {
				t.Errorf("questions %+v", got)
			}
		}
	}
}
