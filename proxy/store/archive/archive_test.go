package archive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	_ "modernc.org/sqlite"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filled returns a database with a few rows in every table, created by an older version or, for the newest, by this
// one.
func filled(t testing.TB, version string) string {
	t.Helper()
	f, err := os.Open("../testdata/upgrade/" + version + ".db.gz")
	ok(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	ok(t, err)
	data, err := io.ReadAll(z)
	ok(t, err)
	path := filepath.Join(t.TempDir(), "filled.db")
	ok(t, os.WriteFile(path, data, 0o600))
	return path
}

const newest = "00001"

func silent(int64) {}

func unseen(int, int) {}

func exported(t testing.TB, dsn string) string {
	t.Helper()
	var out bytes.Buffer
	_, err := archive.Export(t.Context(), dsn, nil, &out, silent)
	ok(t, err)
	return out.String()
}

func imported(t testing.TB, dsn, text string) error {
	t.Helper()
	_, err := archive.Import(t.Context(), dsn, archive.Options{}, strings.NewReader(text), zap.NewNop(), silent)
	return err
}

// odd adds rows that are easily damaged: bytes that are not UTF-8, empty bytes, NULL, U+0000 in bytes, large numbers,
// and rows of tables that are empty in the fixture.
func odd(t testing.TB, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	ok(t, err)
	defer db.Close()
	_, err = db.Exec(`INSERT INTO blobs (id, created_us, loose) VALUES (9007199254740993, 1, 0);
 INSERT INTO chunks (blob, n, data) VALUES (9007199254740993, 0, x'00ff80'), (9007199254740993, 1, x''), (9007199254740993, 2, x'0061');
 INSERT INTO run_calls VALUES (9, 1, x'7b7d', x'00ff', NULL), (9, 2, x'7b7d', x'', x'61');
 INSERT INTO idempotency VALUES ('é', 'é', 'POST /"runs"', 'k' || char(10) || char(8232) || '<', x'fe', 'id', 5);
 INSERT INTO updates VALUES (1, 'gone', 'token'); INSERT OR REPLACE INTO secrets VALUES ('tokens', x'0102ff');
 INSERT INTO item_vectors VALUES ('t', x'61', 'k', 3, x'0000803f'); INSERT INTO item_failures VALUES ('t', x'61', 'k', 2, 1, 9); UPDATE item_index SET mark = 'm', version = 3;
 INSERT OR REPLACE INTO agent_facts VALUES ('a', 'graph', x'7b7d', 1)`)
	ok(t, err)
}

// Exporting an imported export gives the same bytes, also through the other database.
func TestRoundTripIsExact(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		path := filled(t, newest)
		odd(t, path)
		first := exported(t, path)
		there, back := fresh(t), filepath.Join(t.TempDir(), "back.db")
		ok(t, imported(t, there, first))
		second := exported(t, there)
		if diff := cmp.Diff(strings.Split(first, "\n"), strings.Split(second, "\n")); diff != "" {
			t.Fatalf("there (-first +second):\n%s", diff)
		}
		ok(t, imported(t, back, second))
		if third := exported(t, back); third != first {
			t.Errorf("back (-first +third):\n%s", cmp.Diff(strings.Split(first, "\n"), strings.Split(third, "\n")))
		}
		for _, name := range []string{`{"events":`, `{"chunks":`, `{"items":`, `{"crons":`, `{"artifacts":`, `{"base64":"AP+A"}`, `{"end":`} {
			if !strings.Contains(first, name) {
				t.Errorf("the export has no %s", name)
			}
		}
	})
}

// A bridge started on an imported database gives new rows unused keys.
func TestKeysContinueAfterImportedOnes(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		ok(t, imported(t, dsn, exported(t, filled(t, newest))))
		s, err := store.Open(t.Context(), dsn, store.Options{}, zap.NewNop())
		ok(t, err)
		_, existed, err := s.Threads.Create(t.Context(), store.ThreadCreation{Thread: mapping.Thread{ID: mapping.NewID()}})
		if err != nil || existed {
			t.Errorf("a new thread: %v, existed %v", err, existed)
		}
		ok(t, s.Close())
	})
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		whole := exported(t, filled(t, newest))
		lines := strings.SplitAfter(whole, "\n")
		with := func(at int, line string) string {
			changed := append([]string(nil), lines...)
			changed[at] = line
			return strings.Join(changed, "")
		}
		for _, tt := range []struct{ name, text, want string }{
			{"nothing", "", "line 1: "},
			{"another file", "{\"a\":1}\n", "line 1: this is no export"},
			{"another format", with(0, "{\"apbridge_export\":2,\"schema\":1}\n"), "line 1: the export has version 2"},
			{"another schema", with(0, "{\"apbridge_export\":1,\"schema\":21}\n"), "(schema 21, this one has 1)"},
			{"a backup", "SQLite format 3\x00", "apbridge restore FILE"},
			{"half a line", with(2, lines[2][:20]+"\n"), "line 3: it is not a row"},
			{"no row", with(2, "[]\n"), "line 3: it is not a row"},
			{"two rows in one", with(2, "{\"a\":{},\"b\":{}}\n"), "line 3: it is not a row"},
			{"no such table", with(2, "{\"sqlite_master\":{}}\n"), "line 3: there is no table \"sqlite_master\""},
			{"no such column", with(1, strings.Replace(lines[1], `"id":`, `"more":1,"id":`, 1)), "line 2: threads has no column \"more\""},
			{"a column less", with(1, strings.Replace(lines[1], `"tenant":"",`, ``, 1)), "line 2: threads has no member tenant"},
			{"a text for a number", with(1, strings.Replace(lines[1], `"id":`, `"id":"1"+`, 1)), "line 2: "},
			{"a number for a text", with(1, strings.Replace(lines[1], `"tenant":""`, `"tenant":1`, 1)), "line 2: threads.tenant: it is neither"},
			{"cut off behind a line", strings.Join(lines[:4], ""), "line 5: the export ends here"},
			{"cut off within a line", strings.Join(lines[:4], "") + lines[4][:9], "line 5: it is not a row"},
			{"a row less", with(2, ""), "rows before it"},
			{"a row twice", with(2, lines[1]), "nothing was imported"},
			{"more behind the end", whole + lines[1], "there is more after the last line"},
		} {
			dsn := fresh(t)
			err := imported(t, dsn, tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
			}
			// The target is still empty after the failed import.
			ok(t, imported(t, dsn, whole))
		}
	})
}

// zeros is an endless reader without a newline.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += len(p)
	return len(p), nil
}

func TestImportOfEndlessInput(t *testing.T) {
	t.Parallel()
	var z zeros
	_, err := archive.Import(t.Context(), filepath.Join(t.TempDir(), "a.db"), archive.Options{}, &z, zap.NewNop(), silent)
	if err == nil || !strings.Contains(err.Error(), "line 1: this is no export") || z.read > 1<<20 {
		t.Errorf("%v, after %d bytes", err, z.read)
	}
}

// An import needs an empty database, except for rows that a bridge writes by itself.
func TestImportNeedsAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn, whole := fresh(t), exported(t, filled(t, newest))
		s, err := store.Open(t.Context(), dsn, store.Options{}, zap.NewNop())
		ok(t, err)
		if err := imported(t, dsn, whole); err == nil || !strings.Contains(err.Error(), " us") {
			t.Errorf("with a running bridge: %v", err)
		}
		ok(t, s.Close())
		ok(t, imported(t, dsn, whole))
		before := exported(t, dsn)
		if err := imported(t, dsn, whole); err == nil || !strings.Contains(err.Error(), "already contains data (in table threads)") {
			t.Errorf("a second time: %v", err)
		}
		if exported(t, dsn) != before {
			t.Error("the refused import has changed something")
		}
	})
}

// An interrupted import leaves nothing behind.
func TestImportThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn, whole := fresh(t), exported(t, filled(t, newest))
		ctx, stop := context.WithCancel(t.Context())
		half := io.MultiReader(strings.NewReader(whole[:len(whole)/2]), readFunc(func([]byte) (int, error) { stop(); return 0, errors.New("broken pipe") }))
		if _, err := archive.Import(ctx, dsn, archive.Options{}, half, zap.NewNop(), silent); err == nil {
			t.Fatal("an incomplete export was imported")
		}
		ok(t, imported(t, dsn, whole))
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newest} {
		path, folder := filled(t, version), t.TempDir()
		file, back := filepath.Join(folder, "backup.db"), filepath.Join(folder, "back.db")
		held, err := archive.Backup(t.Context(), path, file, unseen)
		ok(t, err)
		checked, err := archive.Check(t.Context(), file)
		ok(t, err)
		restored, err := archive.Restore(t.Context(), file, back, unseen)
		ok(t, err)
		if *held != *checked || *held != *restored || held.Threads == 0 || held.Runs == 0 || held.Items == 0 {
			t.Errorf("%s: backup contains %v, check found %v, restored %v", version, held, checked, restored)
		}
		if list, err := os.ReadDir(folder); err != nil || len(list) != 3 { // the lock
			t.Errorf("%v, %v", list, err)
		}
		s, err := store.Open(t.Context(), back, store.Options{}, zap.NewNop())
		ok(t, err)
		ok(t, s.Close())
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	good := filepath.Join(t.TempDir(), "good.db")
	_, err := archive.Backup(t.Context(), filled(t, newest), good, unseen)
	ok(t, err)
	data, err := os.ReadFile(good)
	ok(t, err)
	for _, tt := range []struct {
		name, want string
		prepare    func(t *testing.T, file, target string)
	}{
		{"no file", "no such file", func(t *testing.T, file, _ string) { ok(t, os.Remove(file)) }},
		{"an empty file", "empty", func(t *testing.T, file, _ string) { ok(t, os.WriteFile(file, nil, 0o600)) }},
		{"a cut file", "truncated", func(t *testing.T, file, _ string) { ok(t, os.WriteFile(file, data[:len(data)/2], 0o600)) }},
		{"another file", "not a SQLite database", func(t *testing.T, file, _ string) {
			ok(t, os.WriteFile(file, bytes.Repeat([]byte("x"), 4096), 0o600))
		}},
		{"a damaged file", "damaged", func(t *testing.T, file, _ string) {
			harmed := bytes.Clone(data)
			copy(harmed[len(harmed)/2:], bytes.Repeat([]byte{0xa5}, 8192))
			ok(t, os.WriteFile(file, harmed, 0o600))
		}},
		{"a newer one", "a newer version", func(t *testing.T, file, _ string) {
			run(t, file, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`)
		}},
		{"another program's", "another program", func(t *testing.T, file, _ string) { run(t, file, `PRAGMA application_id = 1`) }},
		{"a database at the place", "already exists", func(t *testing.T, _, target string) { ok(t, os.WriteFile(target, data, 0o600)) }},
		{"a log at the place", "-wal already exists", func(t *testing.T, _, target string) { ok(t, os.WriteFile(target+"-wal", nil, 0o600)) }},
		{"a bridge at the place", "another process is using it", func(t *testing.T, _, target string) {
			s, err := store.Open(t.Context(), target, store.Options{}, zap.NewNop())
			ok(t, err)
			t.Cleanup(func() { _ = s.Close() })
		}},
		{"no folder at the place", "does not exist", func(t *testing.T, _, target string) { ok(t, os.RemoveAll(filepath.Dir(target))) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file, target := filepath.Join(t.TempDir(), "file.db"), filepath.Join(t.TempDir(), "target.db")
			ok(t, os.WriteFile(file, data, 0o600))
			tt.prepare(t, file, target)
			before, _ := os.ReadFile(target)
			if _, err := archive.Restore(t.Context(), file, target, unseen); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			after, _ := os.ReadFile(target)
			if !bytes.Equal(before, after) {
				t.Error("the existing file was changed")
			}
			if _, err := os.Stat(target + ".new"); err == nil {
				t.Error("the draft was left behind")
			}
		})
	}
}

func run(t testing.TB, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	ok(t, err)
	defer db.Close()
	_, err = db.Exec(text)
	ok(t, err)
}

// Damage is found even if the summary is not affected; a copy of it is not a backup.
func TestDamageIsNotCopied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	_, err := archive.Backup(t.Context(), filled(t, newest), path, unseen) // one file, without a log
	ok(t, err)
	run(t, path, `INSERT INTO chunks (blob, n, data) VALUES (99, 0, 'here is the page')`)
	data, err := os.ReadFile(path)
	ok(t, err)
	at := bytes.Index(data, []byte("here is the page"))
	page := int(data[16])<<8 | int(data[17])
	copy(data[at/page*page:], bytes.Repeat([]byte{0xa5}, 8))
	ok(t, os.WriteFile(path, data, 0o600))
	target := filepath.Join(t.TempDir(), "b.db")
	_, checked := archive.Check(t.Context(), path)
	_, backed := archive.Backup(t.Context(), path, filepath.Join(t.TempDir(), "c.db"), unseen)
	_, restored := archive.Restore(t.Context(), path, target, unseen)
	for what, err := range map[string]error{"check": checked, "backup": backed, "restore": restored} {
		if err == nil || !strings.Contains(err.Error(), "it is damaged") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a damaged database was restored")
	}
}
