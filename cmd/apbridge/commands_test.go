package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// command runs a command line to its end.
func command(t *testing.T, environ []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	p := &program{out: &o, err: &e, environ: environ}
	code = p.run(t.Context(), args)
	return code, o.String(), e.String()
}

func serving(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	legacy, graph := serving(t, legacyagent.Handler()), serving(t, threadagent.Handler())
	python := adaptertest.NewStepAgent(adaptertest.JS)
	t.Run("healthy", func(t *testing.T) {
		t.Parallel()
		code, out, errs := command(t, nil, "doctor", "--agent", "legacy="+legacy, "--agent", "graph="+graph, "--agent", "js="+serving(t, python))
		if code != 0 {
			t.Errorf("exit code %d: %s", code, errs)
		}
		holds(t, out,
			"graph at "+graph+"\n  reachable   yes\n  dialect     threadrun (found out)\n  profile     ",
			"legacy at "+legacy+"\n  reachable   yes\n  dialect     taskstep (found out)\n  profile     tasks below /ap/v1/agent\n  stepping    lockstep\n",
			"in the manner of js", "run.context;dropped", "step.input;approximated")
	})
	t.Run("losses", func(t *testing.T) {
		t.Parallel()
		_, out, _ := command(t, nil, "doctor", "--losses", "--agent", "legacy="+legacy)
		holds(t, out, "dropped       threadrun run.context: Tasks have no context; it is kept with the run only.")
	})
	t.Run("ill", func(t *testing.T) {
		t.Parallel()
		page := serving(t, http.NotFoundHandler())
		code, out, errs := command(t, []string{"APBRIDGE_AGENTS__FORCED__DIALECT=taskstep"},
			"doctor", "--agent", "away=http://127.0.0.1:1", "--agent", "page="+page, "--agent", "forced="+page, "--agent", "legacy="+legacy)
		if code != 1 {
			t.Errorf("exit code %d", code)
		}
		holds(t, errs, "apbridge: cannot be used as configured: away, forced, page")
		holds(t, out, "away at http://127.0.0.1:1\n  cannot be used: ", "page at "+page+"\n  cannot be used: ", "forced at "+page+"\n  cannot be used: A server answers", "legacy at "+legacy+"\n  reachable   yes")
	})
	t.Run("no secrets", func(t *testing.T) {
		t.Parallel()
		told := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		}))
		file := filepath.Join(t.TempDir(), "a.yaml")
		rig.WriteFile(t, file, "agents: {a: {url: '"+told+"', dialect: threadrun, headers: {Authorization: 'env:TOKEN'}}}")
		code, out, errs := command(t, []string{"TOKEN=Bearer very-secret"}, "doctor", "--config", file)
		if code != 1 || strings.Contains(out+errs, "very-secret") {
			t.Errorf("exit code %d: %s%s", code, out, errs)
		}
	})
}

func TestInit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "apbridge.yaml")
	code, out, errs := command(t, nil, "init", "--config", file, "--agent", "legacy=http://127.0.0.1:8000", "--agent", "graph=http://127.0.0.1:2024")
	if code != 0 {
		t.Fatal(errs)
	}
	holds(t, out, "apbridge doctor --config "+file)
	cfg, err := config.Load(config.Options{File: file, Dialects: bridge.Dialects().Names(), Warn: func(c config.Complaint) { t.Errorf("unwise: %s", c) }})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DefaultAgent != "legacy" || cfg.Agents["graph"].URL != "http://127.0.0.1:2024" || len(cfg.Agents) != 2 {
		t.Errorf("it says %+v", cfg)
	}
	before, _ := os.ReadFile(file)
	code, _, errs = command(t, nil, "init", "--config", file)
	if after, _ := os.ReadFile(file); code != 1 || !bytes.Equal(before, after) {
		t.Errorf("a file that was there: exit code %d", code)
	}
	holds(t, errs, "is there already")
	if code, _, errs = command(t, nil, "init", "--config", file, "--force"); code != 0 {
		t.Error(errs)
	}
	if _, out, _ = command(t, nil, "init", "-c", "-"); !strings.Contains(out, "  legacy:\n    url: http://127.0.0.1:8000\n") {
		t.Errorf("on the terminal:\n%s", out)
	}
	for _, bad := range []string{"x", "a b=http://x", "a=ftp://x"} {
		if code, _, _ := command(t, nil, "init", "-c", "-", "--agent", bad); code == 0 {
			t.Errorf("--agent %s: exit code %d", bad, code)
		}
	}
}

// TestStarterLinesThatAreCommentedOut: what init suggests can be used.
func TestStarterLinesThatAreCommentedOut(t *testing.T) {
	t.Parallel()
	text, err := starter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var live []string
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimLeft(line, " ")
		if rest, ok := strings.CutPrefix(bare, "# "); ok && strings.ContainsAny(rest, "{[") || bare == "# auth:\n" || bare == "#   keys:\n" || bare == "# cors:\n" {
			line = strings.Replace(line, "# ", "", 1)
		}
		live = append(live, line)
	}
	file := filepath.Join(t.TempDir(), "a.yaml")
	rig.WriteFile(t, file, strings.Join(live, ""))
	cfg, err := config.Load(config.Options{File: file, Environ: []string{"AGENT_TOKEN=x", "ALICE_KEY=0123456789abcdef"}, Dialects: bridge.Dialects().Names()})
	if err != nil {
		t.Fatalf("%v in\n%s", err, strings.Join(live, ""))
	}
	if len(cfg.Auth.Keys) != 1 || len(cfg.CORS.Origins) != 1 || len(cfg.Agents["legacy"].Headers) != 1 {
		t.Errorf("%+v", cfg)
	}
}

func TestRunCommand(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	legacy, graph := serving(t, legacyagent.Handler()), serving(t, threadagent.Handler())
	code, out, errs := command(t, nil, "run", legacy, "Write the word Washington")
	if code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	holds(t, out, "think: I was asked: Write the word Washington.", "finish: Done: Write the word Washington")
	if code, out, errs = command(t, nil, "run", "graph", "What is a bridge?", "--agent", "graph="+graph); code != 0 || !strings.Contains(out, ": ") {
		t.Errorf("exit code %d: %s %s", code, out, errs)
	}
	for _, tt := range []struct {
		says string
		args []string
	}{
		{"the agent asks: What shall the file say?", []string{legacy, "ask me"}},
		{"the run failed: ", []string{"http://127.0.0.1:1", "hi"}},
		{`there is no agent "other"`, []string{"other", "hi", "--agent", "legacy=" + legacy}},
	} {
		code, _, errs := command(t, nil, append([]string{"run"}, tt.args...)...)
		if code != 1 {
			t.Errorf("%v: exit code %d", tt.args, code)
		}
		holds(t, errs, tt.says)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
