package sqldb

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
	sqlite3 "zombiezen.com/go/sqlite"
)

// damaged returns a store whose file contained many items and was damaged while open. The cached pages are intact.
func damaged(t *testing.T, harm func(path string) error) *DB {
	t.Helper()
	s, ctx := fresh(t), context.Background()
	for i := range 200 {
		put(t, s, i)
	}
	path := s.on.(*sqlite).path
	if err := s.Close(); err != nil { // checkpoints the log into the file
		t.Fatal(err)
	}
	s, err := Open(ctx, path, Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Write(ctx, note("before", nil)); err != nil {
		t.Fatal(err)
	}
	if err := harm(path); err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *DB, i int) {
	t.Helper()
	if err := putItem(s, strconv.Itoa(i), bytes.Repeat([]byte("x"), 9000)); err != nil {
		t.Fatal(err)
	}
}

// harms damage pages that have not been read yet.
var harms = map[string]func(path string) error{
	"overwritten": func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, int(info.Size())-4096), 4096)
		return err
	},
	"truncated": func(path string) error { return os.Truncate(path, 4096) },
}

// TestDamageFoundInUseEndsWriting checks that reading or writing a damaged page ends all writing. Nothing more is
// acknowledged, not even writes to intact pages (D2, D3).
func TestDamageFoundInUseEndsWriting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	meets := map[string]func(s *DB) error{
		"a write": func(s *DB) error { return deleteItem(s, "100") },
		"a read":  func(s *DB) error { _, err := readItems(s); return err },
	}
	for harmName, harm := range harms {
		for name, meet := range meets {
			t.Run(harmName+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := damaged(t, harm)
				if e := mapping.Classify(meet(s)); e.Class != mapping.Unavailable || e.Code != CodeUnavailable {
					t.Fatalf("got %v", e)
				}
				err := s.Write(ctx, note("after", nil))
				if e := mapping.Classify(err); err == nil || e.Code != CodeUnavailable {
					t.Errorf("the next write: %v", err)
				}
				if err := s.Ping(ctx); err == nil {
					t.Error("Ping succeeded")
				}
			})
		}
	}
}

// TestFailedStatementEndsWriting checks that no operation of a group is acknowledged if one of them finds the file
// damaged, and that transient failures are retried (D2).
func TestFailedStatementEndsWriting(t *testing.T) {
	t.Parallel()
	for code, last := range map[sqlite3.ResultCode]bool{
		sqlite3.ResultIOErrRead: true, sqlite3.ResultIOErrWrite: true, sqlite3.ResultCorrupt: true, sqlite3.ResultNotADB: true,
		sqlite3.ResultFull: false, sqlite3.ResultConstraintUnique: false,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			s, ctx := fresh(t), context.Background()
			errs := group(t, s, note("a", nil), note("b", code.ToError()), note("c", nil))
			if sqlite3.ErrCode(errs[1]) != code || (errs[0] != nil) != last || (errs[2] != nil) != last {
				t.Errorf("in a group: %v", errs)
			}
			if err := s.Write(ctx, note("after", nil)); (err != nil) != last {
				t.Errorf("afterwards: %v", err)
			}
			want := []string{"a", "after", "c"}
			if last {
				want = nil
			}
			if got := noted(t, s); !sameNames(got, want) {
				t.Errorf("got %v", got)
			}
		})
	}
}
