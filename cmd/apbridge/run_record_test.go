package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// TestRecordAndReplay: what a run has printed is printed again without the agent, by run and by a bridge
// that serves several conversations; another request is refused by the first call that differs.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]http.Handler{"step agent": legacyagent.Handler(), "graph": threadagent.Handler()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "recording.ndjson")
			srv := httptest.NewServer(agent)
			code, want, errs := command(t, nil, "run", srv.URL, "Write the word Washington", "--record", file)
			srv.Close()
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			holds(t, errs, "(recorded ", " calls to "+file+".")
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file: %v, %v", info, err)
			}
			if code, got, errs := command(t, nil, "run", "replay:"+file, "Write the word Washington"); code != 0 || got != want {
				t.Errorf("exit code %d: %s\nreplayed:\n%s\nrecorded:\n%s", code, errs, got, want)
			}
			code, _, errs = command(t, nil, "run", "replay:"+file, "Write the word Berlin")
			if code != 1 {
				t.Errorf("another request: exit code %d", code)
			}
			holds(t, errs, "was not recorded. Call ", "Write the word Berlin", "recorded was", "Write the word Washington")
			_, out, _ := command(t, nil, "doctor", "--agent", "a=replay:"+file)
			holds(t, out, "a at replay:"+file+"\n  reachable   it answers as it was recorded, and nobody is called\n  dialect     ", "(found out)")

			b := rig.Configured(t, "agents: {a: {url: 'replay:"+file+"'}}", nil)
			for range 2 {
				b.Do("POST", "/runs/wait", `{"assistant_id":"a","input":{"messages":[{"type":"human","content":"Write the word Washington"}]}}`).
					Want(t, 200, "Write the word Washington")
			}
		})
	}
}

func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	foreign := filepath.Join(folder, "foreign")
	rig.WriteFile(t, foreign, `{"log":{}}`)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "http://127.0.0.1:1", "x", "--record", folder}, "flag --record: is a directory. Name another file"},
		{[]string{"run", "http://127.0.0.1:1", "x", "--record", filepath.Join(folder, "no", "file")}, "flag --record: no such file or directory. Name another file"},
		{[]string{"run", "replay:" + foreign, "x", "--record", filepath.Join(folder, "r")}, "flag --record: the agent is a recording already"},
		{[]string{"run", "replay:" + filepath.Join(folder, "none"), "x"}, "agents.agent.url: the recording " + filepath.Join(folder, "none") + " cannot be read: no such file or directory"},
		{[]string{"run", "replay:" + folder, "x"}, "is no ordinary file"},
		{[]string{"run", "replay:", "x"}, "names no recording; write replay:FILE"},
	} {
		if code, _, errs := command(t, nil, tt.args...); code != 2 {
			t.Errorf("%v: exit code %d: %s", tt.args, code, errs)
		} else {
			holds(t, errs, tt.want)
		}
	}
	code, _, errs := command(t, nil, "run", "replay:"+foreign, "x")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	holds(t, errs, "agents.agent.url: "+foreign+": is no recording of apbridge")
}
