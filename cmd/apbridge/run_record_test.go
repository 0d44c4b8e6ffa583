package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// TestRecordAndReplay checks that the output of a run is repeated without the agent, by the command run and by a bridge
// that serves several conversations. Another request is refused at the first call that differs.
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
			holds(t, out, "a at replay:"+file+"\n  reachable   recorded; no agent is called\n  dialect     ", "(detected)")

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
	broken := filepath.Join(folder, "broken")
	rig.WriteFile(t, broken, `{"apbridge_recording":1}`+"\n"+`{"n":1,"call":{"method":"GET","target":"/"},"answer":{"status":200}}`+"\n"+`{"n":`)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "http://127.0.0.1:1", "x", "--record", folder}, "flag --record: " + folder + " is a folder; choose a file in it"},
		{[]string{"run", "http://127.0.0.1:1", "x", "--record", filepath.Join(folder, "no", "file")}, "the folder " + filepath.Join(folder, "no") + " does not exist; create it, or choose another file"},
		{[]string{"run", "replay:" + foreign, "x", "--record", filepath.Join(folder, "r")}, "flag --record: the agent is itself a recording"},
		{[]string{"run", "replay:" + filepath.Join(folder, "none"), "x"}, "the URL replay:" + filepath.Join(folder, "none") + ": the recording " + filepath.Join(folder, "none") + " cannot be read: no such file or directory"},
		{[]string{"run", "replay:" + folder, "x"}, "is not a regular file"},
		{[]string{"run", "http://127.0.0.1:1", "x", "--record", foreign}, "flag --record: " + foreign + " already exists; choose another file, or overwrite it with --force"},
		{[]string{"run", "replay:" + foreign, "x"}, "the URL replay:" + foreign + ": " + foreign + ": is not a recording of apbridge"},
		{[]string{"run", "replay:" + broken, "x"}, "the URL replay:" + broken + ": " + broken + ": line 3: "},
		{[]string{"run", "replay:", "x"}, "names no recording; write replay:FILE"},
	} {
		if code, _, errs := command(t, nil, tt.args...); code != 2 {
			t.Errorf("%v: exit code %d: %s", tt.args, code, errs)
		} else {
			holds(t, errs, tt.want)
		}
	}
	if text, err := os.ReadFile(foreign); err != nil || string(text) != `{"log":{}}` {
		t.Errorf("what was there: %s, %v", text, err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*.partial")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// telltale is an agent that repeats the bridge's credentials.
func telltale(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Location", r.URL.Path+"?key="+r.Header.Get("X-Secret"))
		w.Header().Set("Set-Cookie", "session=canary")
		next.ServeHTTP(&saying{w, []byte("Washington"), []byte("Washington " + r.Header.Get("X-Secret"))}, r)
	})
}

type saying struct {
	http.ResponseWriter
	word, more []byte
}

func (s *saying) Write(b []byte) (int, error) {
	s.Header().Del("Content-Length")
	_, err := s.ResponseWriter.Write(bytes.ReplaceAll(b, s.word, s.more))
	return len(b), err
}

// TestRecordingsOfATelltale checks that a credential repeated by the agent is in no line of the recording, that the
// recording is overwritten on request, and that it can still be replayed.
func TestRecordingsOfATelltale(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]http.Handler{"step agent": legacyagent.Handler(), "graph": threadagent.Handler()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			file, of := filepath.Join(folder, "r"), filepath.Join(folder, "apbridge.yaml")
			rig.WriteFile(t, file, "an earlier one")
			rig.WriteFile(t, of, "agents: {a: {url: '"+serving(t, telltale(agent))+"', headers: {X-Secret: 'canary&secret'}}}")
			code, out, errs := command(t, nil, "run", "a", "Write the word Washington", "--config", of, "--record", file, "--force")
			if code != 0 {
				t.Fatalf("exit code %d: %s%s", code, out, errs)
			}
			text, err := os.ReadFile(file)
			if err != nil || bytes.Contains(text, []byte("canary")) || !bytes.Contains(text, []byte("Washington [hidden]")) {
				t.Errorf("%v, recorded:\n%s", err, text)
			}
			code, got, errs := command(t, nil, "run", "replay:"+file, "Write the word Washington")
			if code != 0 {
				t.Errorf("replayed: exit code %d: %s", code, errs)
			}
			holds(t, got, "Washington [hidden]")
		})
	}
}
