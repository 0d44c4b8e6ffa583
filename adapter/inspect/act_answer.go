package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/adapter/inspect/question"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

// inputQuestion is the id of the question that a form answers.
const inputQuestion = "question"

// answering gives agents the answers that people fill in.
type answering struct {
	*starting
	threads threadFinder
	runs    *threadRuns
}

// threadFinder is of adapter.Threads.
type threadFinder interface {
	Get(ctx context.Context, id string) (mapping.Thread, error)
}

// serve answers an open question of a thread. Of two who answer it at once the second is told who was first.
func (a *answering) serve(w http.ResponseWriter, r *http.Request) error {
	in, err := form(r)
	if err != nil {
		return err
	}
	ctx, id := r.Context(), in.Get(inputQuestion)
	t, err := a.threads.Get(ctx, mux.Vars(r)["thread_id"])
	if err != nil {
		return err
	}
	at := slices.IndexFunc(t.Interrupts, func(q mapping.Interrupt) bool { return q.ID == id })
	if at < 0 {
		return a.closed(ctx, t.ID, id)
	}
	q := t.Interrupts[at]
	asks, err := a.runs.asker(ctx, t.ID, q)
	if err != nil {
		return err
	}
	said, err := question.Of(q).Answer(in)
	if err != nil {
		return err
	}
	if in.Get(inputSure) != "yes" {
		return a.ask(w, r, confirmation{
			Question: "Send this answer?", Says: []string{fmt.Sprintf("The agent %q is given it, and goes on with its work.", asks.Agent)},
			Sends: conversation.Cut(string(said)).Text, Button: "Send the answer", Back: threadPath(t.ID),
		}, inputQuestion, id, question.InputJSON, adapter.InASCII(said))
	}
	err = a.start(w, r, adapter.NewRun{
		ThreadID: t.ID, Agent: asks.Agent, Flavour: a.flavour(asks), Multitask: mapping.StrategyReject, IdempotencyKey: in.Get(inputOnce),
		Kwargs:  new(rawjson.Writer).Open('{').Key("command").Open('{').Key("resume").Raw(said, "null").Close('}').Close('}').Bytes,
		Command: &adapter.Command{Resume: named(q, said), HasResume: true}, Fields: []string{"command"},
	})
	if err == nil {
		return nil
	}
	if class := mapping.Classify(err).Class; class == mapping.Conflict || class == mapping.Invalid {
		if t, failed := a.threads.Get(ctx, t.ID); failed == nil && !slices.ContainsFunc(t.Interrupts, func(q mapping.Interrupt) bool { return q.ID == id }) {
			return a.closed(ctx, t.ID, id)
		}
	}
	return err
}

// named is an answer with the id of its question, so that it can be given to no other that has been asked since. An id
// that is none of LangGraph's is one that agents do not know.
func named(q mapping.Interrupt, said json.RawMessage) json.RawMessage {
	if len(q.ID) != 32 {
		return said
	}
	return new(rawjson.Writer).Open('{').Key(q.ID).Raw(said, "null").Close('}').Bytes
}

// closed says what became of a question that is not open any more.
func (a *answering) closed(ctx context.Context, thread, id string) error {
	for r, err := range a.runs.newest(ctx, thread, runsShown) {
		if err != nil {
			return err
		}
		if answers(r, id) {
			e := mapping.Errorf(mapping.Conflict, mapping.CodeNothingToResume, "The question was answered already, by %s at %s.", who(r.Owner), r.CreatedAt.UTC().Format("15:04:05 UTC"))
			e.Detail = map[string]any{"run_id": r.ID, "owner": r.Owner, "answered_at": r.CreatedAt}
			return e
		}
	}
	return mapping.Errorf(mapping.Conflict, mapping.CodeNothingToResume, "The question is not open, or not any more.")
}

// answers reports whether a run answers the question.
func answers(r mapping.Run, id string) bool {
	o := r.Options
	asked := func(q mapping.Interrupt) bool { return q.ID == id }
	if !o.Resuming || !slices.ContainsFunc(o.Asked, asked) {
		return false
	}
	by := rule.Named(o.Resume, o.Asked)
	return len(by) == 0 || slices.ContainsFunc(by, asked)
}
