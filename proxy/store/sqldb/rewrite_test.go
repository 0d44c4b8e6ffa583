package sqldb

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

const secret = "whatnobodyistofind"

// bytesIn counts occurrences of the secret in the database at path and the files next to it.
func bytesIn(t *testing.T, path string) (n int) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	ok(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		ok(t, err)
		n += bytes.Count(text, []byte(secret))
	}
	return n
}

// fillAndDelete writes rows of several sizes, replaces them by longer ones, and deletes all secret ones.
func fillAndDelete(t *testing.T, d *DB) {
	t.Helper()
	for _, long := range []int{1, 30, 3000} {
		ok(t, d.Write(t.Context(), func(x *Tx) error {
			for i := range 100 {
				if err := x.Put(`INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
					strconv.Itoa(i), []byte(strings.Repeat(secret, long))); err != nil {
					return err
				}
			}
			return x.Put(`INSERT INTO secrets (name, value) VALUES ($1, $2)`, "kept"+strconv.Itoa(long), []byte("kept"))
		}))
	}
	ok(t, d.Write(t.Context(), func(x *Tx) error { return x.Put(`DELETE FROM secrets WHERE name NOT LIKE 'kept%'`) }))
}

// A file rewritten during reads and writes contains nothing that was deleted or replaced, and everything else.
func TestRewriteLeavesNoByte(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	d := openDB(t, path, Options{})
	fillAndDelete(t, d)
	if bytesIn(t, path) == 0 {
		t.Fatal("there is no deleted data to remove")
	}
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			for n := range 50 {
				ok(t, d.Write(t.Context(), func(x *Tx) error {
					return x.Put(`INSERT INTO secrets (name, value) VALUES ($1, $2)`, "kept-"+strconv.Itoa(i)+"-"+strconv.Itoa(n), []byte("x"))
				}))
				ok(t, d.ReadOne(t.Context(), func(x *Tx) error {
					var n int
					return x.Get(`SELECT count(*) FROM secrets`, nil, []any{&n})
				}))
			}
		})
	}
	done, err := d.Rewrite(t.Context())
	work.Wait()
	if ok(t, err); !done || bytesIn(t, path) != 0 {
		t.Errorf("done %v, %d occurrences of the secret", done, bytesIn(t, path))
	}
	var n int
	ok(t, d.ReadOne(t.Context(), func(x *Tx) error { return x.Get(`SELECT count(*) FROM secrets`, nil, []any{&n}) }))
	if n != 3+4*50 {
		t.Errorf("%d rows are left", n)
	}
	ok(t, d.Ping(t.Context()))
}

// Data deleted during Overwriting is overwritten in the file. Data deleted afterwards is not.
func TestOverwriting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	d := openDB(t, path, Options{})
	for _, within := range []bool{true, false} {
		fill := func() error {
			ok(t, d.Write(t.Context(), func(x *Tx) error {
				return x.Put(`INSERT INTO secrets (name, value) VALUES ('a', $1)`, []byte(strings.Repeat(secret, 3000)))
			}))
			return d.Write(t.Context(), func(x *Tx) error { return x.Put(`DELETE FROM secrets WHERE name = 'a'`) })
		}
		if within {
			ok(t, d.Overwriting(t.Context(), fill))
		} else {
			ok(t, fill())
		}
		ok(t, d.on.(*sqlite).emptyLog(t.Context(), readersPatience))
		if found := bytesIn(t, path) > 0; found == within {
			t.Errorf("within %v: found %v", within, found)
		}
	}
}

// A reader of an older state prevents emptying the log, and Rewrite reports that.
func TestLogInUseIsNotEmptied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	d := openDB(t, path, Options{})
	fillAndDelete(t, d)
	err := Look(t.Context(), path, nil, func(x *Tx) error {
		var n int
		ok(t, x.Get(`SELECT count(*) FROM secrets`, nil, []any{&n}))
		ok(t, d.Write(t.Context(), func(x *Tx) error { return x.Put(`DELETE FROM secrets`) }))
		err := d.on.(*sqlite).emptyLog(t.Context(), 0)
		if mapping.Classify(err).Code != codeLogInUse {
			t.Errorf("got %v", err)
		}
		return nil
	})
	ok(t, err)
	ok(t, d.on.(*sqlite).emptyLog(t.Context(), readersPatience))
}
