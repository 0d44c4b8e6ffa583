package service_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// slowAsker asks a question and takes a minute to end its run afterwards.
type slowAsker struct{}

func (slowAsker) Traits() adapter.Traits { return adapter.Traits{Stepping: mapping.SteppingFree} }

func (slowAsker) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	asked := []mapping.Interrupt{{ID: "q-" + t.Run.ID, Value: json.RawMessage(`"Which?"`)}}
	out := mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asked}
	if t.Resume {
		out = mapping.Outcome{Status: mapping.RunSuccess}
	}
	return func(yield func(mapping.Event, error) bool) {
		if !yield(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: "up"}}}, nil) {
			return
		}
		if !t.Resume {
			if !yield(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: asked}}, nil) {
				return
			}
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				yield(mapping.Event{}, context.Cause(ctx))
				return
			}
		}
		yield(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}}, nil)
	}
}

// A client that has received a question can immediately read and answer it, by every route.
func TestQuestionIsReadableOnceItsStepIs(t *testing.T) {
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, slowAsker{})
		defer w.close()
		topic, err := w.CreateTopic(t.Context(), adapter.TopicRequest{Agent: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ref, words := adapter.TopicRef{Agent: "a", ID: topic.ID}, "hi"
		said, err := w.Say(t.Context(), adapter.InteractionRequest{Ref: ref, Input: &words})
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.ExecuteStep(t.Context(), adapter.TaskRef{Agent: "a", Topic: topic.ID, ID: said.TaskID}, adapter.StepRequest{})
		if err != nil || out.Step.Output == nil || *out.Step.Output != "Which?" {
			t.Fatalf("the step: %+v, %v", out.Step, err)
		}
		out.Confirm()
		list, total, err := w.ListInteractions(t.Context(), ref, adapter.Page{Number: 1, Size: 10})
		if err != nil || total != 2 || list[1].Output == nil || *list[1].Output != "Which?" {
			t.Errorf("the conversation: %+v, %v", list, err)
		}
		answer := "blue"
		replied, err := w.Say(t.Context(), adapter.InteractionRequest{Ref: ref, Input: &answer})
		if err != nil || replied.TaskID != said.TaskID {
			t.Errorf("the answer: %+v, %v", replied, err)
		}
	})
}
