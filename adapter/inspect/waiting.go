package inspect

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// asked reports whether a run was interrupted by a question or before a node, and not cancelled.
func asked(r *mapping.Run) bool { return r.Status == mapping.RunInterrupted && r.CancelReason == "" }

// answered reports whether none of the questions of a run is still open. t is the run's thread.
func answered(r *mapping.Run, t *mapping.Thread) bool {
	if len(t.Interrupts) == 0 { // a run that stopped before a node has no question
		return asked(r) && t.Status != mapping.ThreadInterrupted
	}
	return asked(r) && !slices.ContainsFunc(t.Interrupts, func(q mapping.Interrupt) bool { return q.Run == r.ID })
}

// stateOfRun returns a status for display, or "answered" in place of "interrupted".
func stateOfRun(status mapping.RunStatus, answered bool) string {
	if answered {
		return "answered"
	}
	return string(status)
}

const maxWaiting = 20 // threads whose questions are shown above the list of runs

// waitingView is an open question. It is shown above the list of runs until it is answered.
type waitingView struct {
	RunID    string    `json:"run_id"`
	ThreadID string    `json:"thread_id"`
	Agent    string    `json:"agent"`
	Request  string    `json:"request,omitempty"` // of the run that asks
	Question string    `json:"question"`
	Since    time.Time `json:"since"`
	Place    int       `json:"place"` // among the questions of its thread, for the link to its form
}

// showsWaiting reports whether open questions belong above the list. Only the fields that this filter may have are
// known of a question without a search through all runs.
func (f runFilter) showsWaiting() bool {
	rest := f
	rest.Agent, rest.Owner, rest.Thread, rest.limit = "", "", "", 0
	if rest.Status == string(mapping.RunInterrupted) {
		rest.Status = ""
	}
	return rest == runFilter{}
}

// openQuestions finds the threads with an open question.
var openQuestions = mapping.ThreadQuery{Status: mapping.ThreadInterrupted, OfOneRun: true}

// waitingThreads returns the threads that changed last among those with an open question.
func (s *server) waitingThreads(ctx context.Context, f runFilter) ([]mapping.Thread, error) {
	q := openQuestions
	q.SortBy, q.Limit = mapping.SortByUpdated, maxWaiting
	if f.Thread != "" {
		q.IDs = []string{f.Thread}
	}
	found, _, err := s.Service.SearchThreads(ctx, adapter.ThreadSearch{ThreadQuery: q, NoValues: true})
	if err != nil {
		return nil, err
	}
	return adapter.All(found)
}

func (s *server) listWaiting(ctx context.Context, f runFilter) ([]waitingView, error) {
	threads, err := s.waitingThreads(ctx, f)
	if err != nil {
		return nil, err
	}
	var list []waitingView
	for _, t := range threads {
		for n, q := range t.Interrupts {
			run, err := s.runThatAsked(ctx, t.ID, q)
			if err != nil {
				return nil, err
			}
			if run.ID == "" || f.Agent != "" && run.Agent != f.Agent || f.Owner != "" && run.Owner != f.Owner {
				continue
			}
			list = append(list, waitingView{run.ID, t.ID, run.Agent, line(rule.RequestText(run.Kwargs)), line(rule.QuestionText(q.Value)), run.EndedAt, n})
		}
	}
	return list, nil
}

// markWaiting writes the open questions to a mark of the list.
func (s *server) markWaiting(ctx context.Context, w io.Writer, f runFilter) error {
	threads, err := s.waitingThreads(ctx, f)
	for _, t := range threads {
		for _, q := range t.Interrupts {
			fmt.Fprintln(w, t.ID, q.ID)
		}
	}
	return err
}
