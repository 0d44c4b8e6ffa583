package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{
		"python agent.py --port 80 --max-tokens=100 --keyboard=us":                      {"python", "agent.py", "--port", "80", "--max-tokens=100", "--keyboard=us"},
		"agent --key=[hidden] --api-key [hidden] -v":                                    {"agent", "--key=hunter2 and more", "--api-key", "hunter2", "-v"},
		"env TOKEN=[hidden] OPENAI_API_KEY=[hidden] PORT=1 agent":                       {"env", "TOKEN=hunter2", "OPENAI_API_KEY=hunter2", "PORT=1", "agent"},
		"agent --db postgres://[hidden]@h:5432/d http://h/?a=1&key=[hidden]":            {"agent", "--db", "postgres://me:hunter2@h:5432/d", "http://h/?a=1&key=hunter2"},
		"agent http://[hidden]@h http://[hidden]@h":                                     {"agent", "http://me:hunter2%zz/@h", "http://hunter2@h"},
		"curl -H Authorization: [hidden]":                                               {"curl", "-H", "Authorization: Bearer hunter2"},
		"sh -c cd x && PORT=1 TOKEN=[hidden] agent --password [hidden] -v":              {"sh", "-c", "cd x && PORT=1 TOKEN=hunter2 agent --password hunter2 -v"},
		`agent --settings {"model":"m","api_key":"[hidden]","n":{"token": "[hidden]"}}`: {"agent", "--settings", `{"model":"m","api_key":"hun\"hunter2","n":{"token": "hunter2"}}`},
		`sh -c agent '{\"api_key\": [hidden], \"model\": \"m\"}'`:                       {"sh", "-c", `agent '{\"api_key\": \"hunter2\", \"model\": \"m\"}'`},
		"agent {password: [hidden], keys: {pin: 1}, at: http://127.0.0.1:80}":           {"agent", "{password: 'hunter2', keys: {pin: 1}, at: http://127.0.0.1:80}"},
		"curl -H X-Api-Key: [hidden] -H Authorization: [hidden]":                        {"curl", "-H", "X-Api-Key: hunter2", "-H", "Authorization: Basic hunter2"},
		"agent [hidden]":   {"agent", "sk-hunter2hunter2hunter2"},
		"agent --token -v": {"agent", "--token", "-v"},
		"agent --agent graph=http://127.0.0.1:2024": {"agent", "--agent", "graph=http://127.0.0.1:2024"},
	} {
		if got := withoutSecrets(words); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestBenchReportsNoSecrets: neither the command line nor the name of a started agent brings a
// secret into what is written.
func TestBenchReportsNoSecrets(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	written := []string{"--report", in("a.json"), "--junit", in("a.xml"), "--markdown", in("a.md"), "--jsonl", in("a.jsonl")}
	args := append(append([]string{"bench", "--only", "WriteWord"}, written...), childAgent()...)
	code, out, errs := command(t, append(os.Environ(), "BENCH_CHILD=serves"), append(args, "--", "--api-key=hunter2", "http://me:hunter2@h")...)
	if code != 0 || strings.Contains(out+errs, "hunter2") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for i := 1; i < len(written); i += 2 {
		raw, err := os.ReadFile(written[i])
		if err != nil || strings.Contains(string(raw), "hunter2") {
			t.Errorf("%v: %s", err, raw)
		}
	}
	raw, err := os.ReadFile(in("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	holds(t, string(raw), `"command": "apbridge bench --only WriteWord --report `, "-test.run=^TestChildAgent$ -- --api-key=[hidden] http://[hidden]@h")
	file := in("agents.yaml")
	rig.WriteFile(t, file, "agents: {mine: {url: '"+serving(t, legacyagent.Handler())+"/?key=hunter2'}}")
	if _, out, errs := command(t, nil, "bench", "--only", "WriteWord", "--agent", "mine", "--config", file, "--keep", in("kept")); strings.Contains(out+errs, "hunter2") {
		t.Errorf("%s%s", out, errs)
	}
}
