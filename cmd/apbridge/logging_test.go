package main

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// TestLogIsSet sets the log by the configuration, by flags that override it, and on the admin listener while the bridge
// serves.
func TestLogIsSet(t *testing.T) {
	t.Parallel()
	file, admin := filepath.Join(t.TempDir(), "a.yaml"), rig.FreeAddress(t)
	rig.WriteFile(t, file, "log: {level: error, format: console}\nadmin: "+admin+"\nagents: {a: {url: '"+serving(t, legacyagent.Handler())+"'}}\n")
	p := startProgram(t, nil, "serve", "-c", file, "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--log-level", "info")
	url := p.err.Await(t, `(?m)INFO\s+serving\s+\{"url": "([^"]+)"`)
	put := func(body string, want int) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+admin+"/log", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, _ := io.ReadAll(res.Body)
		if res.StatusCode != want {
			t.Errorf("PUT %s: %d %s", body, res.StatusCode, answer)
		}
		return string(answer)
	}
	holds(t, put(`{}`, 200), `{"level":"info","format":"console"}`)
	holds(t, put(`{"level":"loud"}`, 422), `level cannot be \"loud\"; choose one of debug, info, warn, error.`)
	holds(t, put(`{"levle":"info"}`, 422), "The body must be")
	holds(t, put(`{"format":"json","level":"debug"}`, 200), `{"level":"debug","format":"json"}`)
	if status := rig.Status(t, url+"/healthz"); status != 200 { // its line has level debug
		t.Errorf("healthz: %d", status)
	}
	p.err.Await(t, `"level":"debug".*"path":"(/healthz)"`)
	if status := rig.Status(t, url+"/log"); status != 404 {
		t.Errorf("clients are answered %d for /log", status)
	}
	p.err.Await(t, `"path":"(/log)"`)
	put(`{"level":"error"}`, 200)
	before := len(p.err.String())
	if status, body := post(t, url+"/runs/wait", `{"input":"hi"}`); status != 200 {
		t.Errorf("a run: %d %s", status, body)
	}
	if more := p.err.String()[before:]; more != "" {
		t.Errorf("at level error it says %s", more)
	}
}

// TestLogLinesRepeatNoMember checks that no member occurs twice, since programs that read the log keep only one of
// them.
func TestLogLinesRepeatNoMember(t *testing.T) {
	t.Parallel()
	s := startProgram(t, nil, "serve", "--log-level", "debug", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"),
		"--agent", "legacy="+serving(t, legacyagent.Handler()), "--agent", "graph="+serving(t, threadagent.Handler()))
	url := s.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	for _, agent := range []string{"legacy", "graph"} {
		if status, body := post(t, url+"/runs/wait", `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":"hi"}]}}`); status != 200 {
			t.Fatalf("%s: %d %s", agent, status, body)
		}
	}
	s.stop()
	<-s.code
	phases := 0
	for line := range strings.Lines(s.err.String()) {
		names := map[string]bool{}
		err := rawjson.EachMember([]byte(line), func(name rawjson.Quoted, _ json.RawMessage) {
			if names[name.Text()] {
				t.Errorf("%s is repeated in %s", name.Text(), line)
			}
			names[name.Text()] = true
		})
		if err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if names["from"] && names["to"] && names["agent"] {
			phases++
		}
	}
	if phases < 2 {
		t.Errorf("%d lines about phases of agents", phases)
	}
}
