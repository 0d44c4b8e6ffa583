package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"golang.org/x/sys/unix"
)

// unflushed returns the number of pages of a database's log that the kernel has not written to disk. A power failure
// would lose them.
func (b *harness) unflushed(path string) uint64 {
	b.t.Helper()
	f, err := os.Open(path + "-wal")
	b.ok(err)
	defer f.Close()
	var all unix.CachestatRange // zero means the whole file
	var is unix.Cachestat_t
	err = unix.Cachestat(uint(f.Fd()), &all, &is, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		b.t.Skipf("cachestat needs Linux 6.5 and a file system that has it: %v", err)
	}
	b.ok(err)
	return is.Dirty + is.Writeback
}

// lags reports whether do leaves something unflushed. The kernel or other programs may have flushed it by chance, so do
// is called several times.
func (b *harness) lags(path string, do func()) bool {
	b.t.Helper()
	for range 50 {
		if do(); b.unflushed(path) > 0 {
			return true
		}
	}
	return false
}

// A relaxed commit is not flushed by itself. It is flushed before any data that depends on it is returned: by Flush, by
// a read, and by a write that is not relaxed, even if that writes nothing.
func TestFlush(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*harness, *store.CreateRunResult) error{
		"Flush": func(b *harness, _ *store.CreateRunResult) error { return b.Flush() },
		"a read of the log": func(b *harness, c *store.CreateRunResult) error {
			_, err := b.Events.List(b.ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
			return err
		},
		"a read of the run": func(b *harness, c *store.CreateRunResult) error {
			_, err := b.Runs.Get(b.ctx, c.Run.ThreadID, c.Run.ID)
			return err
		},
		"a read of the state": func(b *harness, c *store.CreateRunResult) error {
			_, err := b.States.At(b.ctx, c.Run.ThreadID, "")
			return err
		},
		"a run that was made": func(b *harness, _ *store.CreateRunResult) error { b.create(newThreadRun()); return nil },
		"the end of the run":  func(b *harness, c *store.CreateRunResult) error { b.end(c, mapping.RunSuccess); return nil },
		"a step handed out": func(b *harness, c *store.CreateRunResult) error {
			_, err := b.Tasks.HandOut(b.ctx, c.Run.TaskID, 1, store.StepRequest{}, store.Reservation{})
			return err
		},
		"a write of nothing": func(b *harness, _ *store.CreateRunResult) error {
			return b.Items.Delete(b.ctx, []string{"not", "there"}, "k")
		},
		"a write of what is there": func(b *harness, c *store.CreateRunResult) error {
			return b.Claims.RequestStop(b.ctx, c.Run.ID, "cancel")
		},
		"several that wait": flushTogether,
		"a run that was fenced": func(b *harness, c *store.CreateRunResult) error {
			_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence + 1, Events: []mapping.Event{update(`{}`)}})
			if !errors.Is(err, store.ErrFenced) {
				return err
			}
			return b.Flush() // returns no other data
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.db")
			b := openAt(t, path, store.Options{Synchronous: "full"})
			c := b.create(newThreadRun())
			b.ok(b.Claims.RequestStop(b.ctx, c.Run.ID, "cancel"))
			if !b.lags(path, func() {
				_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Relaxed: true, Events: []mapping.Event{update(`{"a":1}`)}})
				b.ok(err)
			}) {
				t.Fatal("a relaxed commit was flushed")
			}
			b.ok(tell(b, c))
			if n := b.unflushed(path); n != 0 {
				t.Errorf("%d pages not flushed", n)
			}
		})
	}
}

func flushTogether(b *harness, _ *store.CreateRunResult) error {
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() { errs[i] = b.Flush() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// With `synchronous: normal` SQLite flushes at its checkpoints, and nothing else flushes.
func TestSynchronousNormalDoesNotFlush(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	b := openAt(t, path, store.Options{Synchronous: "normal"})
	c := b.create(newThreadRun())
	if !b.lags(path, func() {
		b.append(c, update(`{"a":1}`))
		_, err := b.Runs.Get(b.ctx, c.Run.ThreadID, c.Run.ID)
		b.ok(errors.Join(err, b.Flush()))
	}) {
		t.Error("the log was flushed")
	}
}
