package inspect

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/question"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// late leads to the thread where the same form has given the answer before, as when its button was pressed twice, and
// else says what became of the question, which is not open any more.
func (a *answering) late(w http.ResponseWriter, r *http.Request, in url.Values, thread, id string) error {
	by, err := a.answer(r.Context(), thread, id)
	if err != nil {
		return err
	}
	if by.ID == "" {
		return mapping.Errorf(mapping.Conflict, mapping.CodeNoPendingInterrupt, "The question is not open, or not any more.")
	}
	if made := a.before(r.Context(), in, by, id); made != nil {
		return a.done(w, r, threadPath(thread), startedOf(made))
	}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeNoPendingInterrupt, "The question was answered already, by %s at %s.", madeBy(by.Owner), by.CreatedAt.UTC().Format("15:04:05 UTC"))
	e.Detail = map[string]any{"run_id": by.ID, "owner": by.Owner, "answered_at": by.CreatedAt}
	return e
}

// answer is the run that has answered a question; the zero run where there is none.
func (a *answering) answer(ctx context.Context, thread, id string) (mapping.Run, error) {
	for r, err := range a.runs.newest(ctx, thread, runsShown) {
		if err != nil || answers(r, id) {
			return r, err
		}
	}
	return mapping.Run{}, nil
}

// before is what the same form has made; nil: nothing.
func (a *answering) before(ctx context.Context, in url.Values, by mapping.Run, id string) *adapter.Started {
	asked := by.Options.Asked
	q := asked[slices.IndexFunc(asked, func(q mapping.Interrupt) bool { return q.ID == id })]
	said, err := question.Of(q).Answer(in)
	if err != nil || in.Get(inputSure) != "yes" || in.Get(inputOnce) == "" {
		return nil
	}
	made, err := a.starting.runs.FindRepeatedRun(ctx, new(a.resuming(by.ThreadID, by, id, said, in.Get(inputOnce))))
	if err != nil {
		return nil // another form has the key
	}
	return made
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
