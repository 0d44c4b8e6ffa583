package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A run that no client follows is committed relaxed. Entries that a reader then gets from memory are on disk before the
// reader has them.
func TestEntriesReadFromMemoryAreFlushed(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*bench, *testing.T, mapping.Run, int){
		"followed": func(b *bench, t *testing.T, r mapping.Run, said int) {
			for e, err := range b.log.Follow(t.Context(), &r, 0, nil) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == mapping.KindCustom {
					said--
				}
				if said == 0 {
					return
				}
			}
		},
		"read": func(b *bench, t *testing.T, r mapping.Run, said int) {
			eventually(t, "all that the agent said", func() bool {
				list, err := b.log.Read(t.Context(), &r, 0)
				return err == nil && len(list) == said+1 // including the start
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := make(chan struct{})
			b := flushing(t, &script{run: func(ctx context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
				for {
					select {
					case <-more:
					case <-ctx.Done():
						return
					}
					if !yield(mapping.Event{Kind: mapping.KindCustom, Data: json.RawMessage(`1`)}, nil) {
						return
					}
				}
			}})
			r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
			said := 0
			for said == 0 || b.unflushed(t) == 0 { // the machine may have flushed the log by itself
				before := b.logSize(t)
				more <- struct{}{}
				said++
				eventually(t, "the commit", func() bool { return b.logSize(t) > before })
			}
			read(b, t, r, said)
			if n := b.unflushed(t); n != 0 {
				t.Errorf("%d pages were read but not flushed", n)
			}
		})
	}
}

// A reader begins to follow after an append has checked for readers but before it is committed. Its entries are on disk
// in this case, too.
func TestReaderThatStartsDuringACommit(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	b := flushing(t, &script{run: func(ctx context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		for {
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
			if !yield(mapping.Event{Kind: mapping.KindCustom, Data: json.RawMessage(`1`)}, nil) {
				return
			}
		}
	}})
	b.unflushed(t) // skips the test if that cannot be determined
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	release := b.holdWriter(t)
	more <- struct{}{}
	eventually(t, "the append to wait for the writer", func() bool { return goes("store.(*Events).Append") })
	waits := make(chan struct{}, 1)
	idle := func() {
		select {
		case waits <- struct{}{}:
		default:
		}
	}
	got := make(chan uint64, 1)
	go func() {
		for e, err := range b.log.Follow(t.Context(), &r, 0, idle) {
			if err != nil || e.Kind == mapping.KindCustom {
				got <- b.unflushed(t)
				return
			}
		}
	}()
	<-waits
	release()
	if n := <-got; n != 0 {
		t.Errorf("%d pages were shown to a reader but not flushed", n)
	}
}

// holdWriter prevents the store from writing until release is called.
func (b *bench) holdWriter(t *testing.T) (release func()) {
	t.Helper()
	conn, err := sqlite.OpenConn(b.path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// goes reports whether a goroutine is in a function.
func goes(name string) bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), name)
}

// flushing returns a bench over a file that is flushed as in production.
func flushing(t *testing.T, s *script) *bench {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	st, err := store.Open(t.Context(), path, store.Options{Synchronous: "full"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.New(st)
	if err != nil {
		t.Fatal(err)
	}
	a := engine.NewAgent("a", config.DefaultAgent(), s)
	b := &bench{Engine: engine.New(st, log, config.Default(), map[string]*engine.Agent{"a": a}, meter{}, adapter.Dialects{}, zap.NewNop()), st: st, log: log, path: path}
	t.Cleanup(b.close)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) logSize(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(b.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// unflushed returns how many pages of the database's log a power failure would lose.
func (b *bench) unflushed(t *testing.T) uint64 {
	t.Helper()
	f, err := os.Open(b.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all unix.CachestatRange // zero means the whole file
	var is unix.Cachestat_t
	err = unix.Cachestat(uint(f.Fd()), &all, &is, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		t.Skipf("cachestat needs Linux 6.5 and a file system that has it: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return is.Dirty + is.Writeback
}
