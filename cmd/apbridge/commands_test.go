package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// command runs a command line until it ends.
func command(t *testing.T, environ []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	p := &program{console.Process{Out: &o, Err: &e, Environ: environ}}
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
			"graph at "+graph+"\n  reachable   yes, in ", "  dialect     threadrun (detected)\n  profile     ",
			"legacy at "+legacy+"\n  reachable   yes, in ", "  dialect     taskstep (detected)\n  profile     tasks below /ap/v1/agent\n  stepping    lockstep\n",
			"like js")
		counts := regexp.MustCompile(`(?m)^  fields of (taskstep|threadrun) requests: \d+ exact, \d+ approximated, \d+ dropped \(--losses lists them\)$`)
		if n := len(counts.FindAllString(out, -1)); n != 6 || strings.Count(out, "\n") > 25 {
			t.Errorf("%d lines with counts: %s", n, out)
		}
	})
	t.Run("losses", func(t *testing.T) {
		t.Parallel()
		_, out, _ := command(t, nil, "doctor", "--losses", "--agent", "legacy="+legacy)
		holds(t, out, " dropped\n    exact         ", "    approximated  task.transcript: ", "    dropped       run.context: Tasks have no context. It is stored with the run only.")
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
		holds(t, out, "away at http://127.0.0.1:1\n  cannot be used: ", "page at "+page+"\n  cannot be used: ", "forced at "+page+"\n  cannot be used: A server answers", "legacy at "+legacy+"\n  reachable   yes",
			"away", "nothing is listening there (connection refused)", "  GET "+page+" answers 404 with \"text/plain\".\n")
	})
	t.Run("URLs", func(t *testing.T) {
		t.Parallel()
		code, out, errs := command(t, []string{"APBRIDGE_CONFIG=/nowhere.yaml"}, "doctor", legacy, graph)
		if code != 0 {
			t.Errorf("exit code %d: %s", code, errs)
		}
		holds(t, out, legacy+"\n  reachable", graph+"\n  reachable",
			"to use it: apbridge serve --agent agent="+legacy+", or in a configuration\n  agents:\n    agent: {url: \""+legacy+"\", dialect: taskstep}\n",
			"    agent2: {url: \""+graph+"\", dialect: threadrun}\n")
	})
	t.Run("strangers", func(t *testing.T) {
		t.Parallel()
		says := func(path, kind, body string) string {
			return serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != path {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, body)
			}))
		}
		model := says("/v1/models", "application/json", `{"object":"list","data":[]}`)
		a2a := says("/.well-known/agent-card.json", "application/json", `{"name":"x","skills":[]}`)
		page := says("/", "text/html; charset=utf-8", "<html><head><title>\n A  dashboard </title>")
		code, out, _ := command(t, nil, "doctor", model, a2a, page+"/", legacy+"/some/where")
		if code != 1 {
			t.Errorf("exit code %d", code)
		}
		holds(t, out, "It is the API of a model", "It speaks A2A", `answers 200 with a page titled "A dashboard".`, "An agent that speaks taskstep answers at "+legacy+". Use that URL.")
	})
	t.Run("another dialect", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "a.yaml")
		rig.WriteFile(t, file, "agents: {old: {url: '"+legacy+"', dialect: threadrun}, new: {url: '"+serving(t, threadagent.Handler())+"', dialect: taskstep}}\n")
		_, out, _ := command(t, nil, "doctor", "--config", file)
		holds(t, out, "An agent that speaks taskstep answers there. Set agents.old.dialect to taskstep.", "An agent that speaks threadrun answers there. Set agents.new.dialect to threadrun.")
	})
	t.Run("graphs", func(t *testing.T) {
		t.Parallel()
		several := serving(t, twoGraphs())
		if code, out, _ := command(t, nil, "doctor", several); code != 1 || !strings.Contains(out, "It has chat, plan.") || !strings.Contains(out, "selects the graph: --agent GRAPH="+several+".\n") {
			t.Errorf("exit code %d: %s", code, out)
		}
		if code, out, errs := command(t, nil, "doctor", "--agent", "plan="+several); code != 0 || !strings.Contains(out, "graph plan\n") {
			t.Errorf("exit code %d: %s%s", code, out, errs)
		}
	})
	t.Run("versions", func(t *testing.T) {
		t.Parallel()
		for info, says := range map[string]string{
			`{"version":"0.16.2","flags":{}}`: "\n  version     0.16.2\n",
			`{"version":{"a":1}}`:             "", `{"version":"1\u001b[2J"}`: "", `no JSON`: "", "": "",
		} {
			agent := threadagent.Handler()
			code, out, errs := command(t, nil, "doctor", serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/info" {
					agent.ServeHTTP(w, r)
					return
				}
				_, _ = io.WriteString(w, info)
			})))
			if code != 0 || !strings.Contains(out, says) || says == "" && strings.Contains(out, "version ") {
				t.Errorf("%s: exit code %d: %s%s", info, code, out, errs)
			}
		}
	})
	t.Run("both", func(t *testing.T) {
		t.Parallel()
		code, _, errs := command(t, nil, "doctor", legacy, "--agent", "a="+legacy)
		if code != console.ExitMisuse {
			t.Errorf("exit code %d", code)
		}
		holds(t, errs, "not both")
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
	cfg, err := config.Load(config.Options{File: file, Dialects: bridge.Dialects().Names(), Warn: func(c config.Problem) { t.Errorf("unwise: %s", c) }})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DefaultAgent != "legacy" || cfg.Agents["graph"].URL != "http://127.0.0.1:2024" || len(cfg.Agents) != 2 {
		t.Errorf("it says %+v", cfg)
	}
	before, _ := os.ReadFile(file)
	if !bytes.HasPrefix(before, []byte("# yaml-language-server: $schema=apbridge.schema.json\n")) {
		t.Errorf("it begins with %.60q", before)
	}
	_, schema, _ := command(t, nil, "schema")
	if beside, err := os.ReadFile(filepath.Join(filepath.Dir(file), "apbridge.schema.json")); err != nil || string(beside) != schema || schema == "" {
		t.Errorf("the schema beside it: %.60q, %v", beside, err)
	}
	code, _, errs = command(t, nil, "init", "--config", file)
	if after, _ := os.ReadFile(file); code != 1 || !bytes.Equal(before, after) {
		t.Errorf("a file that was there: exit code %d", code)
	}
	holds(t, errs, "already exists")
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

// TestStarterLinesThatAreCommentedOut checks that the suggestions of init are valid.
func TestStarterLinesThatAreCommentedOut(t *testing.T) {
	t.Parallel()
	text, err := starter(nil, "")
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
		code int
		says string
		args []string
	}{
		{1, "the agent asks: What shall the file say?", []string{legacy, "ask me"}},
		{1, "the run failed: ", []string{"http://127.0.0.1:1", "hi"}},
		{2, `there is no agent "other" in the configuration; known agents: legacy`, []string{"other", "hi", "--agent", "legacy=" + legacy}},
	} {
		code, _, errs := command(t, nil, append([]string{"run"}, tt.args...)...)
		if code != tt.code {
			t.Errorf("%v: exit code %d, want %d", tt.args, code, tt.code)
		}
		holds(t, errs, tt.says)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
