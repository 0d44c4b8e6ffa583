package rig

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// Configured starts a bridge that runs until the test ends. In text, $NAME is replaced by the URL of the agent with
// that name, and $DB by the path of a SQLite file. If text does not begin with a database, the bridge has one of the
// kind that the tests use.
func Configured(t *testing.T, text string, agents map[string]http.Handler, environ ...string) *Bridge {
	t.Helper()
	folder := t.TempDir()
	text = strings.ReplaceAll(text, "$DB", filepath.Join(folder, "bridge.db"))
	for name, h := range agents {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		text = strings.ReplaceAll(text, "$"+strings.ToUpper(name), srv.URL)
	}
	if !strings.Contains(text, "listen:") {
		text += "\nlisten: 127.0.0.1:0"
	}
	if !strings.HasPrefix(text, "database:") {
		text += "\ndatabase: " + databaseOf(t)
	}
	if !strings.Contains(text, "shutdown_grace:") {
		text += "\nshutdown_grace: 100ms"
	}
	file := filepath.Join(folder, "bridge.yaml")
	WriteFile(t, file, text)
	cfg, err := config.Load(config.Options{File: file, Environ: environ, Dialects: bridge.Dialects().Names()})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	core, logs := observer.New(zapcore.DebugLevel)
	b := StartLogging(t, cfg, zap.New(core))
	b.Logs = logs
	return b
}

// OneAgent and TwoKeys are configurations for Configured with the agents of Legacy. TwoKeys has two tenants. $ONLY is
// for more settings of the second, and agents follow below.
const (
	OneAgent = "\nagents: {a: {url: $A}}"
	TwoKeys  = `
default_agent: a
auth:
  keys:
    - {id: alice, key: 'env:KEY_A', tenant: acme}
    - {id: bob, key: 'env:KEY_B', tenant: other$ONLY}
agents:
  a: {url: $A}`
	KeyA = "alice-0123456789abcdef"
	KeyB = "bob---0123456789abcdef"
)

// KeyEnviron has the keys for a configuration with KEY_A and KEY_B.
var KeyEnviron = []string{"KEY_A=" + KeyA, "KEY_B=" + KeyB}

// Legacy returns the example of a task/step agent, named "a".
func Legacy() map[string]http.Handler {
	return map[string]http.Handler{"a": legacyagent.Handler()}
}

// Wait runs the default agent and returns the final answer.
func (b *Bridge) Wait(input string, headers ...string) Answer {
	b.T.Helper()
	body, _ := json.Marshal(map[string]string{"input": input})
	return b.Do("POST", "/runs/wait", string(body), headers...)
}

// On runs the default agent on the thread at a path, and waits for its end.
func (b *Bridge) On(at, body string) Answer {
	b.T.Helper()
	return b.Post(at+"/runs/wait", body)
}

// Steps requests steps of the task at a path until the last, at most n.
func (b *Bridge) Steps(at string, n int) (all []Answer) {
	b.T.Helper()
	for range n {
		s := b.Post(at+"/steps", "").Want(b.T, 200)
		if all = append(all, s); s.Member("is_last") == "true" {
			break
		}
	}
	return all
}

// FreeAddress returns a loopback address that was free a moment ago.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TextBetween returns the part of s between the first from and the next to.
func TextBetween(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	found, _, ok := strings.Cut(rest, to)
	if !ok {
		return ""
	}
	return found
}

// WriteFile writes a file that only its owner may read.
func WriteFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
