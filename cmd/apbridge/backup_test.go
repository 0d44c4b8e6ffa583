package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// built is the built program with a command line.
func built(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), rig.Binary(t), args...)
	cmd.Env = rig.PlainEnvironment()
	return cmd
}

// says runs the program and expects an exit code and words of its output.
func says(t *testing.T, code int, want string, args ...string) string {
	t.Helper()
	cmd := built(t, args...)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), want) {
		t.Errorf("apbridge %s: exit code %d, want %d\n%s\nwant: %s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), code, out, want)
	}
	return string(out)
}

// over is a bridge in a separate process over a database.
func over(t *testing.T, database, agent string) *rig.Process {
	t.Helper()
	return rig.StartProcess(t, rig.Binary(t), t.TempDir(), fmt.Sprintf("database: '%s'\nagents: {legacy: {url: '%s'}}\n", database, agent))
}

// talks creates a thread with an ended run, and returns the path of its state.
func talks(t *testing.T, p *rig.Process, i int) (path string) {
	t.Helper()
	thread := fmt.Sprintf("01980000-0000-7000-8000-%012d", i)
	code, text := post(t, p.URL+"/threads/"+thread+"/runs/wait", `{"assistant_id":"legacy","if_not_exists":"create","input":{"messages":[{"role":"user","content":"hello"}]}}`)
	if code != 200 {
		t.Fatal(code, text)
	}
	return "/threads/" + thread + "/state"
}

// TestBackupWhileABridgeServes checks that a backup of a working bridge contains everything answered before it, and
// that a bridge can start from it (D8).
func TestBackupWhileABridgeServes(t *testing.T) {
	t.Parallel()
	agent, folder := serving(t, legacyagent.Handler()), t.TempDir()
	database, file, back := filepath.Join(folder, "a.db"), filepath.Join(folder, "backup.db"), filepath.Join(folder, "back.db")
	p := over(t, database, agent)
	states := map[string]string{}
	for i := range 5 {
		path := talks(t, p, i)
		states[path] = get(t, p.URL+path)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				res, err := http.Post(p.URL+"/runs/wait", "application/json", strings.NewReader(`{"assistant_id":"legacy","input":{"messages":[{"role":"user","content":"hello"}]}}`))
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			}
		}
	}()
	says(t, 0, file+" contains ", "backup", file, "--database", database)
	close(stop)
	<-stopped
	says(t, 2, "already exists; choose another file, or overwrite it with --force", "backup", file, "--database", database)
	says(t, 0, file+" contains ", "backup", file, "--database", database, "--force")
	says(t, 2, "is the database of a bridge", "backup", database, "--database", database, "--force")
	says(t, 1, "another process is using it", "restore", file, "--database", database)
	says(t, 0, "is complete. It contains ", "restore", "--check", file)
	says(t, 0, "Restored "+back+". It contains ", "restore", file, "--database", back)
	says(t, 1, "already exists and is not overwritten", "restore", file, "--database", back)
	again := over(t, back, agent)
	for path, want := range states {
		if got := get(t, again.URL+path); got != want {
			t.Errorf("%s is %s, was %s", path, got, want)
		}
	}
	talks(t, again, 1000)
	if left, _ := filepath.Glob(filepath.Join(folder, "*.partial")); len(left) != 0 {
		t.Error(left)
	}
}

// A backup that is killed leaves no incomplete file under its name.
func TestBackupThatIsKilled(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	database, file := filepath.Join(folder, "a.db"), filepath.Join(folder, "backup.db")
	p := over(t, database, serving(t, legacyagent.Handler()))
	talks(t, p, 1)
	p.Stop()
	if err := rig.SQLOn(database, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
 INSERT INTO chunks (blob, n, data) SELECT 1, i, randomblob(262144) FROM n`); err != nil {
		t.Fatal(err)
	}
	cmd := built(t, "backup", file, "--database", database)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "the draft", func() bool {
		drafts, _ := filepath.Glob(file + ".*.partial")
		return len(drafts) == 1 || there(file)
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if there(file) { // the backup was faster
		says(t, 0, "is whole", "restore", "--check", file)
	}
	says(t, 0, "contains 1 thread, 1 run", "backup", file, "--database", database, "--force")
	says(t, 0, "is complete. It contains 1 thread, 1 run", "restore", "--check", file)
}

// An import that is killed between lines leaves an empty database, which accepts the next one.
func TestImportThatIsKilled(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		folder := t.TempDir()
		database, file, target := filepath.Join(folder, "a.db"), filepath.Join(folder, "all.ndjson"), fresh(t)
		p := over(t, database, serving(t, legacyagent.Handler()))
		talks(t, p, 1)
		p.Stop()
		says(t, 0, "contains 1 thread, 1 run", "export", file, "--database", database)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cmd := built(t, "import", "-", "--database", target)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(whole, []byte("\n"))
		most := bytes.Join(lines[:len(lines)-2], nil) // all but the end: the process must wait for more after the last of them
		if _, err := in.Write(append(most, bytes.Repeat([]byte(" "), 1<<18)...)); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		says(t, 0, "contains 1 thread, 1 run", "import", file, "--database", target)
		if again := exportedBy(t, target); !bytes.Equal(again, whole) {
			t.Errorf("the export is another one:\n%s\nwas:\n%s", again, whole)
		}
	})
}

func exportedBy(t *testing.T, database string) []byte {
	t.Helper()
	out, err := built(t, "export", "-", "--database", database).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A bridge moves from SQLite to PostgreSQL and back: clients find the same data, and it works.
func TestABridgeMovesToAnotherDatabase(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		agent, folder := serving(t, legacyagent.Handler()), t.TempDir()
		at, file := filepath.Join(folder, "a.db"), filepath.Join(folder, "all.ndjson")
		p := over(t, at, agent)
		path := talks(t, p, 1)
		want := get(t, p.URL+path)
		p.Stop()
		for i, to := range []string{fresh(t), filepath.Join(folder, "c.db")} {
			says(t, 0, "contains ", "export", file, "--database", at, "--force")
			says(t, 0, "contains ", "import", file, "--database", to)
			p := over(t, to, agent)
			if got := get(t, p.URL+path); got != want {
				t.Errorf("%d: the state is %s, was %s", i, got, want)
			}
			talks(t, p, 2+i)
			p.Stop()
			at = to
		}
	})
}

// Each mistake is reported in one line with advice.
func TestDatabaseCommandsThatAreWrong(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	none, file := filepath.Join(folder, "none.db"), filepath.Join(folder, "file")
	says(t, 2, "usage: apbridge backup FILE", "backup")
	says(t, 1, "no such file", "backup", file, "--database", none)
	says(t, 1, "does not exist; create it", "backup", filepath.Join(folder, "no", "file"), "--database", none)
	said := says(t, 2, "pg_dump --format=custom --file='"+file+"' --schema=s --dbname='postgres://me@db.example.com:5432/apbridge?sslmode=require'",
		"backup", file, "--database", "postgres://me:secret@db.example.com:5432/apbridge?search_path=s&sslmode=require&pool_max_conns=4")
	if strings.Contains(said, "secret") {
		t.Error(said)
	}
	says(t, 2, "pg_restore --exit-on-error --single-transaction --dbname='postgres://me@db.example.com/apbridge'", "restore", file, "--database", "postgres://me:secret@db.example.com/apbridge")
	says(t, 1, "no such file", "restore", file, "--database", none)
	says(t, 1, "no such file", "import", file, "--database", none)
	says(t, 1, "no such file", "export", file, "--database", none)
	rig.WriteFile(t, file, "{}\n")
	says(t, 1, "line 1: this is no export of apbridge", "import", file, "--database", none)
	says(t, 1, "not a SQLite database", "restore", "--check", file)
	if there(none) {
		t.Error("a database was made")
	}
	rig.WriteFile(t, none+"-lock", "")
	for _, of := range []string{"", "-wal", "-shm", "-lock", "-journal", ".new"} { // of a bridge's database
		says(t, 2, "none.db-lock exists", "backup", none+of, "--force", "--database", none)
		says(t, 2, "none.db-lock exists", "export", none+of, "--force", "--database", none)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.partial")); len(left) != 0 {
		t.Error(left)
	}
}

func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res.StatusCode, string(text), err)
	}
	return string(text)
}
