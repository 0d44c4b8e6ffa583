package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
	sqlite3 "zombiezen.com/go/sqlite"
)

func begins(t testing.TB, s *Store, n int) Created {
	t.Helper()
	return makes(t, s, briefly(n, true))
}

func makes(t testing.TB, s *Store, n NewRun) Created {
	t.Helper()
	c, err := s.CreateRun(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// has tells whether a run is in the database.
func has(t testing.TB, s *Store, n int) bool {
	t.Helper()
	_, err := s.Run(context.Background(), "", briefly(n, true).Run.ID)
	if err != nil && mapping.Classify(err).Class != mapping.NotFound {
		t.Fatal(err)
	}
	return err == nil
}

// A store may be closed twice, and another one may have the file by then: what waits
// in that one's log is not the first one's to remove.
func TestSecondCloseLeavesTheLogOfTheNextStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	first := openBeside(t, path)
	begins(t, first, 1)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := openBeside(t, path)
	defer hold(second)()
	begins(t, second, 2)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if after := openBeside(t, killed(t, second)); !has(t, after, 1) || !has(t, after, 2) {
		t.Error("a run is lost")
	}
}

// Who has left gets nothing made, and an execution that was told to end writes
// nothing, whether or not it could have waited.
func TestWhoHasLeftMakesNothingWait(t *testing.T) {
	t.Parallel()
	s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
	left, leave := context.WithCancel(context.Background())
	leave()
	if _, err := s.CreateRun(left, briefly(1, true)); !errors.Is(err, context.Canceled) || has(t, s, 1) {
		t.Errorf("made: %v", err)
	}
	letGo := hold(s)
	c := begins(t, s, 2)
	_, _, err := s.AppendRun(left, Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: 1, Events: []mapping.Event{{Kind: mapping.KindDelta}}})
	letGo()
	if last, e := s.LastSeq(context.Background(), c.Run.ThreadID); !errors.Is(err, context.Canceled) || e != nil || last != 2 {
		t.Errorf("appended: %v; the newest is %d, %v", err, last, e)
	}
}

// Runs that were acknowledged and whose database is gone are not put into a new one.
func TestNewDatabaseDoesNotTakeRunsOfAnother(t *testing.T) {
	t.Parallel()
	s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
	defer hold(s)()
	begins(t, s, 1)
	path := killed(t, s)
	if err := removeAll(path, path+"-wal"); err != nil {
		t.Fatal(err)
	}
	other, err := Open(context.Background(), path, Options{}, zap.NewNop())
	if err == nil {
		_ = other.Close()
	}
	if err == nil || !strings.Contains(err.Error(), path+"-redo") {
		t.Errorf("opened: %v", err)
	}
}

// A backup that is put in the place of the database does not take what was left by the
// later one: it is not a state that follows on the backup's, and a run of it may have
// ended in a transaction that the backup does not have.
func TestBackupDoesNotTakeWhatDoesNotFollowOnIt(t *testing.T) {
	t.Parallel()
	s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
	begins(t, s, 1)
	if !has(t, s, 1) {
		t.Fatal("it is not there")
	}
	backup := killed(t, s)
	for n := 2; n < 6; n++ {
		begins(t, s, n)
		has(t, s, n)
	}
	log, err := os.ReadFile(s.db.(*sqlite).redoPath())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(backup+"-redo", log, 0o600); err != nil {
		t.Fatal(err)
	}
	if after := openBeside(t, backup); !has(t, after, 1) || has(t, after, 4) || has(t, after, 5) {
		t.Error("it has runs that were made long after it")
	}
}

// What could not be written to the log takes no number: nothing that follows it would
// be run after a crash.
func TestNoNumberIsLeftOut(t *testing.T) {
	t.Parallel()
	s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
	large := briefly(1, true)
	large.Events[1].Data = []byte(`"` + strings.Repeat("a", 600<<10) + `"`)
	if _, err := s.CreateRun(context.Background(), large); err != nil || !has(t, s, 1) {
		t.Fatal(err)
	}
	defer hold(s)()
	begins(t, s, 2)
	if waits(s) != 1 {
		t.Fatal("it does not wait")
	}
	if after := openBeside(t, killed(t, s)); !has(t, after, 2) {
		t.Error("a run is lost")
	}
}

// Two batches may be on their way when the process dies: both are run, in order.
func TestBothBatchesAreTakenOver(t *testing.T) {
	t.Parallel()
	s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
	letGo := hold(s)
	begins(t, s, 1)
	if b, _ := s.ahead.next(); b == nil {
		t.Fatal("nothing waits")
	}
	c := begins(t, s, 2)
	end, ended := leaving(mapping.Outcome{Status: mapping.RunSuccess})
	if _, _, err := s.AppendRun(context.Background(), Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: 1, Events: []mapping.Event{end}, End: ended}); err != nil {
		t.Fatal(err)
	}
	if n := waits(s); n != 2 {
		t.Fatalf("%d wait", n)
	}
	path := killed(t, s)
	letGo()
	for range 2 { // what is taken over twice is there once
		after := openBeside(t, path)
		r, err := after.Run(context.Background(), "", c.Run.ID)
		if err != nil || r.Status != mapping.RunSuccess || !has(t, after, 1) || len(allRows(t, after)) != len(allRows(t, s)) {
			t.Errorf("%v %v", r.Status, err)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// While another program writes, all who want what waits are refused together, not one
// after the other, and later all is there.
func TestD4AllAreRefusedTogetherForWhatWaits(t *testing.T) {
	t.Parallel()
	s, ctx := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db")), context.Background()
	const patience = 200 * time.Millisecond
	s.db.(*sqlite).writer.session.conn.SetBusyTimeout(patience)
	letGo := hold(s)
	begins(t, s, 1)
	other := beside(t, s)
	other.must(t, "BEGIN IMMEDIATE")
	letGo()
	begin := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if e := mapping.Classify(s.write(ctx, note("a", nil))); e.Class != mapping.Unavailable {
				t.Errorf("writing: %v", e)
			}
		})
		all.Go(func() {
			if _, err := s.Run(ctx, "", briefly(1, true).Run.ID); mapping.Classify(err).Class != mapping.Unavailable {
				t.Errorf("reading: %v", err)
			}
		})
	}
	all.Wait()
	if took := time.Since(begin); took > 20*patience {
		t.Errorf("all were refused after %v", took)
	}
	other.must(t, "ROLLBACK")
	if !has(t, s, 1) {
		t.Error("it is lost")
	}
}

// room bounds the file, or no more, behind the back of what waits.
func room(t testing.TB, s *Store, pages string) {
	t.Helper()
	err := s.db.(*sqlite).writer.write(context.Background(), true, func(x *tx) error {
		var now int64
		return x.get("PRAGMA max_page_count = "+pages, nil, out{&now})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// heavy is a run that does not fit into a full file.
func heavy(n int) NewRun {
	r := briefly(n, true)
	r.Events[1].Data = []byte(`"` + strings.Repeat("a", 200<<10) + `"`)
	return r
}

// D1: on a full disk what waits stays in the log. It is said so to everybody, nothing
// more is let wait, and once there is room everything is there, or at the next start.
func TestD1FullDiskKeepsWhatWaits(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		s, ctx := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db")), context.Background()
		letGo := hold(s)
		if _, err := s.CreateRun(ctx, heavy(1)); err != nil || waits(s) != 1 {
			t.Fatal(err)
		}
		room(t, s, "1")
		letGo()
		_, err := s.Run(ctx, "", heavy(1).Run.ID)
		if e := mapping.Classify(err); e.Class != mapping.StorageFull || !strings.Contains(e.Message, "They are not lost") {
			t.Errorf("reading: %v", err)
		}
		if _, err := s.CreateRun(ctx, briefly(2, true)); mapping.Classify(err).Class != mapping.StorageFull || waits(s) != 1 {
			t.Errorf("a further run: %v", err)
		}
		if closed {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openBeside(t, s.db.(*sqlite).path)
		} else {
			room(t, s, "1000000")
		}
		if !has(t, s, 1) || has(t, s, 2) {
			t.Error("not what was acknowledged")
		}
		defer hold(s)()
		if begins(t, s, 3); waits(s) != 1 {
			t.Error("nothing waits any more")
		}
	}
}

// D2: a commit of what waits that the disk failed ends writing, and the next start has
// the runs, once.
func TestD2FailedFlushKeepsWhatWaits(t *testing.T) {
	t.Parallel()
	s, ctx := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db")), context.Background()
	letGo := hold(s)
	begins(t, s, 1)
	db := &flaky{sqlite: s.db.(*sqlite), fails: sqlite3.ResultIOErrFsync.ToError()}
	db.writer.db = db
	letGo()
	for range 2 {
		if _, err := s.Run(ctx, "", briefly(1, true).Run.ID); mapping.Classify(err).Class != mapping.Unavailable {
			t.Errorf("reading what is not there: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := openBeside(t, s.db.(*sqlite).path); !has(t, after, 1) {
		t.Error("it is lost")
	}
}

// Whoever stops waiting while others have what waits run is let go.
func TestCallerNeedNotWaitForWhatWaits(t *testing.T) {
	t.Parallel()
	s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
	defer hold(s)()
	begins(t, s, 1)
	ctx, leave := context.WithCancel(context.Background())
	gave := make(chan error)
	go func() {
		_, err := s.Run(ctx, "", briefly(1, true).Run.ID)
		gave <- err
	}()
	leave()
	if err := <-gave; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Runs that are made, go on and end while others read, stop and delete them lose and
// double nothing.
func TestManyAtOnceSeeOneRunEach(t *testing.T) {
	t.Parallel()
	s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
	ctx := context.Background()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 40 {
				n := 1000*w + i
				c := begins(t, s, n)
				a := Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: 1}
				var both sync.WaitGroup
				both.Go(func() { // somebody looks, or takes the run away
					switch n % 4 {
					case 0:
						_, _ = s.Events(ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
					case 1:
						_ = s.RequestStop(ctx, c.Run.ID, "cancel")
					case 2:
						_ = s.Release(ctx, c.Run.ID, 1)
						_, _, _, _ = s.ClaimNext(ctx, nil)
					}
				})
				var fenced bool
				var logged int
				for p := range 3 {
					b := a
					b.Events = []mapping.Event{{Kind: mapping.KindDelta, Data: []byte(`1`)}}
					if p == 2 {
						end, ended := leaving(mapping.Outcome{Status: mapping.RunSuccess})
						b.Events, b.End = append(b.Events, end), ended
					}
					events, _, err := s.AppendRun(ctx, b)
					if fenced = errors.Is(err, ErrFenced); fenced {
						break
					}
					if err != nil || events[0].Seq != int64(3+p) {
						t.Errorf("append %d: %v %v", p, events, err)
					}
					logged += len(events)
				}
				both.Wait()
				got, err := s.Events(ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
				if err != nil || len(got) != 2+logged || fenced && n%4 != 2 {
					t.Errorf("%d events, %d were logged, fenced %v, %v", len(got), logged, fenced, err)
				}
				if _, _, err := s.AppendRun(ctx, a); !fenced && !errors.Is(err, ErrFenced) {
					t.Errorf("after the end: %v", err)
				}
				if n%3 == 0 && !fenced {
					if err := s.DeleteThread(ctx, c.Run.ThreadID); err != nil || has(t, s, n) {
						t.Errorf("deleting: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
}

// A checkpoint that a run makes a second time is refused to it, at once, and is in
// nobody's way: found when what waits is run, it would be in everybody's.
func TestWhatTheDatabaseWouldRefuseDoesNotWait(t *testing.T) {
	t.Parallel()
	point := mapping.Event{Kind: mapping.KindUpdate, Data: []byte(`{}`), Head: mapping.Head{Reduce: true, Checkpoint: &mapping.Checkpoint{ID: "twice"}}}
	for name, appends := range map[string][][]mapping.Event{
		"in one append":       {{point, point}},
		"in two":              {{point}, {point}},
		"as at its beginning": {{{Kind: mapping.KindUpdate, Data: []byte(`{}`), Head: briefly(1, true).Events[1].Head}}},
	} {
		s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
		c := begins(t, s, 1)
		var err error
		for _, events := range appends {
			_, _, err = s.AppendRun(context.Background(), Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: 1, Events: events})
		}
		if err == nil {
			t.Errorf("%s: it was taken", name)
		}
		if !has(t, s, 1) {
			t.Errorf("%s: the run is lost", name)
		}
	}
}

// What waited is taken over by any start, also one that lets nothing wait itself or may
// not have the file grow.
func TestEveryStartTakesOver(t *testing.T) {
	t.Parallel()
	s := openBeside(t, filepath.Join(t.TempDir(), "apbridge.db"))
	defer hold(s)()
	begins(t, s, 1)
	for _, o := range []Options{{}, {Limit: 4 << 20}, {Synchronous: "normal", Limit: 1 << 30}} {
		path := killed(t, s)
		after, err := Open(context.Background(), path, o, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		next, ok, _, err := after.ClaimNext(context.Background(), nil)
		if err != nil || !ok || next.Run.ID != briefly(1, true).Run.ID || !next.Taken || next.Fence != 2 || len(next.Logged) != 2 || exists(path+"-redo") {
			t.Errorf("claimed %+v %v %v", next, ok, err)
		}
		if err := after.Close(); err != nil {
			t.Error(err)
		}
	}
}
