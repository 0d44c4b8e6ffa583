package timeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Axis reads one run. Its Run is that of when it was made. Not for concurrent use.
type Axis struct {
	Run     mapping.Run
	svc     adapter.Service
	columns []column
}

type column struct {
	name     string // of the dialect
	clients  string
	observer adapter.Observer
}

// New finds a run and makes a column of each dialect whose clients see runs.
func New(ctx context.Context, svc adapter.Service, dialects adapter.Dialects, ref adapter.RunRef) (*Axis, error) {
	run, err := svc.Runs.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	a := &Axis{Run: run, svc: svc}
	agent, err := svc.Agents.Resolve(ctx, run.Agent)
	if err != nil && mapping.Classify(err).Class != mapping.NotFound { // else it is configured no longer, and its runs can be read
		return nil, err
	}
	for _, d := range dialects {
		if d.Observe != nil {
			a.columns = append(a.columns, column{d.Name, d.Clients, d.Observe(adapter.Observed{Run: run, Opaque: agent.Opaque})})
		}
	}
	slices.Reverse(a.columns) // the dialect that carries most is the last of the table, and comes first here
	return a, nil
}

// Columns are what the clients of the columns are called, in their order.
func (a *Axis) Columns() (clients []string) {
	for _, c := range a.columns {
		clients = append(clients, c.clients)
	}
	return clients
}

// Page is some rows of an axis, in order.
type Page struct {
	Rows []Row `json:"rows"`
	// Next is the event behind which the next page begins; 0: there is none yet.
	Next int64 `json:"next,omitempty"`
	// Last is the newest event of the page, or the one that it was asked to begin behind.
	Last int64 `json:"last"`
	// Whole: the run has ended, and its end is on this page.
	Whole bool `json:"whole"`
}

// Query says which rows of an axis are wanted.
type Query struct {
	After  int64 // those behind this event
	Limit  int   // at most as many events
	Tokens bool  // also those of kind delta
	Calls  []adapter.AgentCall
}

// Page reads a page. Of a run that goes on it has what there is by now.
func (a *Axis) Page(ctx context.Context, q Query) (p Page, err error) {
	p.Rows, p.Last = []Row{}, q.After
	var from, to time.Time
	events := 0
	err = a.Each(ctx, func(e *state.Entry, seen [][]adapter.Sight) (more bool) {
		switch {
		case e.Seq <= q.After:
			from = e.At
			return true
		case e.Kind == mapping.KindDelta && !q.Tokens:
			p.Last = e.Seq
			return true
		case events == q.Limit:
			p.Next, to = p.Last, e.At
			return false
		}
		events++
		p.Rows, p.Last = append(p.Rows, rowOf(&a.Run, &e.Event, seen)), e.Seq
		p.Whole = p.Whole || e.Kind == mapping.KindEnd
		return true
	})
	p.Rows = withCalls(p.Rows, &a.Run, q.Calls, from, to)
	return p, err
}

// Find hands an event to f, with what each column's clients saw of it; a run has no such event: NotFound.
func (a *Axis) Find(ctx context.Context, seq int64, f func(e *state.Entry, seen [][]adapter.Sight)) error {
	found := false
	err := a.Each(ctx, func(e *state.Entry, seen [][]adapter.Sight) bool {
		if found = e.Seq == seq; found {
			f(e, seen)
		}
		return e.Seq < seq
	})
	if err == nil && !found {
		err = mapping.Errorf(mapping.NotFound, "event_not_found", "The run has no event %d.", seq)
	}
	return err
}

// Names are the names of the columns' dialects, in their order.
func (a *Axis) Names() (names []string) {
	for _, c := range a.columns {
		names = append(names, c.name)
	}
	return names
}

// Each goes through the events that there are by now, from the run's start, until f says false.
func (a *Axis) Each(ctx context.Context, f func(e *state.Entry, seen [][]adapter.Sight) (more bool)) error {
	if err := a.before(ctx); err != nil {
		return err
	}
	return a.read(ctx, a.Run.ID, func(e *state.Entry) bool {
		seen := make([][]adapter.Sight, len(a.columns))
		for i, c := range a.columns {
			seen[i] = c.observer.See(e)
		}
		return f(e, seen)
	})
}

// earlierRuns bounds how many runs of a task are read before one of it.
const earlierRuns = 100

// before has the observers see the runs of the task that came earlier: they number steps from the task's first.
func (a *Axis) before(ctx context.Context) error {
	if a.Run.TaskID == a.Run.ID {
		return nil
	}
	var earlier []string
	for r, err := range a.svc.RunIndex.List(ctx, adapter.RunQuery{ThreadID: a.Run.ThreadID, Limit: 10 * earlierRuns}) {
		if err != nil {
			return err
		}
		if r.TaskID == a.Run.TaskID && r.ID != a.Run.ID && r.CreatedAt.Before(a.Run.CreatedAt) && len(earlier) < earlierRuns {
			earlier = append(earlier, r.ID)
		}
	}
	for _, id := range slices.Backward(earlier) {
		err := a.read(ctx, id, func(e *state.Entry) bool {
			for _, c := range a.columns {
				c.observer.See(e)
			}
			return true
		})
		if err != nil && mapping.Classify(err).Class != mapping.NotFound { // else it was deleted meanwhile
			return err
		}
	}
	return nil
}

// read goes through what is logged of a run by now.
func (a *Axis) read(ctx context.Context, run string, f func(e *state.Entry) (more bool)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ref := adapter.RunRef{ThreadID: a.Run.ThreadID, RunID: run}
	for e, err := range a.svc.Runs.Events(ctx, ref, adapter.Cursor{Start: true, K: -1}, func() { stop(errNoMore) }) {
		if errors.Is(context.Cause(ctx), errNoMore) && err != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if !f(e) {
			return nil
		}
	}
	return nil
}

// errNoMore ends the reading of a run that goes on.
var errNoMore = errors.New("nothing more is logged by now")
