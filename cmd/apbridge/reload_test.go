package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

const (
	aliceKey = "alice-0123456789abcdef"
	bobKey   = "bob-0123456789abcdef"
	carolKey = "carol-0123456789abcdef"
)

// reloaded is the built program with a configuration that a test changes.
type reloaded struct {
	t    *testing.T
	file string
	said *rig.Console
	cmd  *exec.Cmd
	url  string
}

// startReloaded runs serve with a configuration, in which $DB is replaced by a new path.
func startReloaded(t *testing.T, text string, environ ...string) *reloaded {
	t.Helper()
	folder := t.TempDir()
	r := &reloaded{t: t, file: filepath.Join(folder, "bridge.yaml"), said: rig.NewConsole()}
	r.write(text)
	r.cmd = exec.CommandContext(t.Context(), rig.Binary(t), "serve", "-c", r.file)
	r.cmd.Env, r.cmd.Stderr = append(append(rig.PlainEnvironment(), "TMPDIR="+folder), environ...), r.said
	r.cmd.Cancel = func() error { return r.cmd.Process.Signal(syscall.SIGTERM) }
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); _ = r.cmd.Wait() })
	r.url = r.said.Await(t, `"msg":"serving","url":"([^"]+)"`)
	return r
}

func (r *reloaded) write(text string) {
	rig.WriteFile(r.t, r.file, "listen: 127.0.0.1:0\nshutdown_grace: 100ms\ndatabase: "+filepath.Join(filepath.Dir(r.file), "bridge.db")+"\n"+text)
}

// reload triggers a reload and returns the log's lines about it.
func (r *reloaded) reload(text, says string) string {
	r.t.Helper()
	r.write(text)
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		r.t.Fatal(err)
	}
	return r.said.Await(r.t, `(\{[^\n]*`+says+`[^\n]*\})`)
}

func (r *reloaded) ask(key, method, path, body string) (int, string) {
	r.t.Helper()
	res := r.open(key, method, path, body)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func (r *reloaded) open(key, method, path, body string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// want sends a request and checks the status and parts of the response.
func (r *reloaded) want(status int, key, method, path, body string, holds ...string) string {
	r.t.Helper()
	got, text := r.ask(key, method, path, body)
	if got != status {
		r.t.Errorf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	for _, h := range holds {
		if !strings.Contains(text, h) {
			r.t.Errorf("%s %s: %s does not hold %q", method, path, text, h)
		}
	}
	return text
}

// startRun starts a run on a new thread and returns the path of both.
func (r *reloaded) startRun(key, agent string) (thread, run string) {
	r.t.Helper()
	var t struct {
		ID string `json:"thread_id"`
	}
	_ = json.Unmarshal([]byte(r.want(200, key, "POST", "/threads", `{}`)), &t)
	var made struct {
		ID string `json:"run_id"`
	}
	_ = json.Unmarshal([]byte(r.want(200, key, "POST", "/threads/"+t.ID+"/runs", `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":"hi"}]}}`)), &made)
	return "/threads/" + t.ID, "/threads/" + t.ID + "/runs/" + made.ID
}

// counted counts the requests for a step.
func counted(n *atomic.Int64, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rig.StepPosts(r) {
			n.Add(1)
		}
		h.ServeHTTP(w, r)
	})
}

const twoKeys = "auth: {keys: [{id: alice, key: " + aliceKey + "}, {id: bob, key: " + bobKey + "}]}\n"

// TestReload checks that agents, keys, limits and origins change while the bridge serves. A run continues with the old
// agent, and a stream of a removed key ends.
func TestReload(t *testing.T) {
	t.Parallel()
	var first, second atomic.Int64
	gate := rig.NewGate(counted(&first, legacyagent.Handler()), rig.StepPosts, 1)
	old, other := serving(t, gate), serving(t, counted(&second, legacyagent.Handler()))
	r := startReloaded(t, twoKeys+"agents: {a: {url: '"+old+"', dialect: taskstep}}\n")
	_, run := r.startRun(aliceKey, "a")
	gate.Await(t)
	thread, _ := r.startRun(bobKey, "a")
	stream := r.open(bobKey, "GET", thread+"/stream", "")
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	line := r.reload("auth: {keys: [{id: alice, key: "+aliceKey+"}, {id: carol, key: "+carolKey+"}]}\n"+
		"agents: {a: {url: '"+other+"', dialect: taskstep, headers: {X-Token: a-secret-value}}, b: {url: '"+other+"'}}\nlimits: {body: 1KiB}\ncors: {origins: [loopback]}\n", "configuration reloaded")
	holds(t, line, `"changed":["default_agent","agents.a.url","agents.a.headers.X-Token","agents.b","limits.body","auth.keys.bob","auth.keys.carol","cors.origins"]`)
	if strings.Contains(line, "secret") || strings.Contains(line, "0123456789") {
		t.Errorf("it tells secrets: %s", line)
	}
	over := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, lines); over <- err }()
	select {
	case <-over:
	case <-time.After(adaptertest.Patience):
		t.Fatal("the stream of a key that is gone goes on")
	}
	r.want(401, bobKey, "GET", thread, "")
	r.want(404, carolKey, "GET", "/threads/0190e1f2-0000-7000-8000-000000000001", "")
	r.want(413, carolKey, "POST", "/threads", `{"metadata":{"a":"`+strings.Repeat("x", 1100)+`"}}`, "limits.body")
	for _, agent := range []string{"a", "b"} {
		before := second.Load()
		r.want(200, carolKey, "POST", "/runs/wait", `{"assistant_id":"`+agent+`","input":"hi"}`)
		if second.Load() == before {
			t.Errorf("%s is not where the configuration says", agent)
		}
	}
	gate.Open()
	r.want(200, aliceKey, "GET", run+"/join", "")
	r.want(200, aliceKey, "GET", run, "", `"status":"success"`)
	if first.Load() < 2 {
		t.Errorf("the first agent was asked for %d steps", first.Load())
	}
}

// TestReloadOfWhatIsBroken checks that an invalid configuration changes nothing and is reported once for each attempt,
// and that keys that need a restart are named.
func TestReloadOfWhatIsBroken(t *testing.T) {
	t.Parallel()
	agent, admin := serving(t, legacyagent.Handler()), rig.FreeAddress(t)
	sound := twoKeys + "agents: {a: {url: '" + agent + "'}}\nadmin: " + admin + "\n"
	r := startReloaded(t, sound)
	metric := func(want string) {
		t.Helper()
		res, err := http.Get("http://" + admin + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		holds(t, string(body), want, "apbridge_config_reload_timestamp_seconds ")
	}
	works := func() {
		t.Helper()
		r.want(200, aliceKey, "POST", "/runs/wait", `{"input":"hi"}`)
		r.want(401, carolKey, "GET", "/threads/x", "")
	}
	metric("apbridge_config_reload_success 1\n")
	for text, says := range map[string]string{
		"agents: [\n": "bridge.yaml: is not YAML",
		"agents: {a: {url: nonsense}}\nauth: {keys: [{id: carol, key: " + carolKey + "}]}\n":                 "agents.a.url: cannot be",
		"agents: {a: {url: '" + agent + "'}}\nlimits: {depht: 1}\nauth: {keys: [{id: carol, key: short}]}\n": "limits.depht: there is no such key",
	} {
		line := r.reload(text, says)
		holds(t, line, `"level":"error"`, "could not reload configuration; keeping the previous one")
		metric("apbridge_config_reload_success 0\n")
		works()
	}
	line := r.reload(sound+"synchronous: normal\nlimits: {database: 1GiB, max_json_depth: 7}\n", "need a restart")
	holds(t, line, `"level":"warn"`, `"changed":["limits.max_json_depth"]`, `"needs_restart":["synchronous","limits.database"]`)
	metric("apbridge_config_reload_success 1\n")
	works()
	holds(t, r.reload(sound, `"configuration reloaded"`), `"changed":["limits.max_json_depth"]`)
	r.reload(sound, "configuration reloaded; nothing changed")
}

// TestReloadWithoutAnAgent checks that the active run of a removed agent continues, that the waiting one ends and a new
// one is refused with its name. When the agent is back, the active run still uses its slot.
func TestReloadWithoutAnAgent(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	old, other := serving(t, gate), serving(t, legacyagent.Handler())
	b := "b: {url: '" + other + "'}"
	r := startReloaded(t, "agents: {a: {url: '"+old+"', dialect: taskstep, concurrency: 1}, "+b+"}\n")
	_, works := r.startRun("", "a")
	gate.Await(t)
	_, waits := r.startRun("", "a")
	holds(t, r.reload("agents: {"+b+"}\n", "configuration reloaded"), `"agents.a"`)
	r.want(200, "", "GET", waits+"/join", "", "Agent a is no longer in the configuration")
	r.want(200, "", "GET", waits, "", `"status":"error"`)
	r.want(404, "", "POST", "/runs/wait", `{"assistant_id":"a","input":"hi"}`, `No assistant found for \"a\". Known agents: b.`)
	r.reload("agents: {a: {url: '"+other+"', dialect: taskstep, concurrency: 1}, "+b+"}\nlimits: {max_json_depth: 7}\n", "limits.max_json_depth")
	_, later := r.startRun("", "a")
	r.want(200, "", "GET", later+"/explain", "", `agents.a.concurrency: 1`) // the active run counts
	gate.Open()
	for _, run := range []string{works, later} {
		r.want(200, "", "GET", run+"/join", "")
		r.want(200, "", "GET", run, "", `"status":"success"`)
	}
}

// TestReloadOfConcurrency checks that active runs count, so that no more than the new number are active at a time.
func TestReloadOfConcurrency(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	at := serving(t, gate)
	agent := func(n string) string {
		return "agents: {a: {url: '" + at + "', dialect: taskstep, concurrency: " + n + "}}\n"
	}
	r := startReloaded(t, agent("2"))
	_, works := r.startRun("", "a")
	gate.Await(t)
	r.reload(agent("1"), "configuration reloaded")
	_, waits := r.startRun("", "a")
	r.want(200, "", "GET", waits+"/explain", "", `agents.a.concurrency: 1`)
	r.reload(agent("2")+"limits: {max_json_depth: 7}\n", "limits.max_json_depth")
	r.want(200, "", "GET", waits+"/join", "")
	gate.Open()
	r.want(200, "", "GET", works+"/join", "")
}

// TestReloadOfTheLog checks that the log's level is that of the configuration if it has changed there, and otherwise
// the one set on the admin listener.
func TestReloadOfTheLog(t *testing.T) {
	t.Parallel()
	agent := "agents: {a: {url: 'http://127.0.0.1:1'}}\n"
	r := startReloaded(t, agent)
	r.reload(agent+"log: {level: debug}\n", `"changed":\["log.level"\]`)
	rig.Eventually(t, "a line of level debug", func() bool { // the line of the reload comes before it
		if status := rig.Status(t, r.url+"/healthz"); status != 200 {
			t.Errorf("healthz: %d", status)
		}
		return regexp.MustCompile(`"level":"debug".*"path":"/healthz"`).MatchString(r.said.String())
	})
	r.reload(agent+"log: {level: debug, format: console}\n", `"log.format"`)
	r.write(agent + "log: {level: debug}\n")
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.said.Await(t, `INFO\s+(configuration reloaded)`)
}

// TestAChangedFileIsReloaded checks that changes are noticed without a signal: those of a ConfigMap, whose files are
// links to a folder that is replaced, and of a file with a secret.
func TestAChangedFileIsReloaded(t *testing.T) {
	t.Parallel()
	folder, agent := t.TempDir(), serving(t, legacyagent.Handler())
	deploy := func(version, body, key string) {
		at := filepath.Join(folder, version)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		rig.WriteFile(t, filepath.Join(at, "key"), key)
		rig.WriteFile(t, filepath.Join(at, "bridge.yaml"), "agents: {a: {url: '"+agent+"'}}\nauth: {keys: [{id: alice, key: 'file:"+filepath.Join(folder, "now", "key")+"'}]}\nlimits: {body: "+body+"}\n")
		if err := os.Symlink(version, filepath.Join(folder, "next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(folder, "next"), filepath.Join(folder, "now")); err != nil {
			t.Fatal(err)
		}
	}
	deploy("one", "1MiB", aliceKey)
	p := startProgram(t, nil, "serve", "-c", filepath.Join(folder, "now", "bridge.yaml"), "--listen", "127.0.0.1:0", "--database", filepath.Join(folder, "a.db"))
	p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	deploy("two", "1KiB", aliceKey)
	p.err.Await(t, `"changed":\["(limits.body)"\]`)
	deploy("three", "1KiB", bobKey)
	p.err.Await(t, `"changed":\["(auth.keys.alice.key)"\]`)
	deploy("four", "none", bobKey)
	p.err.Await(t, `"level":"error".*(limits.body: )`)
	deploy("five", "2KiB", bobKey)
	p.err.Await(t, `(?s)"level":"error".*"changed":\["(limits.body)"\]`)
}
