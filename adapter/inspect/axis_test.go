package inspect

import (
	"context"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

const longRun = 10_000 // events

// longLog is a service with one run. It counts the events that are read.
type longLog struct {
	adapter.Service
	read    int
	pruned  int64            // events up to this one are pruned
	works   bool             // the run has not ended
	ends    bool             // it ends after the first read
	exposes mapping.Exposure // what is known about its agent
}

func (l *longLog) GetRun(context.Context, adapter.RunRef) (*mapping.Run, error) {
	r := &mapping.Run{ID: "r", TaskID: "r", ThreadID: "t", Status: mapping.RunSuccess}
	if l.works || l.ends {
		r.Status = mapping.RunRunning
	}
	l.ends = false
	return r, nil
}

func (l *longLog) GetAssistant(context.Context, string) (mapping.Assistant, error) {
	return mapping.Assistant{Exposes: l.exposes}, nil
}

func (l *longLog) RunEvents(ctx context.Context, _ adapter.RunRef, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		if !after.Start && after.Seq < l.pruned {
			yield(nil, mapping.Errorf(mapping.Conflict, mapping.CodeCursorExpired, "pruned"))
			return
		}
		for seq := max(after.Seq, l.pruned) + 1; seq <= longRun; seq++ {
			e := mapping.Event{Seq: seq, Kind: mapping.KindCustom, At: time.Unix(seq, 0), Data: []byte(`{}`)}
			if seq%3 == 0 {
				e.Kind = mapping.KindDelta
			}
			if seq == longRun && !l.works {
				e.Kind = mapping.KindEnd
			}
			if l.read++; !yield(&state.Entry{Event: e}, nil) {
				return
			}
		}
		if l.works {
			idle()
			yield(nil, ctx.Err())
		}
	}
}

// numbering is an observer whose frames show the number of events so far and the agent's exposure.
type numbering struct {
	seen    int
	exposes mapping.Exposure
}

func (n *numbering) Observe(*state.Entry) []adapter.Frame {
	n.seen++
	return []adapter.Frame{{Name: strconv.Itoa(n.seen), Note: strconv.Itoa(int(n.exposes))}}
}

func (n *numbering) Fork() adapter.Observer {
	other := *n
	return &other
}

// page reads a page with a new axis, as each request does, and returns the number of events that it read.
func (l *longLog) page(t *testing.T, m *marks, q axisQuery) (axisPage, int) {
	t.Helper()
	dialects := adapter.Dialects{{Name: "d", Observe: func(o adapter.Observed) adapter.Observer { return &numbering{exposes: o.Exposes} }}}
	a, err := newAxis(t.Context(), l, dialects, adapter.RunRef{RunID: "r"}, m)
	if err != nil {
		t.Fatal(err)
	}
	before := l.read
	p, err := a.page(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return p, l.read - before
}

// This includes a run that ends between the two reads, because its page would not change again.
func TestPageWithTheEndShowsAnEndedRun(t *testing.T) {
	t.Parallel()
	for after, want := range map[int64]mapping.RunStatus{0: mapping.RunRunning, longRun - 50: mapping.RunSuccess} {
		l := &longLog{ends: true}
		a, err := newAxis(t.Context(), l, nil, adapter.RunRef{RunID: "r"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.page(t.Context(), axisQuery{after: after, limit: 100})
		if err != nil || p.Whole != (want == mapping.RunSuccess) || a.run.Status != want {
			t.Errorf("after %d: complete %v, for a run that is %s, want %s; %v", after, p.Whole, a.run.Status, want, err)
		}
	}
}

// With marks each page is the same as without, also if it is requested twice and for an active run.
func TestLatePagesReadNoMoreThanTheFirst(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		l, m, pages := &longLog{works: n > 1}, newMarks(), 0
		for q := (axisQuery{limit: 111, tokens: n%2 == 1}); ; pages++ {
			got, read := l.page(t, m, q)
			again, _ := l.page(t, m, q)
			want, _ := l.page(t, nil, q)
			if diff := cmp.Diff(want, got) + cmp.Diff(want, again); diff != "" {
				t.Fatalf("behind %d (-want +got):\n%s", q.after, diff)
			}
			if most := 2 * q.limit; read > most {
				t.Fatalf("the page after event %d read %d events, more than %d", q.after, read, most)
			}
			if q.after = got.Next; got.Next == 0 {
				break
			}
		}
		if pages < 50 {
			t.Errorf("%d pages", pages)
		}
	}
}

// A mark after pruned events is ignored. The page has the remaining events.
func TestPageAfterAPrunedPosition(t *testing.T) {
	t.Parallel()
	l, m := &longLog{}, newMarks()
	first, _ := l.page(t, m, axisQuery{limit: 10})
	l.pruned = 500
	got, _ := l.page(t, m, axisQuery{after: first.Next, limit: 10})
	want, _ := l.page(t, nil, axisQuery{after: first.Next, limit: 10})
	if diff := cmp.Diff(want, got); diff != "" || len(got.Rows) != 10 || got.Rows[0].Seq <= l.pruned {
		t.Errorf("%d rows (-want +got):\n%s", len(got.Rows), diff)
	}
}

// A mark from the time when the agent was unknown is ignored once the agent is known.
func TestPageAfterAMarkOfAnUnknownAgent(t *testing.T) {
	t.Parallel()
	l, m := &longLog{}, newMarks()
	first, _ := l.page(t, m, axisQuery{limit: 10})
	l.exposes = mapping.ExposesNothing
	got, _ := l.page(t, m, axisQuery{after: first.Next, limit: 10})
	want, _ := l.page(t, nil, axisQuery{after: first.Next, limit: 10})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, read := l.page(t, m, axisQuery{after: got.Next, limit: 10}); read > 20 {
		t.Errorf("the page after that read %d events", read)
	}
}

// Calls that ended before or after the page are on other pages.
func TestCallsArePlacedAtTheirEnds(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	run := mapping.Run{CreatedAt: at(0)}
	rows := func() []row { return []row{{Seq: 5, At: at(5)}, {Seq: 6, At: at(6)}} }
	for name, one := range map[string]struct {
		begun, took int64
		want        []int64 // 0 means the call
	}{
		"before the page": {1, 1, []int64{5, 6}},
		"first":           {1, 3, []int64{0, 5, 6}},
		"between":         {1, 4, []int64{5, 0, 6}},
		"last":            {6, 1, []int64{5, 6, 0}},
		"behind the page": {6, 3, []int64{5, 6}},
	} {
		calls := []adapter.AgentCall{{At: at(one.begun), Took: time.Duration(one.took) * time.Second}}
		var got []int64
		for _, r := range withCalls(rows(), &run, calls, at(3), at(8)) {
			got = append(got, r.Seq)
		}
		if diff := cmp.Diff(one.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Overlapping calls count once, and no part is longer than the run.
func TestTimingOfConcurrentCalls(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	call := func(begun, took int64) adapter.AgentCall {
		return adapter.AgentCall{At: at(begun), Took: time.Duration(took) * time.Second}
	}
	run := mapping.Run{CreatedAt: at(0), StartedAt: at(2), EndedAt: at(10)}
	for name, one := range map[string]struct {
		run   mapping.Run
		agent time.Duration
		calls []adapter.AgentCall
		open  time.Duration
		want  timing
	}{
		"unknown":      {run, 0, nil, 0, timing{Total: 10, Waiting: 2, Bridge: 8}},
		"said":         {run, 3 * time.Second, []adapter.AgentCall{call(2, 1)}, 0, timing{Total: 10, Waiting: 2, Agent: 3, Bridge: 5, Known: true}},
		"at once":      {run, 0, []adapter.AgentCall{call(4, 3), call(3, 3)}, 0, timing{Total: 10, Waiting: 2, Agent: 4, Bridge: 4, Known: true}},
		"one in other": {run, 0, []adapter.AgentCall{call(3, 4), call(4, 1)}, 0, timing{Total: 10, Waiting: 2, Agent: 4, Bridge: 4, Known: true}},
		"too long":     {run, time.Minute, nil, 0, timing{Total: 10, Waiting: 2, Agent: 8, Known: true}},
		"still open":   {mapping.Run{CreatedAt: at(0), StartedAt: at(2)}, 0, []adapter.AgentCall{call(3, 4)}, 15 * time.Second, timing{Total: 20, Waiting: 2, Agent: 15, Bridge: 3, Known: true}},
		"taken over":   {mapping.Run{CreatedAt: at(0), StartedAt: at(2)}, 0, []adapter.AgentCall{call(3, 9)}, time.Second, timing{Total: 20, Waiting: 2, Agent: 9, Bridge: 9, Known: true}},
		"not begun":    {mapping.Run{CreatedAt: at(0)}, 0, nil, 0, timing{Total: 20, Waiting: 20}},
	} {
		if diff := cmp.Diff(one.want, timingOf(&one.run, at(20), one.agent, adapter.KeptCalls{Calls: one.calls, AgentTime: one.open})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// This includes calls that ended between two pages.
func TestEachCallIsOnOnePage(t *testing.T) {
	t.Parallel()
	l, on := &longLog{}, map[int64]int{}
	var calls []adapter.AgentCall
	for n := range int64(100) { // events are a second apart
		calls = append(calls, adapter.AgentCall{N: n, At: time.Unix(1, 0), Took: time.Duration(n) * time.Second / 2})
	}
	for q := (axisQuery{limit: 7}); ; {
		p, _ := l.page(t, nil, q)
		for _, r := range withCalls(p.Rows, &mapping.Run{}, calls, p.From, p.To) {
			if r.Call != nil {
				on[r.Call.N]++
			}
		}
		if q.after = p.Next; p.Next == 0 || p.Next > 100 {
			break
		}
	}
	for _, c := range calls {
		if on[c.N] != 1 {
			t.Errorf("the call that ended at %s is on %d pages", c.At.Add(c.Took).UTC().Format("04:05.0"), on[c.N])
		}
	}
}
