package timeline

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Axis reads one run. Its Run is that of when it was made, or of when a page had its end. Not for concurrent use.
type Axis struct {
	Run     mapping.Run
	from    Source
	columns []column
	exposes mapping.Exposure // what the columns' observers were told of the agent
	marks   *Marks
}

type column struct {
	name     string // of the dialect
	clients  string
	observer adapter.Observer
}

// Source is what an axis reads.
type Source struct {
	Runs   Runs
	Index  adapter.Runs
	Agents Agents
}

// Runs is part of adapter.Runs.
type Runs interface {
	GetRun(ctx context.Context, ref adapter.RunRef) (*mapping.Run, error)
	RunEvents(ctx context.Context, ref adapter.RunRef, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error]
}

// Agents is part of adapter.Assistants.
type Agents interface {
	GetAssistant(ctx context.Context, idOrName string) (mapping.Assistant, error)
}

// New finds a run and makes a column of each dialect whose clients see runs. marks may be nil.
func New(ctx context.Context, from Source, dialects adapter.Dialects, ref adapter.RunRef, marks *Marks) (*Axis, error) {
	run, err := from.Runs.GetRun(ctx, ref)
	if err != nil {
		return nil, err
	}
	a := &Axis{Run: *run, from: from, marks: marks}
	agent, err := from.Agents.GetAssistant(ctx, run.Agent)
	if err != nil && mapping.Classify(err).Class != mapping.NotFound { // else it is configured no longer, and its runs can be read
		return nil, err
	}
	a.exposes = agent.Exposes
	for _, d := range dialects {
		if d.Observe != nil {
			a.columns = append(a.columns, column{d.Name, d.Clients, d.Observe(adapter.Observed{Run: *run, Exposes: a.exposes})})
		}
	}
	slices.Reverse(a.columns) // the dialect that carries most is the last of the table, and comes first here
	return a, nil
}

// Columns returns the names of the columns' clients, in their order.
func (a *Axis) Columns() (clients []string) {
	for _, c := range a.columns {
		clients = append(clients, c.clients)
	}
	return clients
}

// Page is some rows of an axis, in order.
type Page struct {
	Rows []Row `json:"rows"`
	// Next is the event after which the next page begins; 0: there is none yet.
	Next int64 `json:"next,omitempty"`
	// Last is the newest event of the page, or the one that it was asked to begin after.
	Last int64 `json:"last"`
	// Whole: the run has ended, and its end is on this page.
	Whole bool `json:"whole"`
}

// Query says which rows of an axis are wanted.
type Query struct {
	After  int64 // those after this event
	Limit  int   // at most as many events
	Tokens bool  // also those of kind delta
	Calls  []adapter.AgentCall
}

// Page reads a page. Of a run that goes on it has what there is by now.
func (a *Axis) Page(ctx context.Context, q Query) (Page, error) {
	fresh := slices.Clone(a.columns)
	if at, known := a.resume(q.After); known {
		p, err := a.page(ctx, q, adapter.Cursor{Seq: q.After, K: -1}, at)
		if mapping.Classify(err).Code != mapping.CodeCursorExpired {
			return p, err
		}
		a.columns = fresh // the log was pruned since the place was kept: what is left is read from its start
	}
	if err := a.before(ctx); err != nil {
		return Page{Rows: []Row{}, Last: q.After}, err
	}
	return a.page(ctx, q, fromStart, time.Time{})
}

// page reads a page from a place on; at is when the event before it was.
func (a *Axis) page(ctx context.Context, q Query, from adapter.Cursor, at time.Time) (Page, error) {
	r := reading{axis: a, q: q, Page: Page{Rows: []Row{}, Last: q.After}, from: at}
	err := a.read(ctx, a.Run.ID, from, r.addEntry)
	if err == nil && r.newest == r.Last {
		a.keep(r.Last, r.at)
	}
	if err == nil && r.Whole && a.Run.Status.Active() { // it has ended since it was read
		err = a.readRun(ctx)
	}
	r.Rows = withCalls(r.Rows, &a.Run, q.Calls, r.from, r.to)
	return r.Page, err
}

// readRun reads how the run stands by now.
func (a *Axis) readRun(ctx context.Context) error {
	run, err := a.from.Runs.GetRun(ctx, adapter.RunRef{ThreadID: a.Run.ThreadID, RunID: a.Run.ID})
	if err == nil {
		a.Run = *run
	}
	return err
}

// reading is a page while it is read.
type reading struct {
	Page
	axis     *Axis
	q        Query
	from, to time.Time // of the event before the page, and of its last where another page follows
	newest   int64     // event that was seen; 0: none
	at       time.Time // of that
	events   int
}

// addEntry reports whether the page goes on. The event after it is seen by no observer.
func (r *reading) addEntry(e *state.Entry) (more bool) {
	shown := e.Seq > r.q.After && (e.Kind != mapping.KindDelta || r.q.Tokens)
	if shown && r.events == r.q.Limit {
		r.Next, r.to = r.Last, r.at // where the next page begins
		return false
	}
	seen := r.axis.see(e)
	r.newest, r.at = e.Seq, e.At
	switch {
	case e.Seq <= r.q.After:
		r.from = e.At
		return true
	case shown:
		r.events++
		r.Rows = append(r.Rows, rowOf(&r.axis.Run, &e.Event, seen))
		r.Whole = r.Whole || e.Kind == mapping.KindEnd
	}
	r.Last = e.Seq
	return true
}

// Find hands an event to f, with what each column's clients saw of it; an event that the run does not have is NotFound.
func (a *Axis) Find(ctx context.Context, seq int64, f func(e *state.Entry, seen [][]adapter.Frame)) error {
	found := false
	err := a.Each(ctx, func(e *state.Entry, seen [][]adapter.Frame) bool {
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

// Names returns the names of the columns' dialects, in their order.
func (a *Axis) Names() (names []string) {
	for _, c := range a.columns {
		names = append(names, c.name)
	}
	return names
}

// Each goes through the events that there are by now, from the run's start, until f says false.
func (a *Axis) Each(ctx context.Context, f func(e *state.Entry, seen [][]adapter.Frame) (more bool)) error {
	if err := a.before(ctx); err != nil {
		return err
	}
	return a.read(ctx, a.Run.ID, fromStart, func(e *state.Entry) bool { return f(e, a.see(e)) })
}

var fromStart = adapter.Cursor{Start: true, K: -1}

// see returns what the clients of each column get of the next event.
func (a *Axis) see(e *state.Entry) [][]adapter.Frame {
	seen := make([][]adapter.Frame, len(a.columns))
	for i, c := range a.columns {
		seen[i] = c.observer.Observe(e)
	}
	return seen
}

// earlierRuns bounds how many runs of a task are read before one of it.
const earlierRuns = 100

// before shows the observers the earlier runs of the task: they number steps from the task's first.
func (a *Axis) before(ctx context.Context) error {
	if a.Run.TaskID == a.Run.ID {
		return nil
	}
	var earlier []string
	for r, err := range a.from.Index.ListRuns(ctx, mapping.RunQuery{ThreadID: a.Run.ThreadID, Limit: 10 * earlierRuns}) {
		if err != nil {
			return err
		}
		if r.TaskID == a.Run.TaskID && r.ID != a.Run.ID && r.CreatedAt.Before(a.Run.CreatedAt) && len(earlier) < earlierRuns {
			earlier = append(earlier, r.ID)
		}
	}
	for _, id := range slices.Backward(earlier) {
		err := a.read(ctx, id, fromStart, func(e *state.Entry) bool {
			for _, c := range a.columns {
				c.observer.Observe(e)
			}
			return true
		})
		if err != nil && mapping.Classify(err).Class != mapping.NotFound { // else it was deleted meanwhile
			return err
		}
	}
	return nil
}

// read goes through what is logged of a run by now, from a place on.
func (a *Axis) read(ctx context.Context, run string, from adapter.Cursor, f func(e *state.Entry) (more bool)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ref := adapter.RunRef{ThreadID: a.Run.ThreadID, RunID: run}
	for e, err := range a.from.Runs.RunEvents(ctx, ref, from, func() { stop(errNoMore) }) {
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

// HeadFor returns the head of an event without the names of items that the caller may not read.
func HeadFor(who mapping.Principal, h *mapping.Head) *mapping.Head {
	beyond := func(it mapping.ItemName) bool { return !who.MayReach(it.Namespace) }
	if !slices.ContainsFunc(h.Told, beyond) {
		return h
	}
	cut := *h
	cut.Told = slices.DeleteFunc(slices.Clone(h.Told), beyond)
	return &cut
}

// errNoMore ends the reading of a run that goes on.
var errNoMore = errors.New("nothing more is logged by now")
