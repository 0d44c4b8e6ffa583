package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/redo"
	"github.com/google/go-cmp/cmp"
)

func openWaiting(t *testing.T) *Store {
	t.Helper()
	return openBeside(t, filepath.Join(t.TempDir(), "a.db"))
}

// isWaiting tells whether a run's rows are not in the database yet.
func isWaiting(s *Store, id string) bool { return s.ahead.find(id) != nil }

// ended is the end of a run.
func ended(c Created, status mapping.RunStatus) Append {
	ev, end := leaving(mapping.Outcome{Status: status})
	return Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Fence, Events: []mapping.Event{ev}, End: end}
}

// lived is a run that was begun and ended.
func lived(t *testing.T, s *Store, n NewRun) Created {
	t.Helper()
	c := makes(t, s, n)
	if _, _, err := s.AppendRun(context.Background(), ended(c, mapping.RunSuccess)); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWhatWaitsIsTakenOverOnce: from the log that a process has left, whatever of it the
// database has already, and however often it is begun with.
func TestWhatWaitsIsTakenOverOnce(t *testing.T) {
	t.Parallel()
	s := openWaiting(t)
	want := map[string]bool{}
	for round, read := range []bool{true, false, true, true, false} {
		for n := range 2 {
			want[lived(t, s, briefly(2*round+n, true)).Run.ID] = true
		}
		left := killed(t, s) // before it is read, and after an earlier one was
		for _, mode := range []string{"normal", "full"} {
			again := openBeside(t, left, Options{Synchronous: mode})
			checkRuns(t, again, want)
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			if exists(left + "-redo") {
				t.Error("its log was left behind")
			}
		}
		if read {
			checkRuns(t, s, want)
		}
	}
}

func checkRuns(t *testing.T, s *Store, want map[string]bool) {
	t.Helper()
	list, err := s.Runs(context.Background(), RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, r := range list {
		got[r.ID] = r.Status == mapping.RunSuccess
	}
	if d := cmp.Diff(want, got); d != "" || len(got) != len(list) {
		t.Errorf("runs that have ended (-want +got):\n%s", d)
	}
}

// TestWhatWaitsIsTakenOverByItself: also when nobody reads.
func TestWhatWaitsIsTakenOverByItself(t *testing.T) {
	t.Parallel()
	s := openWaiting(t)
	id := begins(t, s, 1).Run.ID
	late, tick := time.After(10*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.ahead.some.Load() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it still waits")
		}
	}
	if _, ok := s.runs.Get(id); !ok || isWaiting(s, id) {
		t.Error("its keys are not known")
	}
}

// TestWhatIsDoneToAWaitingRun is in force for its owner.
func TestWhatIsDoneToAWaitingRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, do := range map[string]func(s *Store, c Created) error{
		"it was parked, and ended by somebody": func(s *Store, c Created) error {
			_, _, err := s.AppendRun(ctx, Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Fence, End: &End{Outcome: mapping.Outcome{Parked: true}, Thread: mapping.ThreadInterrupted}})
			if err == nil {
				a := ended(c, mapping.RunInterrupted)
				_, err = s.EndInactive(ctx, c.Run.ThreadID, c.Run.ID, a.Events[0], *a.End)
			}
			return err
		},
		"it has ended": func(s *Store, c Created) error {
			_, _, err := s.AppendRun(ctx, ended(c, mapping.RunSuccess))
			return err
		},
		"another fence": func(*Store, Created) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openWaiting(t)
			c := begins(t, s, 1)
			if err := do(s, c); err != nil {
				t.Fatal(err)
			}
			a := ended(c, mapping.RunSuccess)
			if name == "another fence" {
				a.Fence++
			}
			if _, _, err := s.AppendRun(ctx, a); !errors.Is(err, ErrFenced) {
				t.Errorf("got %v, want it fenced", err)
			}
		})
	}
}

// TestNothingWaits where a commit must have happened before it is acknowledged, and
// where something would have to be read.
func TestNothingWaits(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"full": {}, "a limit": {Synchronous: "normal", Limit: 1 << 30}} {
		s := openBeside(t, filepath.Join(t.TempDir(), "a.db"), o)
		if id := begins(t, s, 1).Run.ID; isWaiting(s, id) || exists(s.db.(*sqlite).redoPath()) {
			t.Errorf("%s: it waits", name)
		}
	}
	for name, change := range map[string]func(*NewRun){
		"not brief":                  func(n *NewRun) { n.Brief = false },
		"a key":                      func(n *NewRun) { n.IdempotencyKey, n.IdempotencyRoute = "k", "r" },
		"not claimed":                func(n *NewRun) { n.Claim = false },
		"a thread that may be there": func(n *NewRun) { n.MustNotExist = false },
		"one that expires":           func(n *NewRun) { n.Thread.Expires = time.Now().Add(time.Hour) },
		"a later start":              func(n *NewRun) { n.Run.RunAfter = time.UnixMicro(1_890_000_000_000_000) },
		"others beside it":           func(n *NewRun) { n.Run.Multitask = mapping.StrategyConcurrent },
		"too large":                  func(n *NewRun) { n.Run.Kwargs = []byte(`"` + strings.Repeat("x", 600<<10) + `"`) },
	} {
		s, n := openWaiting(t), briefly(1, true)
		change(&n)
		if id := makes(t, s, n).Run.ID; isWaiting(s, id) {
			t.Errorf("%s: it waits", name)
		}
	}
}

// TestMoreThanALogHolds: what does not fit is written at once, behind what does.
func TestMoreThanALogHolds(t *testing.T) {
	t.Parallel()
	s, want := openWaiting(t), map[string]bool{}
	for i := range 40 {
		n := briefly(i, true)
		n.Run.Kwargs = []byte(`"` + strings.Repeat("x", 30<<10) + `"`)
		want[lived(t, s, n).Run.ID] = true
	}
	checkRuns(t, s, want)
}

// TestWhatWaitsIsKeptWhenItCannotBeWritten: nobody is told that there is no such run, and
// the next process has it.
func TestWhatWaitsIsKeptWhenItCannotBeWritten(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), openWaiting(t)
	path := s.db.(*sqlite).path
	c := lived(t, s, briefly(1, true))
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Run(ctx, "", c.Run.ID); err == nil || mapping.Classify(err).Class != mapping.Unavailable {
			t.Errorf("reading it gives %v", err)
		}
	}
	if _, err := s.CreateRun(ctx, briefly(2, true)); err == nil {
		t.Error("another run was acknowledged")
	}
	_ = s.Close()
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	checkRuns(t, openBeside(t, path, Options{}), map[string]bool{c.Run.ID: true})
}

// TestABatchThatIsFullTakesNoMore: its encoder has called texts by numbers that are
// not in the log.
func TestABatchThatIsFullTakesNoMore(t *testing.T) {
	t.Parallel()
	s := openWaiting(t)
	c := begins(t, s, 1)
	run := s.ahead.find(c.Run.ID)
	for n := 2; run == nil; n++ { // on a slow machine it is in the database already
		c = begins(t, s, n)
		run = s.ahead.find(c.Run.ID)
	}
	const text = `UPDATE runs SET agent = $1 WHERE run_id = $2`
	for _, agent := range []string{strings.Repeat("x", redo.AreaSize), "b"} {
		if s.ahead.add([]redo.Statement{{Text: text, Args: []any{agent, c.Run.ID}}}, run) {
			t.Errorf("it took %d bytes", len(agent))
		}
	}
	if r, err := s.Run(context.Background(), "", c.Run.ID); err != nil || r.Agent != "a" {
		t.Errorf("what it had taken before became %+v, %v", r, err)
	}
	if id := begins(t, s, 2).Run.ID; !isWaiting(s, id) {
		t.Error("the next batch takes nothing either")
	}
}

// TestNothingMoreWaitsBehindAFailure: what is acknowledged must not pile up.
func TestNothingMoreWaitsBehindAFailure(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), openWaiting(t)
	c := begins(t, s, 1)
	failure := refuse("", "the disk is on fire")
	s.db.(*sqlite).writer.failed.Store(&failure)
	for _, do := range []func() error{
		func() error { _, err := s.Run(ctx, "", c.Run.ID); return err },
		func() error { _, err := s.CreateRun(ctx, briefly(2, true)); return err },
		func() error {
			_, _, err := s.AppendRun(ctx, ended(c, mapping.RunSuccess))
			return err
		},
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "on fire") {
			t.Errorf("got %v", err)
		}
	}
	s.db.(*sqlite).writer.failed.Store(nil)
	if _, _, err := s.AppendRun(ctx, ended(c, mapping.RunSuccess)); err != nil {
		t.Error(err)
	}
	checkRuns(t, s, map[string]bool{c.Run.ID: true})
}

// TestACrowdDoesNotWait: it shares transactions as it is.
func TestACrowdDoesNotWait(t *testing.T) {
	t.Parallel()
	s := openWaiting(t)
	for i := range 3 * aheadCrowd { // one after the other is no crowd
		lived(t, s, briefly(100+i, true))
	}
	if !s.ahead.welcome() {
		t.Error("runs one after the other are taken for a crowd")
	}
	stopped := s.ahead.timer.Stop() // so that all are of one batch
	for i := range aheadCrowd {
		begins(t, s, i)
	}
	if id := begins(t, s, aheadCrowd).Run.ID; stopped && isWaiting(s, id) {
		t.Error("a run waits behind a crowd")
	}
}
