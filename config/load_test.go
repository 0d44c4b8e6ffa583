package config

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const key16 = "0123456789abcdef"

// loadText loads a file called bridge.yaml and returns the problems without the folder.
func loadText(t *testing.T, text string, o Options) (*Config, string) {
	t.Helper()
	dir := t.TempDir()
	o.File = filepath.Join(dir, "bridge.yaml")
	if err := os.WriteFile(o.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(o)
	if err != nil {
		return nil, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
	}
	return cfg, ""
}

func TestLoadMergesFileEnvironmentAndFlags(t *testing.T) {
	t.Parallel()
	cfg, problems := loadText(t, `
listen: 127.0.0.1:9000
limits: {body: 4MiB}
agents:
  my-agent:
    url: http://127.0.0.1:8000
    step_timeout: 2m
    headers: {X-Api-Key: "env:TOKEN"}
`, Options{
		Environ: []string{
			"APBRIDGE_LISTEN=127.0.0.1:9001",
			"APBRIDGE_LIMITS__MAX_JSON_DEPTH=12",
			"APBRIDGE_AGENTS__MY_AGENT__CONCURRENCY=3",
			"APBRIDGE_AGENTS__MY_AGENT__ARTIFACTS__EXCLUDE=*.tmp, logs/*",
			"APBRIDGE_AGENTS__MY_AGENT__HEADERS__AUTHORIZATION=Bearer b",
			"APBRIDGE_AGENTS__OTHER__URL=http://127.0.0.1:8001",
			`APBRIDGE_AUTH__KEYS=[{"id":"alice","key":"` + key16 + `","tenant":"acme"}]`,
			"APBRIDGE_RETENTION__THREADS=7d",
			"APBRIDGE_SYNCHRONOUS=",
			"APBRIDGE_PORT_8080_TCP=tcp://10.0.0.1:8080",
			"TOKEN=" + key16,
		},
		Flags: []Setting{
			{Path: []string{"listen"}, Value: "127.0.0.1:9002", From: "flag --listen"},
			{Path: []string{"agents", "third", "url"}, Value: "http://127.0.0.1:8002", From: "flag --agent"},
		},
	})
	if problems != "" {
		t.Fatal(problems)
	}
	want := Default()
	want.Listen = "127.0.0.1:9002"
	want.Limits.Body, want.Limits.MaxJSONDepth = 4<<20, 12
	want.Retention.Threads = 7 * 24 * time.Hour
	want.Auth.Keys = []Key{{ID: "alice", Key: key16, Tenant: "acme"}}
	first, second, third := DefaultAgent(), DefaultAgent(), DefaultAgent()
	first.URL, second.URL, third.URL = "http://127.0.0.1:8000", "http://127.0.0.1:8001", "http://127.0.0.1:8002"
	first.StepTimeout, first.Concurrency = 2*time.Minute, 3
	first.Artifacts.Exclude = []string{"*.tmp", "logs/*"}
	first.Headers = map[string]Secret{"X-Api-Key": key16, "Authorization": "Bearer b"}
	want.Agents = map[string]Agent{"my-agent": first, "other": second, "third": third}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestDefaultAgentIsTheOnlyAgent(t *testing.T) {
	t.Parallel()
	cfg, problems := loadText(t, "agents: {solo: {url: 'http://127.0.0.1:1'}}", Options{})
	if problems != "" || cfg.DefaultAgent != "solo" {
		t.Errorf("default agent %v, problems %s", cfg, problems)
	}
}

func TestDefaultsOfAgentsAreNotShared(t *testing.T) {
	t.Parallel()
	a, b := DefaultAgent(), DefaultAgent()
	a.Headers["X"] = "y"
	if len(b.Headers) != 0 {
		t.Error("two agents share their headers")
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	_, err := Load(Options{File: filepath.Join(t.TempDir(), "none.yaml")})
	if err == nil || !strings.Contains(err.Error(), "none.yaml: cannot be read: no such file") {
		t.Errorf("error %v", err)
	}
}

func TestSecretsFromFilesAndWarnings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var warned []string
	cfg, problems := loadText(t, `
agents:
  a: {url: "http://127.0.0.1:1", headers: {X-One: "file:`+file+`", X-Two: plainly written}}
`, Options{Warn: func(c Problem) { warned = append(warned, c.Key) }})
	if problems != "" {
		t.Fatal(problems)
	}
	want := map[string]Secret{"X-One": "from the file", "X-Two": "plainly written"}
	if diff := cmp.Diff(want, cfg.Agents["a"].Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"agents.a.headers.X-Two"}, warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestReadReportsFiles checks which files are reported, because their change causes a reload. The listener's own
// files are only reported if they are unusable.
func TestReadReportsFiles(t *testing.T) {
	t.Parallel()
	const tls = "tls: {cert: /nonexistent/cert.pem, key: /nonexistent/key.pem, client_ca: /nonexistent/ca.pem}\n"
	file := filepath.Join(t.TempDir(), "bridge.yaml")
	if err := os.WriteFile(file, []byte(tls+"agents: {a: {url: 'http://127.0.0.1:1'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	looked := map[string]bool{}
	if _, err := Load(Options{File: file, Read: func(name string, _ []byte) { looked[name] = true }}); err == nil {
		t.Error("the configuration is accepted")
	}
	want := map[string]bool{file: true, "/nonexistent/cert.pem": true, "/nonexistent/key.pem": true, "/nonexistent/ca.pem": true}
	if !maps.Equal(looked, want) {
		t.Errorf("looked into %v", looked)
	}
}

// TestDialectAliases checks that an alias is replaced by its dialect everywhere.
func TestDialectAliases(t *testing.T) {
	t.Parallel()
	o := Options{
		Environ:  []string{"APBRIDGE_AGENTS__B__DIALECT=thread", "APBRIDGE_AGENTS__B__URL=http://127.0.0.1:2"},
		Flags:    []Setting{{Path: []string{"agents", "a", "url"}, Value: "http://127.0.0.1:1"}, {Path: []string{"agents", "a", "dialect"}, Value: "other"}},
		Dialects: []string{"one", "two"}, Aliases: map[string]string{"thread": "one", "other": "two"},
	}
	cfg, err := Load(o)
	if err != nil || cfg.Agents["a"].Dialect != "two" || cfg.Agents["b"].Dialect != "one" {
		t.Fatalf("%v, %+v", err, cfg)
	}
	o.Aliases = nil
	if _, err := Load(o); err == nil {
		t.Error("an unknown name is accepted")
	}
}
