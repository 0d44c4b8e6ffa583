package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestMishaps checks that the built program reports a person's mistakes in one line with advice.
func TestMishaps(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	startProgram(t, nil, "serve", "--listen", "127.0.0.1:0", "--agent", "a=http://127.0.0.1:1", "--database", filepath.Join(folder, "used.db")).err.Await(t, `"msg":"(serving)"`)
	rig.WriteFile(t, filepath.Join(folder, "broken.yaml"), "listen: [\n")
	rig.WriteFile(t, filepath.Join(folder, "bytes.yaml"), "\xff\xfe\x00")
	rig.WriteFile(t, filepath.Join(folder, "text"), strings.Repeat("this is no database ", 100))
	const serve = "serve --agent a=http://127.0.0.1:1 --listen 127.0.0.1:0 "
	for _, x := range []struct {
		line string
		code int
		says []string
	}{
		{"serve --agent a=http://127.0.0.1:1 --database a.db --listen " + taken.Addr().String(), 1, []string{"address already in use", "Set listen to another address, or free this one"}},
		{"demo --listen " + taken.Addr().String(), 1, []string{"address already in use", "apbridge demo --listen 127.0.0.1:0"}},
		{serve + "--listen nonsense", 2, []string{"write host:port, like 127.0.0.1:8080"}},
		{serve + "--listen 0.0.0.0:0", 2, []string{"listen on 127.0.0.1, or add a key"}},
		{serve + "--database used.db", 1, []string{"another process is using it. Stop that one first"}},
		{serve + "--database no/where/a.db", 1, []string{"no/where does not exist. Create it, or set database to another path"}},
		{serve + "--database .", 1, []string{"this is a folder; set database to the path of a file in it"}},
		{serve + "--database text", 1, []string{"not a SQLite database", "Restore a backup, or set database to another path"}},
		{serve + "--database postgres://u:secret@127.0.0.1:1/x", 1, []string{"database 127.0.0.1:1/x: its server cannot be reached; check that it is running there and accepts connections from this machine: connect: connection refused\n"}},
		{serve + "--database postgres://u@nowhere.invalid/x", 1, []string{"the host name nowhere.invalid is not known"}},
		{serve + "--database postgres://u@127.0.0.1:1", 2, []string{"names no database of the PostgreSQL server"}},
		{serve + "--database mysql://u@127.0.0.1/x", 2, []string{`is a URL of "mysql"`}},
		{serve + "--database host=127.0.0.1", 2, []string{"describes a PostgreSQL server by keywords; write it like postgres://"}},
		{serve + "--agent a=http://127.0.0.1:2", 2, []string{`"a" is given twice; give each agent a different name`}},
		{"serve -c broken.yaml", 2, []string{"broken.yaml: is not YAML: line 1: ", "run apbridge init"}},
		{"serve -c bytes.yaml", 2, []string{"bytes.yaml: is not YAML: "}},
		{"serve -c none.yaml", 2, []string{"none.yaml: cannot be read: no such file", "apbridge init --config none.yaml"}},
		{"serve -c .", 2, []string{".: cannot be read: is a directory; name a file in it"}},
		{"serve --config=", 2, []string{`flag --config: must not be empty; leave the flag out`}},
		{serve + "--database=", 2, []string{`flag --database: must not be empty`}},
		{"backup x.db --database=", 2, []string{`flag --database: must not be empty`}},
		{"serve --log-level= --agent a=http://127.0.0.1:1", 2, []string{`flag --log-level: must not be empty`}},
		{"serve --listen= --agent a=http://127.0.0.1:1", 2, []string{`flag --listen: must not be empty`}},
		{"init --config no/where.yaml", 1, []string{"no/where.yaml cannot be written: no such file or directory; choose another file with --config"}},
		{"backup all.db --database none.db", 1, []string{"none.db: there is no such file; choose another"}},
		{"export all.ndjson --database none.db", 1, []string{"none.db: there is no such file; choose another"}},
		{"restore none.db --database new.db", 1, []string{"none.db: there is no such file; choose another"}},
		{"import none.ndjson --database new.db", 1, []string{"none.ndjson cannot be read: no such file or directory; choose a file written by apbridge export"}},
		{"serve", 2, []string{"there are no agents", "--agent NAME=URL"}},
		{"serve --agent a=nonsense", 2, []string{"write it like http://127.0.0.1:8000"}},
		{"runs ls -n many", 2, []string{`flag --limit: expected a whole number, not "many"; apbridge runs ls has`}},
		{"health --wait=soon", 2, []string{`flag --wait: expected a time such as 30s, 10m or 2h, not "soon"`}},
		{"runs cancel x --rollback=perhaps", 2, []string{`flag --rollback: expected true or false, not "perhaps"`}},
		{"serve --agnt a=http://127.0.0.1:1", 2, []string{"unknown flag: --agnt; did you mean --agent? apbridge serve has"}},
		{"serve --agnet a=http://127.0.0.1:1", 2, []string{"unknown flag: --agnet", "did you mean --agent?", "See apbridge serve --help"}},
		{"run other hi --agent a=http://127.0.0.1:1", 2, []string{`there is no agent "other"`}},
		{"run http://127.0.0.1:1 hi --out text/x", 2, []string{"flag --out: the folder text/x cannot be created: not a directory. Choose another"}},
		{"run http://127.0.0.1:1 hi", 1, []string{"connection refused"}},
		{"runs ls --url http://127.0.0.1:1", 1, []string{"no bridge answers at http://127.0.0.1:1: connection refused. Start one with apbridge serve"}},
		{"runs show", 2, []string{"apbridge runs show RUN", "arguments given: 0"}},
		{"runs lss", 2, []string{`unknown command "lss". Did you mean ls?`}},
		{"threads rm", 2, []string{"apbridge threads rm THREAD..."}},
		{"health http://127.0.0.1:9 http://127.0.0.1:9", 2, []string{"usage: apbridge health [URL]"}},
		{"health http://127.0.0.1:9 --wait 1ms", 1, []string{"127.0.0.1:9"}},
		{"health 30s", 2, []string{`"30s" is not the URL of a bridge`}},
	} {
		t.Run(x.line, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			cmd := exec.CommandContext(t.Context(), rig.Binary(t), strings.Fields(x.line)...)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = folder, append(os.Environ(), "TMPDIR="+folder), &out, &errs
			var exit *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != x.code || out.Len() > 0 {
				t.Errorf("%v, want %d; printed %s", err, x.code, &out)
			}
			holds(t, errs.String(), x.says...)
			said := slices.DeleteFunc(slices.Collect(strings.Lines(errs.String())), func(line string) bool { return strings.HasPrefix(line, `{"level":"info"`) })
			if len(said) != 1 { // in addition to earlier lines of the log
				t.Errorf("%d lines: %s", len(said), &errs)
			}
		})
	}
}

// TestSecondInterrupt checks that the first Ctrl-C lets running work end, which would take long here, and that the
// second one ends the process, which reports what happens to the work.
func TestSecondInterrupt(t *testing.T) {
	t.Parallel()
	asked, never := make(chan struct{}, 8), make(chan struct{})
	agent := serving(t, hangingSteps(asked, never))
	t.Cleanup(func() { close(never) })
	errs := rig.NewConsole()
	cmd := exec.CommandContext(t.Context(), rig.Binary(t), "serve", "--listen", "127.0.0.1:0", "--agent", "a="+agent, "--database", filepath.Join(t.TempDir(), "a.db"))
	cmd.Env, cmd.Stderr = append(os.Environ(), "APBRIDGE_AGENTS__A__DIALECT=taskstep", "APBRIDGE_SHUTDOWN_GRACE=10m"), errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	url := errs.Await(t, `"msg":"serving","url":"([^"]+)"`)
	if status, body := post(t, url+"/threads/0190e1f2-0000-7000-8000-000000000001/runs", `{"if_not_exists":"create","assistant_id":"a","input":{"messages":[{"role":"user","content":"hi"}]}}`); status != 200 {
		t.Fatalf("a run: %d %s", status, body)
	}
	<-asked
	again := time.NewTicker(bounce)
	defer again.Stop()
	for {
		select {
		case <-ended:
			if code := cmd.ProcessState.ExitCode(); code != console.ExitInterrupted {
				t.Errorf("exit code %d", code)
			}
			holds(t, errs.String(), `"msg":"shutting down`, "apbridge: stopped at once. The next apbridge serve with the same database continues the active runs")
			return
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		}
	}
}
