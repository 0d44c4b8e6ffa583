package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

// openBeside opens a store on which statements may wait, unless options are given that
// say otherwise. Two with the same owner and clock give the same rows for the same
// operations.
func openBeside(t testing.TB, path string, options ...Options) *Store {
	t.Helper()
	o := append(options, Options{Synchronous: "normal"})[0]
	o.Owner, o.Now = "us", func() time.Time { return time.UnixMicro(1_700_000_000_000_000) }
	s, err := Open(context.Background(), path, o, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// waits tells how many runs wait on their way into the database.
func waits(s *Store) (n int) {
	s.ahead.mu.Lock()
	defer s.ahead.mu.Unlock()
	for _, b := range []*batch{s.ahead.running, s.ahead.filling} {
		if b != nil {
			n += len(b.runs)
		}
	}
	return n
}

// hold keeps what waits from being run until it is let go.
func hold(s *Store) (letGo func()) {
	s.ahead.turn <- struct{}{}
	return sync.OnceFunc(func() { <-s.ahead.turn })
}

// killed is a copy of the files as they are: what a process leaves that was killed.
func killed(t testing.TB, s *Store) (path string) {
	t.Helper()
	from := s.db.(*sqlite).path
	path = filepath.Join(t.TempDir(), "killed.db")
	for _, end := range []string{"", "-wal", "-redo"} {
		if data, err := os.ReadFile(from + end); err == nil {
			if err := os.WriteFile(path+end, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return path
}

// allRows is all rows of all tables but those that tell of the process itself.
func allRows(t testing.TB, s *Store) (rows []string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.read(context.Background(), func(x *tx) error {
		rows = nil
		for _, table := range []string{"threads", "thread_seq", "tasks", "runs", "events", "links", "outbox", "artifacts", "idempotency"} {
			st, err := x.on.(*session).stmt("SELECT * FROM "+table+" ORDER BY 1, 2", nil)
			must(err)
			for more := true; more; {
				if more, err = st.Step(); more {
					row := table
					for i := range st.ColumnCount() {
						row += fmt.Sprintf(" %s=%q", st.ColumnName(i), fmt.Sprint(st.value(i)))
					}
					rows = append(rows, row)
				}
				must(err)
			}
			x.on.(*session).letGo(st)
		}
		return nil
	}))
	return rows
}

// briefly is a run that makes its thread, under ids that are its own by a number.
func briefly(n int, brief bool) NewRun {
	name := fmt.Sprintf("00000000-0000-7000-8000-%012d", n)
	run := mapping.Run{ID: name, ThreadID: "t" + name, Agent: "a", AssistantID: "a", Metadata: []byte(`{"a":1}`), Kwargs: []byte(`{}`)}
	return NewRun{Run: run, Thread: &mapping.Thread{ID: run.ThreadID}, MustNotExist: true, ThreadMeta: []byte(`{"graph_id":"a"}`), Claim: true, Brief: brief,
		Task: &mapping.Task{ID: run.ID, Agent: "a", Input: "hi", HasInput: true},
		Events: []mapping.Event{{Kind: mapping.KindStarted, Head: mapping.Head{Attempt: 1}},
			{Kind: mapping.KindInput, Data: []byte(`{"b":1}`), Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: "in" + name}}}}}
}

func leaving(o mapping.Outcome) (mapping.Event, *End) {
	return mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}, &End{Outcome: o, Thread: o.Thread()}
}

// ways are what a run may do from its beginning to its leaving: each an append.
func ways(n int) map[string][]Append {
	point := func(i int) mapping.Event {
		return mapping.Event{Kind: mapping.KindUpdate, Data: []byte(`{"a":1}`), Head: mapping.Head{Node: "step", Reduce: true, Checkpoint: &mapping.Checkpoint{ID: fmt.Sprintf("c%d-%d", n, i), Source: "loop", Step: i}}}
	}
	delta := mapping.Event{Kind: mapping.KindDelta, Data: []byte(`"x"`)}
	done, ok := leaving(mapping.Outcome{Status: mapping.RunSuccess})
	failed, bad := leaving(mapping.Outcome{Status: mapping.RunError, Fault: mapping.FaultOf(mapping.Errorf(mapping.Upstream, "broken", "It broke."))})
	asked, asks := leaving(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: []mapping.Interrupt{{ID: "q", Value: []byte(`"?"`)}}})
	_, parked := leaving(mapping.Outcome{Parked: true})
	hooked, told := *ok, *ok
	hooked.Webhook = &Webhook{URL: "http://a", Body: []byte(`{}`)}
	told.Expire = time.UnixMicro(1_700_000_009_000_000)
	return map[string][]Append{
		"begins only":     nil,
		"one piece":       {{Events: []mapping.Event{point(1), done}, End: ok}},
		"several pieces":  {{Events: []mapping.Event{point(1), point(2)}}, {Events: []mapping.Event{point(3)}}, {Events: []mapping.Event{done}, End: ok}},
		"snapshots":       {{Events: []mapping.Event{point(1), point(2)}, Snapshots: map[string][]byte{fmt.Sprintf("c%d-1", n): []byte(`{"s":1}`)}}, {Events: []mapping.Event{point(3), done}, End: ok}},
		"a snapshot last": {{Events: []mapping.Event{point(1), point(2)}, Snapshots: map[string][]byte{fmt.Sprintf("c%d-2", n): []byte(`{"s":1}`)}}, {Events: []mapping.Event{point(3)}}},
		"tokens":          {{Events: []mapping.Event{delta}, Relaxed: true}, {Events: []mapping.Event{delta, delta}, Relaxed: true}, {Events: []mapping.Event{delta, done}, End: ok}},
		"links": {{Events: []mapping.Event{point(1)}, Links: []mapping.Link{{Agent: "a", TaskID: "x", Remote: "r"}, {Agent: "a", Remote: "r"}}},
			{Events: []mapping.Event{done}, Links: []mapping.Link{{Agent: "a", TaskID: "x", Remote: "other"}}, End: ok}},
		"fails":         {{Events: []mapping.Event{failed}, End: bad}},
		"tries again":   {{Events: []mapping.Event{point(1), {Kind: mapping.KindStarted, Head: mapping.Head{Attempt: 2}}}}, {Events: []mapping.Event{done}, End: ok}},
		"asks":          {{Events: []mapping.Event{asked}, End: asks}},
		"parks":         {{Events: []mapping.Event{point(1)}, End: parked}},
		"has a webhook": {{Events: []mapping.Event{done}, End: &hooked}},
		"expires":       {{Events: []mapping.Event{done}, End: &told}},
		"many events":   {{Events: []mapping.Event{point(1), point(2), point(3), point(4), point(5), point(6), point(7), point(8), point(9), point(10), point(11), point(12), point(13), point(14), point(15), point(16), point(17), done}, End: ok}},
	}
}

// lives makes a run and has it do all of that. What its callers were told is returned.
func lives(t testing.TB, s *Store, n int, way []Append, brief bool) (told []any) {
	t.Helper()
	ctx := mapping.WithPrincipal(context.Background(), mapping.Principal{ID: "key", Tenant: "one"})
	c, err := s.CreateRun(ctx, briefly(n, brief))
	if err != nil {
		t.Fatal(err)
	}
	told = append(told, c)
	for _, a := range way {
		a.ThreadID, a.RunID, a.Fence = c.Run.ThreadID, c.Run.ID, c.Fence
		events, files, err := s.AppendRun(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, events, files)
	}
	return append(told, len(s.Outbox()), len(s.Expiries())) // who has rung
}

// A run whose statements wait leaves the very rows that it leaves otherwise, whether
// they are run because somebody reads or after the process was killed; and its callers
// are told the same.
func TestWhatWaitsLeavesTheSameRows(t *testing.T) {
	t.Parallel()
	for name := range ways(0) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ahead, plain := openBeside(t, filepath.Join(t.TempDir(), "a.db")), openBeside(t, filepath.Join(t.TempDir(), "b.db"))
			letGo := hold(ahead)
			defer letGo()
			for n := range 3 {
				if diff := cmp.Diff(lives(t, plain, n, ways(n)[name], false), lives(t, ahead, n, ways(n)[name], true)); diff != "" {
					t.Errorf("told (-otherwise +waiting):\n%s", diff)
				}
			}
			if n := waits(ahead); n != 3 {
				t.Errorf("%d runs wait", n)
			}
			want := allRows(t, plain)
			after := openBeside(t, killed(t, ahead))
			letGo()
			if diff := cmp.Diff(want, allRows(t, ahead)); diff != "" {
				t.Errorf("rows (-otherwise +waiting):\n%s", diff)
			}
			for _, id := range plain.runs.Keys() {
				key, _ := plain.runs.Get(id)
				if known, _ := ahead.runs.Get(id); known.run != key.run || known.thread != key.thread {
					t.Errorf("run %s is remembered as %v, not %v", id, known, key)
				}
			}
			again := openBeside(t, killed(t, plain)) // a start frees runs
			if diff := cmp.Diff(allRows(t, again), allRows(t, after)); diff != "" {
				t.Errorf("rows after a crash (-otherwise +waiting):\n%s", diff)
			}
		})
	}
}
