package sqldb

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/zap"
)

// Files with any page size are served. The sizes of log and file are limited in bytes.
func TestPagesOfOlderFiles(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	for _, page := range []int64{pageSize, 4096} {
		t.Run(fmt.Sprint(page), func(t *testing.T) {
			t.Parallel()
			s := fresh(t)
			if page != pageSize {
				s = repaged(t, s, page)
			}
			path, ctx := s.on.(*sqlite).path, context.Background()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := Open(ctx, path, Options{Limit: limit}, zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			for pragma, want := range map[string]int64{
				"page_size": page, "wal_autocheckpoint": logUsual / page, "max_page_count": limit / page,
			} {
				var got int64
				if err := (sqliteTx{s.on.(*sqlite).writer.conn}).get("PRAGMA "+pragma, nil, []any{&got}); err != nil || got != want {
					t.Errorf("%s is %d, not %d (%v)", pragma, got, want, err)
				}
			}
			put(t, s, 1)
		})
	}
}

// repaged rebuilds the store's file with another page size, as another program would have created it.
func repaged(t *testing.T, s *DB, page int64) *DB {
	t.Helper()
	path := s.on.(*sqlite).path
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pool := openPool(path)
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	for _, text := range []string{"PRAGMA journal_mode = DELETE", fmt.Sprintf("PRAGMA page_size = %d", page), "VACUUM"} {
		if _, err := pool.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(context.Background(), path, Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
