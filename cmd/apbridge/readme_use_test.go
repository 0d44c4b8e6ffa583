package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// TestReadmeUse does what the README shows below "Use it": a block that serves is started in front of an example agent,
// and one that calls a bridge calls the one that was started last.
func TestReadmeUse(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(raw), "\n## Use it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	agents := strings.NewReplacer("http://127.0.0.1:8000", serving(t, legacyagent.Handler()), "http://127.0.0.1:2024", serving(t, threadagent.Handler()))
	bridge, called := "", 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		text := agents.Replace(block[1])
		if strings.Contains(text, "bin/apbridge serve ") {
			bridge = servedAs(t, text)
			continue
		}
		out, err := exec.CommandContext(t.Context(), "bash", "-ec", strings.ReplaceAll(text, "http://127.0.0.1:8080", bridge)).CombinedOutput()
		if err != nil || strings.Contains(string(out), `"code":`) || !strings.Contains(string(out), "hi") && !strings.Contains(string(out), "Ada") {
			t.Errorf("%s\n%v: %s", text, err, out)
		}
		called++
	}
	if called < 2 || !strings.Contains(section, "serve --listen 0.0.0.0:8080") {
		t.Errorf("%d blocks that call a bridge", called)
	}
}

// servedAs starts a line of variables and bin/apbridge serve, on an address and with a database of the test's own, and
// returns where it serves.
func servedAs(t *testing.T, line string) string {
	t.Helper()
	before, after, _ := strings.Cut(strings.TrimSpace(line), "bin/apbridge ")
	args := strings.Fields(after)
	if at := slices.Index(args, "--listen"); at > 0 {
		args[at+1] = strings.Replace(args[at+1], ":8080", ":0", 1)
	} else {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	var environ []string
	for word := range strings.FieldsSeq(strings.ReplaceAll(before, "'", "")) {
		environ = append(environ, word)
	}
	environ = append(environ, "APP_KEY=0123456789abcdef")
	p := startProgram(t, environ, append(args, "--database", filepath.Join(t.TempDir(), "a.db"))...)
	return p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
}

// runBy has for each document with commands (blocks of sh) the test that runs them all, or why none can.
var runBy = map[string]string{
	"README.md":                    "TestReadmeUse, TestReadmeCommands",
	"docs/access.md":               "TestGuides",
	"docs/approval.md":             "TestGuides",
	"docs/benchmarks.md":           "TestBenchDocument",
	"docs/configuration.md":        "TestConfigurationGuide",
	"docs/conformance.md":          "TestConformanceGuide",
	"docs/headers.md":              "TestGuides",
	"docs/limits.md":               "TestGuides",
	"docs/memory.md":               "TestGuides",
	"docs/metrics.md":              "TestGuides",
	"docs/operations.md":           "TestOperationsGuide",
	"docs/privacy.md":              "TestGuides",
	"docs/recording.md":            "TestRecordingGuide",
	"docs/store.md":                "TestGuides",
	"docs/topics.md":               "TestTopicGuide",
	"docs/tracing.md":              "TestTracesAsTheEnvironmentSays",
	"docs/troubleshooting.md":      "TestGuides",
	"CONTRIBUTING.md":              "minutes, and a machine that does nothing else: make bench",
	"examples/benchmark/README.md": "TestExampleChallenges, which judges with these challenges",
	"examples/chat/README.md":      "make browser, which uses the page",
}

// shown are lines in blocks of other names than sh, which no test takes from the document, each with the reason.
var shown = map[string]string{
	"$ docker run -d --name jaeger -p 16686:16686 -p 4318:4318 cr.jaegertracing.io/jaegertracing/jaeger:2.9.0":                           "a collector of the tests takes its place",
	"$ OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_SERVICE_NAME=apbridge apbridge serve --agent legacy=http://127.0.0.1:8000": "TestTracesAsTheEnvironmentSays, with a collector of its own",
	`$ curl -s http://127.0.0.1:8080/runs/wait -H 'content-type: application/json' -d '{"assistant_id":"legacy","input":"hi"}'`:          "TestOneTraceFromRequestToAgent makes such a request",
	"$ go run ./examples/legacyagent/cmd -listen 127.0.0.1:8000 &":                                                                       "TestGuides has the agent on a port of its own",
	"$ go run ./examples/forgetful/cmd -listen 127.0.0.1:8001 &":                                                                         "TestGuides has the agent on a port of its own",
	"$ go run ./cmd/apbridge serve --config apbridge.yaml":                                                                               "TestGuides serves with the document's configuration",
	`$ curl -H "x-api-key: $TOKEN" -H 'Content-Type: application/json' -d '{"query": "tea"}' $URL/store/items/search`:                    "an agent does it, with the token of its run: TestAgentsUseTheStoreWhileTheyRun",
}

// TestEveryCommandIsRun: a document with commands stands in runBy, which names tests that there are; those of
// TestGuides stand in its table, too.
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
