package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/process"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// TestReadmeUse is a new user who runs the blocks of the README below "Use it" in a shell, one after the other. A block
// that serves keeps running in its shell, and later blocks use another one. Only addresses, the folder and the example
// agents are specific to the test.
func TestReadmeUse(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	u := &newUser{t: t, folder: t.TempDir(), ours: strings.NewReplacer("bin/apbridge", rig.Binary(t), "http://127.0.0.1:8000", serving(t, legacyagent.Handler()),
		"http://127.0.0.1:2024", serving(t, threadagent.Handler()), "0.0.0.0:8080", "0.0.0.0:0")}
	served, called := 0, 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(readmeSection(t, "Use it"), -1) {
		text := u.withoutAgents(block[1])
		switch {
		case text == "make build\n": // the test has a binary
		case strings.Contains(text, "bin/apbridge serve "):
			u.serve(text)
			served++
		default:
			if out := u.does(text); strings.Contains(out, `"code":`) || !strings.Contains(out, "hi") {
				t.Errorf("%s\n%s", text, out)
			}
			called++
		}
	}
	if served != 3 || called < 3 {
		t.Errorf("%d blocks that serve, %d others", served, called)
	}
}

// TestReadmeNamesFlagsThatThereAre checks that the commands in its sentences have the flags with which they are
// written.
func TestReadmeNamesFlagsThatThereAre(t *testing.T) {
	t.Parallel()
	for _, line := range regexp.MustCompile("`bin/apbridge ([^`]+)`").FindAllStringSubmatch(readmeSection(t, "Use it"), -1) {
		args := append(strings.Fields(line[1]), "--help")
		if code, _, errs := command(t, nil, args...); code != 0 {
			t.Errorf("apbridge %s: exit code %d: %s", line[1], code, errs)
		}
	}
}

// readmeSection returns the README's text below a heading of the second level.
func readmeSection(t *testing.T, heading string) string {
	t.Helper()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(raw), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// newUser types the commands of a document.
type newUser struct {
	t      *testing.T
	folder string
	ours   *strings.Replacer
	bridge string // the URL of the bridge started last
	ends   func() // ends that bridge
}

var startsExample = regexp.MustCompile(`(?m)^go run \./(examples/\w+/cmd) -listen [\d.:]+ &\n`)

// withoutAgents removes the lines that start example agents, which must be present.
func (u *newUser) withoutAgents(text string) string {
	for _, line := range startsExample.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat("../../" + line[1] + "/main.go"); err != nil {
			u.t.Error(err)
		}
	}
	return startsExample.ReplaceAllString(text, "")
}

func (u *newUser) shell(text string, environ ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), "bash", "-ec", text)
	cmd.Dir, cmd.Env = u.folder, append(rig.PlainEnvironment(), environ...)
	return cmd
}

// serve starts a bridge on a free port, in place of the previous one.
func (u *newUser) serve(text string) {
	u.t.Helper()
	if u.ends != nil {
		u.ends()
	}
	cmd, said := u.shell(u.ours.Replace(text), "APBRIDGE_LISTEN=127.0.0.1:0"), rig.NewConsole()
	process.Group(cmd) // a terminal sends Ctrl-C to all of it
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.ends = sync.OnceFunc(func() { process.Interrupt(cmd); _ = cmd.Wait() })
	u.t.Cleanup(u.ends)
	u.bridge = said.Await(u.t, `"msg":"serving","url":"([^"]+)"`)
}

// does returns the output of a block that must succeed.
func (u *newUser) does(text string) string {
	u.t.Helper()
	out, err := u.shell(strings.ReplaceAll(u.ours.Replace(text), "http://127.0.0.1:8080", u.bridge), "APBRIDGE_URL="+u.bridge).CombinedOutput()
	if err != nil {
		u.t.Errorf("%s\n%v", text, err)
	}
	return string(out)
}

// runBy maps each document with commands (blocks of sh) to the test that runs them all, or to the reason why none can.
var runBy = map[string]string{
	"README.md":                    "TestReadmeUse, TestReadmeCommands, TestReadmeNamesFlagsThatThereAre",
	"docs/a2a.md":                  "TestGuides",
	"docs/access.md":               "TestGuides",
	"docs/approval.md":             "TestGuides",
	"docs/benchmarks.md":           "TestBenchDocument",
	"docs/configuration.md":        "TestConfigurationGuide",
	"docs/conformance.md":          "TestConformanceGuide",
	"docs/headers.md":              "TestGuides",
	"docs/inspector.md":            "TestRecordingGuide",
	"docs/limits.md":               "TestGuides",
	"docs/memory.md":               "TestGuides",
	"docs/metrics.md":              "TestGuides",
	"docs/operations.md":           "TestOperationsGuide",
	"docs/privacy.md":              "TestGuides",
	"docs/store.md":                "TestGuides",
	"docs/topics.md":               "TestTopicGuide",
	"docs/tracing.md":              "TestTracesFollowTheEnvironment",
	"docs/troubleshooting.md":      "TestGuides",
	"CONTRIBUTING.md":              "minutes, and a machine that does nothing else: make bench",
	"examples/benchmark/README.md": "TestExampleChallenges, which judges with these challenges",
	"examples/chat/README.md":      "make browser, which uses the page",
}

// shown are lines in blocks other than sh that no test takes from the document, each with the reason.
var shown = map[string]string{
	"$ docker run -d --name jaeger -p 16686:16686 -p 4318:4318 cr.jaegertracing.io/jaegertracing/jaeger:2.9.0":                           "a collector of the tests takes its place",
	"$ OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_SERVICE_NAME=apbridge apbridge serve --agent legacy=http://127.0.0.1:8000": "TestTracesFollowTheEnvironment, with a collector of its own",
	`$ curl -s http://127.0.0.1:8080/runs/wait -H 'content-type: application/json' -d '{"assistant_id":"legacy","input":"hi"}'`:          "TestOneTraceFromRequestToAgent makes such a request",
	"$ go run ./examples/legacyagent/cmd -listen 127.0.0.1:8000 &":                                                                       "TestGuides has the agent on a port of its own",
	"$ go run ./examples/forgetful/cmd -listen 127.0.0.1:8001 &":                                                                         "TestGuides has the agent on a port of its own",
	"$ go run ./cmd/apbridge serve --config apbridge.yaml":                                                                               "TestGuides serves with the document's configuration",
	`$ curl -H "x-api-key: $TOKEN" -H 'Content-Type: application/json' -d '{"query": "tea"}' $URL/store/items/search`:                    "an agent does it, with the token of its run: TestAgentsUseTheStoreWhileTheyRun",
}

// TestEveryCommandIsRun checks that each document with commands is in runBy with an existing test, and those of
// TestGuides in its table, too.
func TestEveryCommandIsRun(t *testing.T) {
	t.Parallel()
	sources, guides := testSources(t), guideFiles()
	shell := regexp.MustCompile("(?m)^ *```(sh|bash|shell|console|zsh)\\b")
	seen := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", "examples/*/*.md"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !shell.Match(raw) {
				continue
			}
			seen++
			name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
			if runBy[name] == "" {
				t.Errorf("no test runs the commands of %s: add it to TestGuides, or say why not in runBy", name)
			}
			if runBy[name] == "TestGuides" && !slices.Contains(guides, filepath.Base(name)) {
				t.Errorf("%s is not in the table of TestGuides", name)
			}
			for _, test := range regexp.MustCompile(`Test\w+`).FindAllString(runBy[name], -1) {
				if !sources[test] {
					t.Errorf("%s: there is no %s", name, test)
				}
			}
			for _, block := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
				for line := range strings.Lines(block[2]) {
					if block[1] != "sh" && shell.MatchString("```"+block[1]) && shown[strings.TrimSpace(line)] == "" {
						t.Errorf("%s: no test runs %s", name, line)
					}
				}
			}
		}
	}
	if seen != len(runBy) {
		t.Errorf("%d documents with commands, and %d of runBy", seen, len(runBy))
	}
}
