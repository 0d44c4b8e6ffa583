package plan

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// spokenAnswer makes an answer of an input that is sent while an opaque agent waits for one: with most pages the chat
// box is a person's only field. Words answer what the agent asks its user (agents.NAME.answer_by_message), and whatever
// is open where the caller says that they do; a file without words is told by its name. No input at all goes on after a
// stop that the client asked for itself, as in LangGraph.
func (b runLineage) spokenAnswer(ctx context.Context) error {
	if !b.mayAnswer() {
		return nil
	}
	last, err := b.resumeTarget(ctx)
	if err != nil || last.Status != mapping.RunInterrupted {
		return err
	}
	open := b.questionsOf(last)
	if asked, err := b.endQuestions(ctx, last); err != nil || !anyOf(open, asked) { // another agent did
		return err
	}
	o := &b.out.Run.Options
	if !b.n.HasInput {
		o.Resuming, o.Resume = true, passing(last, open)
		return nil
	}
	asked := len(open) == 1 && rule.IsAskUser(open[0]) && b.agent.Config.AnswerByMessage != "never"
	if words := b.in.Words(); words != "" && (asked || b.n.InputAnswers) {
		o.Resuming, o.ByMessage, o.Resume = true, true, rawjson.Quote(words)
	}
	return nil
}

// mayAnswer reports whether an input is said to what is open on the thread, and not to another state of it, later, or
// by the clock.
func (b runLineage) mayAnswer() bool {
	o := &b.out.Run.Options
	return b.traits.Opaque && len(b.thread.Interrupts) > 0 && !o.Resuming && o.Goto == nil && b.task == nil &&
		o.Checkpoint == "" && b.n.RunAfter == 0 && !b.n.ByClock
}

// passing is what a run without input says to the open question: the consent to go on, where the client has asked to be
// stopped there, else nothing, which is refused.
func passing(last *mapping.Run, open []mapping.Interrupt) json.RawMessage {
	own := len(last.Options.InterruptBefore)+len(last.Options.InterruptAfter) > 0
	if own && len(open) == 1 && !rule.IsAskUser(open[0]) {
		return json.RawMessage("true")
	}
	return json.RawMessage("null")
}
