package store_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// bytesKept returns the total size and the number of the files in a database.
func bytesKept(t *testing.T, dsn string) (size, blobs int) {
	t.Helper()
	const total = `SELECT (SELECT coalesce(sum(length(data)), 0) FROM chunks), (SELECT count(*) FROM blobs)`
	if !strings.HasPrefix(dsn, "postgres") {
		db, err := sql.Open("sqlite", "file:"+dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow(total).Scan(&size, &blobs); err != nil {
			t.Fatal(err)
		}
		return size, blobs
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), total).Scan(&size, &blobs); err != nil {
		t.Fatal(err)
	}
	return size, blobs
}

// sharing is a thread with a large file and one written by a run, and copies of the thread.
type sharing struct {
	*harness
	dsn    string
	run    *store.CreateRunResult
	copies []string
}

const largeFile = 1 << 20

func shared(t *testing.T, dsn string, copies int) sharing {
	t.Helper()
	b := openAt(t, dsn, store.Options{Synchronous: "normal"})
	s := sharing{harness: b, dsn: dsn, run: b.create(newThreadRun())}
	b.save(s.run.Run.ThreadID, "large", strings.Repeat("x", largeFile), false)
	b.writes(s.run, "small", "of the run")
	b.end(s.run, mapping.RunSuccess)
	for range copies {
		th, err := b.Threads.Copy(b.ctx, s.run.Run.ThreadID, id(), store.IdempotencyKey{})
		b.ok(err)
		s.copies = append(s.copies, th.ID)
	}
	return s
}

func (s sharing) wantWhole(what, thread string) {
	s.t.Helper()
	if d := cmp.Diff(map[string]string{"large": strings.Repeat("x", largeFile), "small": "of the run"}, s.kept(thread)); d != "" {
		s.t.Errorf("%s: the files are incomplete: %.200s", what, d)
	}
}

// sweep deletes expired threads, all at once.
func (s sharing) sweep(threads ...string) {
	s.t.Helper()
	for _, th := range threads {
		_, err := s.Threads.Patch(s.ctx, th, nil, &store.Expire{At: time.Now().Add(time.Second)})
		s.ok(err)
	}
	list, _ := s.overdue(at(time.Now().Add(time.Hour)))
	gone, err := s.Retention.DeleteThreads(s.ctx, list)
	s.ok(err)
	if len(gone) != len(threads) {
		s.t.Errorf("%d threads deleted, want %d", len(gone), len(threads))
	}
}

// onEach runs a test with each kind of database.
func onEach(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) { test(t, fresh(t)) })
}

// TestCopiedThreadsShareTheirBytes checks that copying a thread does not write its files again, and that their bytes
// are deleted with the last thread.
func TestCopiedThreadsShareTheirBytes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, dsn string) {
		s := shared(t, dsn, 0)
		size, blobs := bytesKept(t, dsn)
		for range 5 {
			th, err := s.Threads.Copy(s.ctx, s.run.Run.ThreadID, id(), store.IdempotencyKey{})
			s.ok(err)
			s.copies = append(s.copies, th.ID)
		}
		of, err := s.Threads.Copy(s.ctx, s.copies[0], id(), store.IdempotencyKey{})
		s.ok(err)
		s.copies = append(s.copies, of.ID)
		if after, n := bytesKept(t, dsn); after != size || n != blobs {
			t.Errorf("%d bytes in %d files after six copies, %d in %d before", after, n, size, blobs)
		}
		s.ok(s.Threads.Delete(s.ctx, s.run.Run.ThreadID))
		for len(s.copies) > 0 {
			s.wantWhole("a copy", s.copies[0])
			s.ok(s.Threads.Delete(s.ctx, s.copies[0]))
			s.copies = s.copies[1:]
		}
		if size, blobs = bytesKept(t, dsn); size != 0 || blobs != 0 {
			t.Errorf("%d bytes in %d files left of deleted threads", size, blobs)
		}
	})
}

// Operations that remove bytes from one thread leave them to the others.
func TestSharedFilesSurviveChangesToOneThread(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(s sharing, thread string){
		"a client writes again": func(s sharing, thread string) {
			s.save(thread, "large", "now small", false)
			s.save(thread, "small", "of a client", false)
		},
		"a run writes again and is deleted": func(s sharing, thread string) {
			second := s.create(newRun(thread, mapping.StrategyReject))
			s.writes(second, "large", "changed", "small", "")
			s.end(second, mapping.RunSuccess)
			s.ok(s.Runs.Delete(s.ctx, thread, second.Run.ID))
			s.wantWhole("after the rollback", thread)
		},
		"a run writes the same and removes it": func(s sharing, thread string) {
			second := s.create(newRun(thread, mapping.StrategyReject))
			s.writes(second, "small", "of the run")
			s.writes(second, "small", "")
			s.end(second, mapping.RunSuccess)
		},
		"the run is deleted": func(s sharing, thread string) {
			if thread == s.run.Run.ThreadID {
				s.ok(s.Runs.Delete(s.ctx, thread, s.run.Run.ID))
			}
		},
		"the thread is deleted": func(s sharing, thread string) { s.ok(s.Threads.Delete(s.ctx, thread)) },
		"retention deletes it":  func(s sharing, thread string) { s.sweep(thread) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, dsn string) {
				s := shared(t, dsn, 2)
				all := []string{s.run.Run.ThreadID, s.copies[0], s.copies[1]}
				happens(s, all[0])
				s.wantWhole("a copy", all[1])
				happens(s, all[1])
				s.wantWhole("the other copy", all[2])
			})
		})
	}
}

// Many threads are deleted in one statement, and some remain.
func TestExpiredThreadsKeepSharedBytes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, dsn string) {
		s := shared(t, dsn, 4)
		s.sweep(s.run.Run.ThreadID, s.copies[0], s.copies[1])
		s.wantWhole("a copy", s.copies[2])
		s.sweep(s.copies[2:]...)
		if size, blobs := bytesKept(t, dsn); size != 0 || blobs != 0 {
			t.Errorf("%d bytes in %d files left", size, blobs)
		}
	})
}

// On PostgreSQL the threads are deleted by several processes.
func TestSharedBytesAreDeletedWithTheLastThread(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, dsn string) {
		s := shared(t, dsn, 8)
		replicas := []*store.Store{s.Store}
		if strings.HasPrefix(dsn, "postgres") {
			other, err := store.Open(t.Context(), dsn, store.Options{Synchronous: "normal"}, zap.NewNop())
			s.ok(err)
			t.Cleanup(func() { _ = other.Close() })
			replicas = append(replicas, other)
		}
		var all sync.WaitGroup
		for i, thread := range append(s.copies, s.run.Run.ThreadID) {
			all.Go(func() {
				if err := replicas[i%len(replicas)].Threads.Delete(s.ctx, thread); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if size, blobs := bytesKept(t, dsn); size != 0 || blobs != 0 {
			t.Errorf("%d bytes in %d files left", size, blobs)
		}
	})
}
