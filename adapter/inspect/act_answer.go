package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
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

// threadFinder is part of adapter.Threads.
type threadFinder interface {
	GetThread(ctx context.Context, id string) (mapping.Thread, error)
}

// serve answers an open question of a thread. Of two answers at once the second is told who was first.
func (a *answering) serve(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	ctx, id := r.Context(), in.Get(inputQuestion)
	t, err := a.threads.GetThread(ctx, mux.Vars(r)["thread_id"])
	if err != nil {
		return err
	}
	at := slices.IndexFunc(t.Interrupts, func(q mapping.Interrupt) bool { return q.ID == id })
	if at < 0 {
		return a.late(w, r, in, t.ID, id)
	}
	q := t.Interrupts[at]
	asks, err := a.runs.runThatAsked(ctx, t.ID, q)
	if err != nil {
		return err
	}
	said, err := question.Of(q).Answer(in)
	if err != nil {
		return err
	}
	if in.Get(inputSure) != "yes" {
		return a.confirm(w, r, confirmation{
			Question: "Send this answer?", Says: []string{fmt.Sprintf("The agent %q is given it, and goes on with its work.", asks.Agent)},
			Sends: conversation.Cut(string(said)).Text, Button: "Send the answer", Back: threadPath(t.ID),
		}, inputQuestion, id, question.InputJSON, adapter.InASCII(said))
	}
	err = a.start(w, r, a.resuming(t.ID, asks, q.ID, said, in.Get(inputOnce)))
	if err == nil {
		return nil
	}
	if class := mapping.Classify(err).Class; class == mapping.Conflict || class == mapping.Invalid {
		if t, failed := a.threads.GetThread(ctx, t.ID); failed == nil && !slices.ContainsFunc(t.Interrupts, func(q mapping.Interrupt) bool { return q.ID == id }) {
			return a.late(w, r, in, t.ID, id)
		}
	}
	return err
}

// resuming is the run that gives an agent an answer. of is the run that asked, or one of its agent and flavour.
func (a *answering) resuming(thread string, of mapping.Run, question string, said json.RawMessage, once string) adapter.RunRequest {
	return adapter.RunRequest{
		ThreadID: thread, Agent: of.Agent, Flavour: a.flavour(of.Flavour), Multitask: mapping.StrategyReject, IdempotencyKey: once,
		Kwargs:  rule.RequestOfAnswer(said),
		Command: &adapter.Command{Resume: named(question, said), HasResume: true}, Fields: []string{"command"},
	}
}

// named is an answer with the id of its question, so that it can be given to no other that has been asked since. An id
// that is none of LangGraph's is one that agents do not know.
func named(question string, said json.RawMessage) json.RawMessage {
	if len(question) != 32 {
		return said
	}
	return new(rawjson.Writer).Open('{').Key(question).Raw(said, "null").Close('}').Bytes
}
