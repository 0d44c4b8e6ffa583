package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

var question = []mapping.Interrupt{{ID: "q1", Value: json.RawMessage(`"really?"`)}}

// A client that sees a question may answer at once, so its run must have ended by then, however long the agent takes
// from the question to the end.
func TestQuestionIsShownWithTheEnd(t *testing.T) {
	t.Parallel()
	asksAs := map[string]func(adapter.Assignment) mapping.Event{
		"event": func(adapter.Assignment) mapping.Event {
			return mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: question}}
		},
		"step": func(t adapter.Assignment) mapping.Event {
			ev := step(t, 1, "one", false)
			ev.Head.Interrupts = question
			return ev
		},
	}
	for name, asks := range asksAs {
		exposes := mapping.ExposesValues
		if name == "step" {
			exposes = mapping.ExposesNothing
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, path string) {
				shown := make(chan struct{})
				b := open(t, path, &script{exposes: exposes, run: func(_ context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
					if !yield(asks(task), nil) || !yield(linked("up"), nil) {
						return
					}
					select {
					case <-shown:
					case <-time.After(time.Minute): // longer than any delay before a write
					}
					yield(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: question}}}, nil)
				}})
				defer b.close()
				r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
				for e, err := range b.log.Follow(t.Context(), &r, 0, nil) {
					if err != nil {
						t.Fatal(err)
					}
					if len(e.Head.Interrupts) == 0 {
						continue
					}
					if now, err := b.st.Runs.Get(t.Context(), r.ThreadID, r.ID); err != nil || now.Status != mapping.RunInterrupted {
						t.Errorf("the question is shown while the run is %s (error %v)", now.Status, err)
					}
					close(shown)
				}
			})
		})
	}
}

// An event after a question shows that its run has not ended, and causes the question to be written.
func TestQuestionOfARunThatContinues(t *testing.T) {
	t.Parallel()
	shown := make(chan struct{})
	b := setup(t, &script{run: func(ctx context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		ok := yield(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: question}}, nil) &&
			yield(mapping.Event{Kind: mapping.KindCustom, Data: json.RawMessage(`1`)}, nil)
		if !ok {
			return
		}
		select {
		case <-shown:
			yield(ended(mapping.RunSuccess), nil)
		case <-ctx.Done():
		}
	}})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	for e, err := range b.log.Follow(t.Context(), &r, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == mapping.KindInterrupt {
			close(shown)
		}
	}
}
