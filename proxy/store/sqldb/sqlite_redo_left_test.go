package sqldb

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// redoOf is a redo log as earlier versions wrote it, with a batch of that number in each of its areas; 0 leaves an area
// as it is before its first use.
func redoOf(first, second uint32) []byte {
	const area = 512 << 10
	log := make([]byte, area+64)
	for at, number := range map[int]uint32{0: first, area: second} {
		if number > 0 {
			binary.LittleEndian.PutUint32(log[at:], 40)
			binary.LittleEndian.PutUint32(log[at+4:], number)
		}
	}
	return log
}

// What an earlier version acknowledged is not lost in silence, and what the database has of it is not in the way.
func TestRedoLogOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		newest uint32 // the number of the newest batch in the database
		log    []byte
		lacks  bool
	}{
		"empty":                       {0, nil, false},
		"made and not written to":     {3, redoOf(0, 0), false},
		"less than a record":          {3, redoOf(4, 0)[:11], false},
		"in the database":             {3, redoOf(2, 3), false},
		"nothing in the database":     {0, redoOf(1, 0), true},
		"a newer one in the first":    {3, redoOf(4, 3), true},
		"a newer one in the second":   {4, redoOf(4, 5), true},
		"behind the largest number":   {1<<32 - 1, redoOf(1, 1<<32-1), true},
		"before the numbers went on":  {1, redoOf(1<<32-2, 1<<32-1), false},
		"a damaged record of a newer": {3, redoOf(4, 3)[:13], true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filled(t)
			pool, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = pool.Exec(fmt.Sprintf("PRAGMA user_version = %d", int32(c.newest)))
			}
			if err == nil {
				err = pool.Close()
			}
			if err == nil {
				err = os.WriteFile(path+"-redo", c.log, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.lacks {
				refused(t, path, path+"-redo holds runs that an earlier version", "Start the version that wrote it", "09ca291d", "delete that file")
				if left, err := os.ReadFile(path + "-redo"); err != nil || string(left) != string(c.log) {
					t.Errorf("the log was changed: %v", err)
				}
				if err := os.Remove(path + "-redo"); err != nil {
					t.Fatal(err)
				}
			}
			openDB(t, path, Options{})
			if _, err := os.Stat(path + "-redo"); !os.IsNotExist(err) {
				t.Errorf("the log is still there: %v", err)
			}
		})
	}
}

// Runs that were acknowledged and whose database is gone are not left for a new one to wonder about.
func TestRedoLogWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	if err := os.WriteFile(path+"-redo", redoOf(1, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path, path+"-redo")
}
