package inspect

import (
	"context"
	"fmt"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
)

// cancelling ends runs that are under way.
type cancelling struct {
	*renderer
	runs cancellable
}

// cancellable is part of adapter.Runs.
type cancellable interface {
	GetRun(ctx context.Context, ref adapter.RunRef) (*mapping.Run, error)
	CancelRun(ctx context.Context, ref adapter.RunRef, opt adapter.CancelOptions) error
}

func (c *cancelling) serve(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	run, err := c.runs.GetRun(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	if in.Get(inputSure) != "yes" {
		return c.confirm(w, r, confirmation{
			Question: "Cancel this run?", Says: []string{fmt.Sprintf("The agent %q is told to stop. What it has done so far stays.", run.Agent)},
			Button: "Cancel the run", Back: runPath(run.ID),
		})
	}
	mapping.AddAuditObject(r.Context(), "thread", run.ThreadID)
	if !cancelled(run) {
		if err := c.runs.CancelRun(r.Context(), adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}, adapter.CancelOptions{}); err != nil {
			return err
		}
	}
	return c.done(w, r, runPath(run.ID), started{RunID: run.ID, ThreadID: run.ThreadID})
}

// cancelled reports whether a run has ended as a person asked, as when the button was pressed twice.
func cancelled(r *mapping.Run) bool {
	return !r.Status.Active() && r.CancelReason == mapping.CancelledByRequest
}
