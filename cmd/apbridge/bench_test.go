package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// TestChildAgent is not a test: in a child process of one it is an agent that serves at PORT.
func TestChildAgent(t *testing.T) {
	legacy := legacyagent.Handler()
	handler := legacy
	switch os.Getenv("BENCH_CHILD") {
	case "":
		t.Skip("an agent for other tests")
	case "dies":
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps") {
				os.Stderr.WriteString("out of tokens\n")
				os.Exit(4)
			}
			legacy.ServeHTTP(w, r)
		})
	case "tells":
		for _, name := range []string{"BENCHMARK_KEY", "GRADER_KEY"} {
			if key, ok := os.LookupEnv(name); ok {
				os.Stderr.WriteString("I was given the key " + key + "\n")
				os.Exit(5)
			}
		}
	case "idles", "mute":
		if os.Getenv("BENCH_CHILD") == "mute" {
			l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
		<-time.After(time.Minute)
	case "clings":
		cling(t)
	case "ends":
		os.Stderr.WriteString("no model is configured\n")
		os.Exit(3)
	}
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: handler, ReadHeaderTimeout: time.Minute}
	t.Fatal(server.ListenAndServe())
}

// childAgent returns a command line that starts an agent.
func childAgent() []string { return []string{"--", os.Args[0], "-test.run=^TestChildAgent$"} }

// TestBench checks that an agent of either kind is judged in the same way, however it is named.
func TestBench(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	legacy, graph := serving(t, legacyagent.Handler()), serving(t, threadagent.Handler())
	bridge := startProgram(t, nil, "serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--agent", "graph="+graph)
	url := bridge.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	file := filepath.Join(t.TempDir(), "apbridge.yaml")
	rig.WriteFile(t, file, "agents: {mine: {url: '"+legacy+"'}}")
	for name, args := range map[string][]string{
		"a step agent by its URL":      {legacy},
		"a bridge by its URL":          {url},
		"an agent of a bridge":         {url + "/agents/graph"},
		"an agent of the file":         {"--agent", "mine", "--config", file},
		"a graph through a bridge":     {"--agent", "graph=" + graph},
		"an agent that is started":     childAgent(),
		"a step agent through one too": {"--agent", "legacy=" + legacy},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, append(os.Environ(), "BENCH_CHILD=serves"), append([]string{"bench", "--only", "WriteWord,CopyNote"}, args...)...)
			if code != 1 {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
			holds(t, out, "WriteWord: step 1: ", "WriteWord: passed (", "CopyNote: uploading note.txt", "there is no file copy.txt; the files are ", "1 passed, 1 failed, 0 skipped, 0 not judged",
				"the agent's last output: ")
			if strings.HasPrefix(args[0], url) {
				link := regexp.MustCompile(`thread: (` + url + `/threads/\S+)`).FindStringSubmatch(out)
				if len(link) == 0 || linked(t, link[1]) != http.StatusOK {
					t.Errorf("the link to the thread, %q, leads nowhere", link)
				}
			}
		})
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func linked(t *testing.T, address string) int {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestBenchChoice checks the effect of each flag that selects challenges or changes how they are run.
func TestBenchChoice(t *testing.T) {
	t.Parallel()
	agent, folder := serving(t, legacyagent.Handler()), t.TempDir()
	for name, more := range map[string]string{"Word": `,"category":["a"]`, "Next": `,"category":["b"],"dependencies":["Lost"]`, "Lost": `,"category":["c"],"dependencies":["Word"]`} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := map[bool]string{true: "nothing that is there", false: "Harbour"}[name == "Lost"]
		rig.WriteFile(t, filepath.Join(folder, name, "data.json"), `{"name":"`+name+`","task":"Write 'Harbour'","ground":{"should_contain":["`+text+`"],"files":[".txt"],"eval":{"type":"file"}}`+more+`}`)
	}
	for _, x := range []struct {
		code  int
		says  string
		flags []string
	}{
		{1, "1 passed, 1 failed, 1 skipped", nil},
		{0, "1 passed, 0 failed, 0 skipped", []string{"--category", "a"}},
		{1, "1 passed, 1 failed, 0 skipped", []string{"--category", "c"}},
		{0, "1 passed, 0 failed, 0 skipped", []string{"--only", "Next", "--no-dependencies"}},
		{1, "2 passed, 1 failed, 0 skipped", []string{"--no-dependencies"}},
		{0, "1 passed, 0 failed, 1 skipped", []string{"--skip", "Lost"}},
		{0, "3 passed, 0 failed, 0 skipped", []string{"--only", "Word", "--repeat", "3", "--parallel", "2"}},
		{0, "Word (a, file, 1m0s): Write 'Harbour'\n", []string{"--only", "Word", "--list"}},
		{1, "time limit of 1ns reached in step 1; no file to judge", []string{"--only", "Word", "--cutoff", "1ns"}},
	} {
		code, out, errs := command(t, nil, append([]string{"bench", agent, "--challenges", folder}, x.flags...)...)
		if !strings.Contains(out, x.says) || code != x.code || strings.Contains(out, "passed") == slices.Contains(x.flags, "--list") {
			t.Errorf("%v: exit code %d, want %d, and %q in: %s%s", x.flags, code, x.code, x.says, out, errs)
		}
	}
}

// TestBenchOfAnAgentThatDies checks that the reason has its exit status and its last output.
func TestBenchOfAnAgentThatDies(t *testing.T) {
	t.Parallel()
	keep := filepath.Join(t.TempDir(), "kept")
	code, out, errs := command(t, append(os.Environ(), "BENCH_CHILD=dies"), append([]string{"bench", "--only", "WriteWord", "--keep", keep}, childAgent()...)...)
	if code != 1 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	holds(t, out, `WriteWord failed: the agent's run failed: the agent exited (exit status 4); its last output: "out of tokens"`,
		"kept in "+keep+"; to see its threads: apbridge serve --database "+filepath.Join(keep, "run.db")+" --agent agent=http://127.0.0.1:")
	if info, err := os.Stat(filepath.Join(keep, "run.db")); err != nil || info.Size() == 0 {
		t.Errorf("the database: %v, %v", info, err)
	}
}

// TestBenchStoppedBeforeItBegan sends Ctrl-C while a command does not answer yet.
func TestBenchStoppedBeforeItBegan(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.json")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p := &program{console.Process{Out: io.Discard, Err: io.Discard, Environ: append(os.Environ(), "BENCH_CHILD=serves")}}
	if code := p.run(ctx, append([]string{"bench", "--report", file}, childAgent()...)); code != console.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a report was left")
	}
}

// TestBenchRefuses checks that invalid input is reported before the agent gets a task, with exit code 2, and that no
// report is begun.
func TestBenchRefuses(t *testing.T) {
	t.Parallel()
	var made int
	agent := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			made++
		}
		legacyagent.Handler().ServeHTTP(w, r)
	}))
	keyed := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	model := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
	}))
	page, graph, several := serving(t, http.NotFoundHandler()), serving(t, threadagent.Handler()), serving(t, twoGraphs())
	site := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><head><title>A dashboard</title>")
	}))
	mute := serving(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	two := startProgram(t, nil, "serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--agent", "mine="+agent, "--agent", "other="+agent).err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	full, broken, config := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "a.yaml")
	rig.WriteFile(t, filepath.Join(full, "x"), "")
	rig.WriteFile(t, filepath.Join(broken, "data.json"), "{")
	rig.WriteFile(t, config, "agents: {mine: {url: '"+agent+"'}, other: {url: '"+agent+"'}}")
	same, fresh, fresh2 := filepath.Join(t.TempDir(), "same"), filepath.Join(t.TempDir(), "new"), filepath.Join(t.TempDir(), "new")
	report, events := filepath.Join(t.TempDir(), "report.json"), filepath.Join(t.TempDir(), "events.jsonl")
	rig.WriteFile(t, events, "of an earlier run")
	for _, x := range []struct {
		says string
		args []string
	}{
		{"no agent given", nil},
		{"exactly one agent must be given", []string{agent, agent}},
		{"exactly one agent must be given", []string{agent, "--agent", "a=" + agent}},
		{"exactly one agent must be given", []string{agent, "--", "true"}},
		{"exactly one agent must be given", []string{"--"}},
		{`"ftp://x" is not the URL of a server`, []string{"ftp://x"}},
		{"u:xxxxx@h", []string{"http://u:secret@h"}},
		{"cannot be reached: nothing is listening there", []string{"http://127.0.0.1:1"}},
		{"GET " + site + ` answers 200 with a page titled "A dashboard".`, []string{site}},
		{"the server at " + mute + " did not answer within 100ms", []string{mute, "--step-timeout", "100ms"}},
		{"the name before the URL selects the graph: --agent GRAPH=" + several + ".", []string{"--agent", "a=" + several}},
		{"A server answers at " + page + ", but it speaks none", []string{page}},
		{"It is the API of a model (OpenAI-compatible), not an agent", []string{model}},
		{"It is the API of a model (OpenAI-compatible), not an agent", []string{"--agent", "a=" + model}},
		{"speaks threadrun, not the Agent Protocol v1 below /ap/v1. Judge it through a bridge: apbridge bench --agent agent=" + graph, []string{graph}},
		{"the bridge at " + two + ` has no agent "nope"; known agents: mine, other`, []string{two + "/agents/nope"}},
		{"the bridge at " + two + " has no default agent; append /agents/NAME to its address; known agents: mine, other", []string{two}},
		{"requires a key (401); set BENCHMARK_KEY", []string{keyed}},
		{`there is no agent "you" in the configuration; known agents: mine, other`, []string{"--agent", "you", "--config", config}},
		{"cannot be reached: nothing is listening there", []string{"--agent", "a=http://127.0.0.1:1"}},
		{"the agent cannot be started", []string{"--", "/nowhere/agent"}},
		{"the agent exited (exit status 3); its last output: \"no model is configured\"", childAgent()},
		{"another program already serves at " + page, append([]string{"--command-url", page}, childAgent()...)},
		{"flag --command-url has no effect without COMMAND", []string{agent, "--command-url", agent}},
		{"flag --config has no effect with a URL; it is for --agent and COMMAND", []string{agent, "--config", config}},
		{"flag --start-timeout", append([]string{"--start-timeout", "0s"}, childAgent()...)},
		{"the challenges in /nowhere cannot be read: no such file", []string{agent, "--challenges", "/nowhere"}},
		{"there is no data.json", []string{agent, "--challenges", full}},
		{"data.json: line 1 is not JSON", []string{agent, "--challenges", broken}},
		{`there is no challenge "Nobody"; known challenges: WriteWord`, []string{agent, "--only", "Nobody"}},
		{`there is no category "x"`, []string{agent, "--category", "x"}},
		{"the report cannot be written", []string{agent, "--report", "/nowhere/report.json"}},
		{"the report cannot be written", []string{agent, "--junit", full}},
		{"the report cannot be written", []string{agent, "--markdown", full}},
		{"the report cannot be written", []string{agent, "--jsonl", full}},
		{"the history cannot be written", []string{agent, "--history", filepath.Join(full, "x")}},
		{"is not empty; choose a new folder", []string{agent, "--keep", full}},
		{"--junit and --markdown name the same file", []string{agent, "--junit", same, "--markdown", filepath.Dir(same) + "/./same"}},
		{"--jsonl and --report name the same file", []string{agent, "--jsonl", report}},
		{"nothing is listening there", []string{"http://127.0.0.1:1", "--keep", fresh, "--history", fresh2}},
		{"no Python interpreter", []string{agent, "--python", "/none", "--keep", fresh, "--history", fresh2}},
		{"the report cannot be written", []string{agent, "--keep", fresh, "--history", fresh2, "--junit", full}},
		{"there is no Python interpreter /none", []string{agent, "--python", "/none"}},
		{`flag --python-memory: "much" is not a size`, []string{agent, "--python-memory", "much"}},
		{"flag --repeat", []string{agent, "--repeat", "0"}},
		{"flag --parallel", []string{agent, "--parallel", "0"}},
		{"flag --cutoff", []string{agent, "--cutoff", "-5s"}},
		{"flag --step-timeout", []string{agent, "--step-timeout", "0s"}},
		{"flag --python-timeout", []string{agent, "--python-timeout", "0s"}},
		{"unknown flag: --what", []string{agent, "--what"}},
	} {
		args := append([]string{"bench", "--report", report, "--jsonl", events}, x.args...)
		code, _, errs := command(t, append(os.Environ(), "BENCH_CHILD=ends"), args...)
		if code != 2 || !strings.Contains(errs, x.says) {
			t.Errorf("%v: exit code %d, want 2, and %q in: %s", x.args, code, x.says, errs)
		}
		for _, file := range []string{report, same, fresh, fresh2} {
			if _, err := os.Stat(file); err == nil {
				t.Fatalf("%v: %s was left", x.args, file)
			}
		}
	}
	if raw, err := os.ReadFile(events); err != nil || string(raw) != "of an earlier run" {
		t.Errorf("the events of an earlier run: %q, %v", raw, err)
	}
	if made > 0 {
		t.Errorf("%d tasks were made", made)
	}
}

// twoGraphs is a LangGraph server with two graphs.
func twoGraphs() http.Handler {
	agent := threadagent.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/assistants/search" {
			agent.ServeHTTP(w, r)
			return
		}
		_, _ = io.WriteString(w, `[{"assistant_id":"1","graph_id":"chat","name":"chat"},{"assistant_id":"2","graph_id":"plan","name":"plan"}]`)
	})
}

// TestBenchSaysWhyAnAgentDidNotStart covers an agent that does not listen and one that does not answer.
func TestBenchSaysWhyAnAgentDidNotStart(t *testing.T) {
	t.Parallel()
	for child, says := range map[string]string{"idles": ": no program listens at http://127.0.0.1:", "mute": ": a program listens at http://127.0.0.1:"} {
		code, _, errs := command(t, append(os.Environ(), "BENCH_CHILD="+child), append([]string{"bench", "--start-timeout", "3s"}, childAgent()...)...)
		if code != 2 || !strings.Contains(errs, "the agent did not answer within 3s"+says) || strings.Contains(errs, "15s") {
			t.Errorf("%s: exit code %d: %s", child, code, errs)
		}
	}
}

// TestBenchReports checks that every report is written, and that the differences of two are printed.
func TestBenchReports(t *testing.T) {
	t.Parallel()
	agent := serving(t, legacyagent.Handler())
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	rig.WriteFile(t, in("bad.json"), "")
	if err := os.MkdirAll(in("c/bad"), 0o755); err != nil {
		t.Fatal(err)
	}
	rig.WriteFile(t, in("c/bad/data.json"), `{"name":"Bad","task":"x","ground":{"eval":{"type":"guess"}}}`)
	rig.WriteFile(t, in("c/data.json"), `{"name":"Any","task":"Write 'Harbour'","ground":{"should_contain":["Harbour"],"files":[".txt"],"eval":{"type":"file"}}}`)
	args := []string{"bench", agent, "--challenges", in("c"), "--report", in("a.json"), "--junit", in("a.xml"), "--markdown", in("a.md"), "--jsonl", in("a.jsonl"), "--history", in("runs"), "--keep", in("kept")}
	code, out, errs := command(t, nil, args...)
	if code != 1 {
		t.Errorf("a file that is no challenge: exit code %d: %s", code, errs)
	}
	holds(t, out, "invalid challenge: bad/data.json: ground.eval.type: is \"guess\"", "1 passed, 0 failed", "kept in "+in("kept"))
	for file, part := range map[string]string{"a.json": `"success_percentage": 100`, "a.xml": `<testcase classname="challenges" name="Any"`, "a.md": "| Any | - | passed |", "a.jsonl": `"event":"end"`, "kept/Any-1/answer.txt": "Harbour"} {
		raw, err := os.ReadFile(in(file))
		if err != nil {
			t.Error(err)
		}
		holds(t, string(raw), part)
	}
	events, err := os.ReadFile(in("a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(events)) {
		var e report.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind == "" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if err := os.Remove(in("c/bad/data.json")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command(t, nil, "bench", agent, "--challenges", in("c"), "--report", in("b.json")); code != 0 {
		t.Errorf("all passed: exit code %d: %s", code, errs)
	}
	rig.WriteFile(t, in("unjudged.json"), `{"tests":{"Any":{"metrics":{"attempted":false},"results":[{"success":false,"fail_reason":"no python"}]}}}`)
	for _, x := range []struct {
		code int
		says string
		args []string
	}{
		{0, "nothing changed", []string{in("a.json"), in("b.json")}},
		{0, "nothing changed", []string{in("runs"), in("b.json")}},
		{1, "broken  Any  failed, was passed: lost", []string{in("a.json"), in("worse.json")}},
		{0, "not judged  Any  skipped, was passed: no python", []string{in("a.json"), in("unjudged.json")}},
		{1, "not judged  Any", []string{in("a.json"), in("unjudged.json"), "--fail-on", "broken,not judged"}},
		{0, "fixed  Any  passed, was failed", []string{in("worse.json"), in("a.json")}},
		{1, "fixed  Any", []string{in("worse.json"), in("a.json"), "--fail-on", "broken,fixed"}},
		{2, `"all" is not one of broken`, []string{in("a.json"), in("b.json"), "--fail-on", "all"}},
		{2, "must be at least 1", []string{in("a.json"), in("b.json"), "--slower", "0.5"}},
		{2, "no such file", []string{in("a.json"), in("gone.json")}},
		{2, "is not a report.json", []string{in("bad.json"), in("a.json")}},
		{2, "compare BEFORE AFTER", []string{in("a.json")}},
	} {
		rig.WriteFile(t, in("worse.json"), `{"tests":{"Any":{"metrics":{"attempted":true},"results":[{"success":false,"fail_reason":"lost"}]}}}`)
		code, out, errs := command(t, nil, append([]string{"bench", "compare"}, x.args...)...)
		if code != x.code || !strings.Contains(out+errs, x.says) {
			t.Errorf("%v: exit code %d, want %d, and %q in: %s%s", x.args, code, x.code, x.says, out, errs)
		}
	}
}

// TestBenchStopped sends Ctrl-C in the middle of a step and checks that the report has the finished challenges.
func TestBenchStopped(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/steps") && r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		legacyagent.Handler().ServeHTTP(w, r)
	}))
	defer agent.Close()
	file := filepath.Join(t.TempDir(), "report.json")
	p := startProgram(t, nil, "bench", agent.URL, "--only", "CopyNote", "--report", file)
	<-asked
	p.stop()
	if code := <-p.code; code != console.ExitInterrupted {
		t.Errorf("exit code %d\n%s", code, p.err)
	}
	holds(t, p.out.String(), "stopping: judging the files so far", "WriteWord: skipped: stopped in step 1", "CopyNote: skipped: stopped before the first attempt", "Stopped before the end.")
	if r, err := report.Read(file); err != nil || r.Count(report.Skipped) != 2 {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestBenchKey checks that the key from the environment is sent but never printed.
func TestBenchKey(t *testing.T) {
	t.Parallel()
	legacy := legacyagent.Handler()
	agent := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "very-secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		legacy.ServeHTTP(w, r)
	}))
	code, out, errs := command(t, []string{"BENCHMARK_KEY=very-secret"}, "bench", agent, "--only", "WriteWord")
	if code != 0 || strings.Contains(out+errs, "very-secret") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestBenchKeyOfAServer checks that a started agent does not get the key.
func TestBenchKeyOfAServer(t *testing.T) {
	t.Parallel()
	code, out, errs := command(t, append(os.Environ(), "BENCH_CHILD=tells", "BENCHMARK_KEY=very-secret", "GRADER_KEY=very-secret"), append([]string{"bench", "--only", "WriteWord"}, childAgent()...)...)
	if code != 0 || strings.Contains(out+errs, "very-secret") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestBenchDocument checks that each command of the document works, starting in an empty folder, and that it contains
// every flag.
func TestBenchDocument(t *testing.T) {
	raw, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	agent, folder := serving(t, legacyagent.Handler()), t.TempDir()
	block := regexp.MustCompile("(?s)```(sh|json)\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	t.Chdir(folder)
	if err := os.MkdirAll("challenges/greet", 0o755); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, b := range block {
		if b[1] == "json" {
			rig.WriteFile(t, "challenges/greet/data.json", b[2])
			continue
		}
		for line := range strings.Lines(b[2]) {
			words := strings.Fields(strings.ReplaceAll(line, "http://127.0.0.1:8000", agent))
			if code, out, errs := command(t, nil, words[1:]...); code != 0 || words[0] != "apbridge" {
				t.Errorf("%s: exit code %d: %s%s", line, code, out, errs)
			}
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("%d commands were found", ran)
	}
	for _, name := range []string{"bench", "compare"} {
		args := []string{"bench", "--help"}
		if name == "compare" {
			args = []string{"bench", "compare", "--help"}
		}
		_, help, _ := command(t, nil, args...)
		for _, flag := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`).FindAllStringSubmatch(help, -1) {
			if flag[1] != "--help" && !strings.Contains(string(raw), "`"+flag[1]) {
				t.Errorf("%s: the document does not tell of %s", name, flag[1])
			}
		}
	}
}

// TestExampleChallenges checks that the challenges of the example are valid.
func TestExampleChallenges(t *testing.T) {
	t.Parallel()
	code, out, errs := command(t, nil, "bench", "--list", "--challenges", "../../examples/benchmark/challenges")
	if code != 0 {
		t.Error(errs)
	}
	holds(t, out, "Greet (", "WordCount (", "LeapYear (coding, pytest, 2m0s)")
}
