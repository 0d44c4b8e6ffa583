package inspect

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	lru "github.com/hashicorp/golang-lru/v2"
)

// axis arranges one run on a time axis: the events of its log, the frames that clients of each dialect got for them,
// and the calls of its agent. Not safe for concurrent use.
type axis struct {
	run     mapping.Run // as of newAxis, or of a page with the run's end
	svc     adapter.Service
	columns []column
	exposes mapping.Exposure // the agent's exposure that the observers were created with
	marks   *marks
}

type column struct {
	dialect  string
	clients  string
	observer adapter.Observer
}

// axis returns the axis of the run that a request names.
func (s *server) axis(r *http.Request) (*axis, error) {
	return newAxis(r.Context(), s.Service, s.Dialects, refOf(r), s.marks)
}

// newAxis finds a run and makes a column for each dialect whose clients see runs. marks may be nil.
func newAxis(ctx context.Context, svc adapter.Service, dialects adapter.Dialects, ref adapter.RunRef, m *marks) (*axis, error) {
	run, err := svc.GetRun(ctx, ref)
	if err != nil {
		return nil, err
	}
	a := &axis{run: *run, svc: svc, marks: m}
	agent, err := svc.GetAssistant(ctx, run.Agent)
	if err != nil && !isNotFound(err) { // runs of an agent that is no longer configured can be read
		return nil, err
	}
	a.exposes = agent.Exposes
	for _, d := range dialects {
		if d.Observe != nil {
			a.columns = append(a.columns, column{d.Name, d.Clients, d.Observe(adapter.Observed{Run: *run, Exposes: a.exposes})})
		}
	}
	slices.Reverse(a.columns) // the last dialect of the table supports most and comes first here
	return a, nil
}

func (a *axis) clients() (names []string) {
	for _, c := range a.columns {
		names = append(names, c.clients)
	}
	return names
}

// axisPage is a page of rows, in order.
type axisPage struct {
	Rows  []row `json:"rows"`
	Next  int64 `json:"next,omitempty"` // the event after which the next page begins; 0 if there is none yet
	Last  int64 `json:"last"`           // the newest event of the page, or the one after which the page begins
	Whole bool  `json:"whole"`          // the page contains the run's end

	// From and To are the times of the event before the page, and of its last event if another page follows; see withCalls.
	From, To time.Time `json:"-"`
}

// axisQuery selects rows.
type axisQuery struct {
	after  int64 // begin after this event
	limit  int   // of events
	tokens bool  // include events of kind delta
}

// page reads a page. For an active run it returns the events logged so far.
func (a *axis) page(ctx context.Context, q axisQuery) (axisPage, error) {
	fresh := slices.Clone(a.columns)
	if at, ok := a.resume(q.after); ok {
		p, err := a.readPage(ctx, q, adapter.Cursor{Seq: q.after, K: -1}, at)
		if mapping.Classify(err).Code != mapping.CodeCursorExpired {
			return p, err
		}
		a.columns = fresh // the log was pruned since the mark was kept; read the rest from the start
	}
	if err := a.observeEarlierRuns(ctx); err != nil {
		return axisPage{Rows: []row{}, Last: q.after}, err
	}
	return a.readPage(ctx, q, fromStart, time.Time{})
}

// readPage reads a page from a position. at is the time of the event before it.
func (a *axis) readPage(ctx context.Context, q axisQuery, position adapter.Cursor, at time.Time) (axisPage, error) {
	p := axisPage{Rows: []row{}, Last: q.after, From: at}
	newest, newestAt := int64(0), time.Time{}
	events := 0
	err := a.read(ctx, a.run.ID, position, func(e *state.Entry) (more bool) {
		shown := e.Seq > q.after && (e.Kind != mapping.KindDelta || q.tokens)
		if shown && events == q.limit { // the observers must not see this event
			p.Next, p.To = p.Last, newestAt
			return false
		}
		seen := a.observe(e)
		newest, newestAt = e.Seq, e.At
		if e.Seq <= q.after {
			p.From = e.At
			return true
		}
		if shown {
			events++
			p.Rows = append(p.Rows, rowOf(&a.run, &e.Event, seen))
			p.Whole = p.Whole || e.Kind == mapping.KindEnd
		}
		p.Last = e.Seq
		return true
	})
	if err == nil && newest == p.Last {
		a.keep(newest, newestAt)
	}
	if err == nil && p.Whole && a.run.Status.Active() { // it has ended since it was read
		var run *mapping.Run
		if run, err = a.svc.GetRun(ctx, adapter.RunRef{ThreadID: a.run.ThreadID, RunID: a.run.ID}); err == nil {
			a.run = *run
		}
	}
	return p, err
}

// find calls f with an event and the frames that the clients of each column got for it.
func (a *axis) find(ctx context.Context, seq int64, f func(e *state.Entry, seen [][]adapter.Frame)) error {
	found := false
	err := a.each(ctx, func(e *state.Entry, seen [][]adapter.Frame) bool {
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

// each calls f for the events logged so far until f returns false.
func (a *axis) each(ctx context.Context, f func(e *state.Entry, seen [][]adapter.Frame) (more bool)) error {
	if err := a.observeEarlierRuns(ctx); err != nil {
		return err
	}
	return a.read(ctx, a.run.ID, fromStart, func(e *state.Entry) bool { return f(e, a.observe(e)) })
}

var fromStart = adapter.Cursor{Start: true, K: -1}

// observe returns the frames that the clients of each column get for the next event.
func (a *axis) observe(e *state.Entry) [][]adapter.Frame {
	seen := make([][]adapter.Frame, len(a.columns))
	for i, c := range a.columns {
		seen[i] = c.observer.Observe(e)
	}
	return seen
}

// maxEarlierRuns is the maximum number of earlier runs of a task that are read.
const maxEarlierRuns = 100

// observeEarlierRuns passes the earlier runs of the task to the observers, because they number steps from the task's
// first.
func (a *axis) observeEarlierRuns(ctx context.Context) error {
	if a.run.TaskID == a.run.ID {
		return nil
	}
	var earlier []string
	for r, err := range a.svc.ListRuns(ctx, mapping.RunQuery{ThreadID: a.run.ThreadID, Limit: 10 * maxEarlierRuns}) {
		if err != nil {
			return err
		}
		if r.TaskID == a.run.TaskID && r.ID != a.run.ID && r.CreatedAt.Before(a.run.CreatedAt) && len(earlier) < maxEarlierRuns {
			earlier = append(earlier, r.ID)
		}
	}
	for _, id := range slices.Backward(earlier) {
		err := a.read(ctx, id, fromStart, func(e *state.Entry) bool {
			a.observe(e)
			return true
		})
		if err != nil && !isNotFound(err) { // otherwise the run was deleted since
			return err
		}
	}
	return nil
}

var errNoMore = errors.New("no more events are logged yet")

// read calls f for the events of a run that are logged so far, from a position, until f returns false.
func (a *axis) read(ctx context.Context, run string, from adapter.Cursor, f func(e *state.Entry) (more bool)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ref := adapter.RunRef{ThreadID: a.run.ThreadID, RunID: run}
	for e, err := range a.svc.RunEvents(ctx, ref, from, func() { stop(errNoMore) }) {
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

// visibleHead returns the head of an event without the names of items that the caller may not read.
func visibleHead(who mapping.Principal, h *mapping.Head) *mapping.Head {
	hidden := func(it mapping.ItemName) bool { return !who.MayReach(it.Namespace) }
	if !slices.ContainsFunc(h.Recalled, hidden) {
		return h
	}
	visible := *h
	visible.Recalled = slices.DeleteFunc(slices.Clone(h.Recalled), hidden)
	return &visible
}

// maxMarks is the maximum number of kept marks. Each is as large as the ids of the messages before it.
const maxMarks = 64

// marks keeps the observers at the ends of pages, so that the next page does not have to read the run from its start.
// The page of an active run is requested every second. A mark grants no access; newAxis has checked the caller's access
// to the run. Safe for concurrent use.
type marks struct{ kept *lru.Cache[markKey, mark] }

// markKey includes exposes, which may be unknown after a start. When it becomes known, the run is read from its start.
type markKey struct {
	run     string
	exposes mapping.Exposure
	seq     int64
}

type mark struct {
	at        time.Time // of the event
	observers []adapter.Observer
}

func newMarks() *marks {
	kept, err := lru.New[markKey, mark](maxMarks)
	if err != nil {
		panic(err) // the size is below one
	}
	return &marks{kept}
}

// keep stores a mark after an event. The observers have seen everything up to it.
func (a *axis) keep(seq int64, at time.Time) {
	if a.marks == nil || seq == 0 {
		return
	}
	m := mark{at: at}
	for _, c := range a.columns {
		m.observers = append(m.observers, c.observer.Fork())
	}
	a.marks.kept.Add(markKey{a.run.ID, a.exposes, seq}, m)
}

// resume replaces the observers with those of a mark, if there is one. The axis must not have read anything yet.
func (a *axis) resume(seq int64) (at time.Time, ok bool) {
	if a.marks == nil || seq == 0 {
		return at, false
	}
	m, ok := a.marks.kept.Get(markKey{a.run.ID, a.exposes, seq})
	if !ok || len(m.observers) != len(a.columns) {
		return at, false
	}
	for i := range a.columns {
		a.columns[i].observer = m.observers[i].Fork()
	}
	return m.at, true
}

// timing splits up the time of a run.
type timing struct {
	Total   float64 `json:"seconds"`
	Waiting float64 `json:"waiting_seconds"` // before it started
	Agent   float64 `json:"agent_seconds"`   // during calls of the agent
	Bridge  float64 `json:"bridge_seconds"`  // the rest
	// Known reports whether the agent's time is known. If it is not, Bridge is all the time except Waiting.
	Known bool `json:"agent_known"`
}

// timingOf splits up the time of a run up to its end or now. agent is the time in the end event, or 0. Without it, the
// longer of two times counts: that of the ended calls, and for a run in this process kept.AgentTime, which includes open calls.
func timingOf(run *mapping.Run, now time.Time, agent time.Duration, kept adapter.KeptCalls) timing {
	end := run.EndedAt
	if end.IsZero() {
		end = now
	}
	started := run.StartedAt
	if started.IsZero() || started.After(end) {
		started = end
	}
	if agent == 0 {
		agent = max(busyTime(kept.Calls), kept.AgentTime)
	}
	seconds := func(d time.Duration) float64 { return max(0, d.Seconds()) }
	t := timing{Total: seconds(end.Sub(run.CreatedAt)), Waiting: seconds(started.Sub(run.CreatedAt)), Known: agent > 0}
	work := seconds(end.Sub(started))
	t.Agent = min(work, seconds(agent))
	t.Bridge = work - t.Agent
	return t
}

// busyTime returns how long at least one of the calls was active.
func busyTime(calls []adapter.AgentCall) (sum time.Duration) {
	calls = slices.SortedFunc(slices.Values(calls), func(a, b adapter.AgentCall) int { return a.At.Compare(b.At) })
	var until time.Time
	for _, c := range calls {
		begin, end := c.At, c.At.Add(c.Took)
		if begin.Before(until) {
			begin = until
		}
		if end.After(begin) {
			sum += end.Sub(begin)
			until = end
		}
	}
	return sum
}
