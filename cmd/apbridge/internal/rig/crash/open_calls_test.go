package crash

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// accountant is an agent that reports its work: its tasks and steps, or its runs.
type accountant interface{ Done() []string }

// checkOpen compares the account of an agent, which no process calls any more, with a record. The record must not have
// calls that the agent did not receive, and may lack at most the given number of calls of any kind.
func checkOpen(t *testing.T, dsn string, agent accountant, most int) {
	t.Helper()
	done, known := agent.Done(), logged(t, asLeft(t, dsn))
	if open := without(done, known); len(open) > most {
		t.Errorf("the log lacks %q, which the agent did: %d calls are open, at most %d are allowed", open, len(open), most)
	}
	if made := without(known, done); len(made) > 0 {
		t.Errorf("the log has %q, which the agent did not do", made)
	}
}

// without returns the elements of a list that are not in another one. It respects the number of duplicates.
func without(list, other []string) (rest []string) {
	other = slices.Clone(other)
	for _, call := range list {
		if i := slices.Index(other, call); i >= 0 {
			other = slices.Delete(other, i, i+1)
		} else {
			rest = append(rest, call)
		}
	}
	return rest
}

// asLeft returns a database that can be opened without changing that of a dead process. For SQLite it is a copy of the
// files. For PostgreSQL it is the same database, from which another process takes nothing during the lease of the dead
// one.
func asLeft(t *testing.T, dsn string) string {
	t.Helper()
	if strings.HasPrefix(dsn, "postgres") {
		return dsn
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		raw, err := os.ReadFile(dsn + end)
		if err == nil {
			err = os.WriteFile(copied+end, raw, 0o600)
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return copied
}

// logged returns the calls to agents that are in a log, in the form of the agents' accounts.
func logged(t *testing.T, dsn string) (calls []string) {
	t.Helper()
	st := openRecord(t, dsn)
	defer st.Close()
	threads, _, err := st.Threads.List(context.Background(), mapping.ThreadQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		events, err := st.Events.List(context.Background(), th.ID, "", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, callsIn(events)...)
	}
	return calls
}

// callsIn returns the calls whose results are in a thread's events. A link is repeated when more becomes known.
func callsIn(events []mapping.Event) (calls []string) {
	task := map[string]string{} // of a run: what its agent calls it
	for _, ev := range events {
		link, step := ev.Head.Link, ev.Head.Step
		if link != nil {
			task[ev.RunID] = link.Remote
			if made := madeBy(link); made != "" && !slices.Contains(calls, made) {
				calls = append(calls, made)
			}
		}
		if step != nil {
			calls = append(calls, task[ev.RunID]+"/"+step.ID)
		}
	}
	return calls
}

// madeBy returns the run of a graph or the task that a link names. It returns "" if the link only names a thread of a
// graph, which may be created twice.
func madeBy(link *mapping.Link) string {
	if link.RemoteRun == "" && link.TaskID != "" {
		return link.Remote
	}
	return link.RemoteRun
}

// TestOpenCalls checks that a missing call and a surplus one do not cancel out, even if they are of the same kind.
func TestOpenCalls(t *testing.T) {
	t.Parallel()
	linked := func(run string, l mapping.Link) mapping.Event {
		return mapping.Event{RunID: run, Kind: mapping.KindLinked, Head: mapping.Head{Link: &l}}
	}
	task := linked("r", mapping.Link{TaskID: "t", Remote: "a"})
	step := func(id string) mapping.Event {
		return mapping.Event{RunID: "r", Kind: mapping.KindUpdate, Head: mapping.Head{Step: &mapping.StepInfo{ID: id}}}
	}
	thread, run := linked("r", mapping.Link{Remote: "th"}), linked("r", mapping.Link{Remote: "th", RemoteRun: "g"})
	for name, c := range map[string]struct {
		done       []string
		events     []mapping.Event
		open, made []string
	}{
		"all is logged":                {done: []string{"a", "a/1", "a/2"}, events: []mapping.Event{task, step("1"), task, step("2")}},
		"a step is lacking":            {done: []string{"a", "a/1", "a/2"}, events: []mapping.Event{task, step("1")}, open: []string{"a/2"}},
		"a step stands there twice":    {done: []string{"a", "a/1", "a/2"}, events: []mapping.Event{task, step("1"), step("1")}, open: []string{"a/2"}, made: []string{"a/1"}},
		"a step for another task":      {done: []string{"a", "b"}, events: []mapping.Event{task, step("1")}, open: []string{"b"}, made: []string{"a/1"}},
		"a step before its task":       {done: []string{"a", "a/1"}, events: []mapping.Event{step("1"), task}, open: []string{"a/1"}, made: []string{"/1"}},
		"a graph's thread is no call":  {done: []string{"g"}, events: []mapping.Event{thread}, open: []string{"g"}},
		"a graph's run, told of twice": {done: []string{"g"}, events: []mapping.Event{thread, run, run}},
	} {
		known := callsIn(c.events)
		if open, made := without(c.done, known), without(known, c.done); !slices.Equal(open, c.open) || !slices.Equal(made, c.made) {
			t.Errorf("%s: open calls %q and invented calls %q, want %q and %q", name, open, made, c.open, c.made)
		}
	}
}
