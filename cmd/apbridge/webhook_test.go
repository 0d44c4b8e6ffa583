package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/apbridge/apbridge/examples/legacyagent"
)

func legacyBridge(t *testing.T, environ ...string) (url string) {
	t.Helper()
	agent := httptest.NewServer(legacyagent.Handler())
	t.Cleanup(agent.Close)
	p := startProgram(t, environ, "serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--agent", "legacy="+agent.URL)
	return p.err.await(t, `"msg":"serving","url":"([^"]+)"`)
}

func TestWebhookTellsHowARunEnded(t *testing.T) {
	t.Parallel()
	got := make(chan map[string]any, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m map[string]any
		_ = json.Unmarshal(body, &m)
		got <- m
	}))
	t.Cleanup(hook.Close)
	bridge := legacyBridge(t, "APBRIDGE_WEBHOOKS__ALLOW_PRIVATE_NETWORKS=true")
	if status, body := post(t, bridge+"/runs/wait", `{"assistant_id":"legacy","input":{"messages":[{"role":"user","content":"hi"}]},"webhook":"`+hook.URL+`"}`); status != 200 {
		t.Fatal(status, body)
	}
	select {
	case m := <-got:
		if m["status"] != "success" || m["values"] == nil || m["run_id"] == nil || m["run_ended_at"] == nil {
			t.Errorf("got %v", m)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no webhook came")
	}
}

func TestE10WebhookToAPrivateNetworkIsRefusedAtCreation(t *testing.T) {
	t.Parallel()
	bridge := legacyBridge(t)
	for _, hook := range []string{"http://127.0.0.1/", "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/", "file:///etc/passwd", "https://u:p@example.com/"} {
		if status, body := post(t, bridge+"/runs/wait", `{"input":"hi","webhook":"`+hook+`"}`); status != 422 {
			t.Errorf("%s: %d %s", hook, status, body)
		}
	}
	if status, body := post(t, bridge+"/runs/search", `{}`); status != 200 || body != "[]" {
		t.Errorf("%d %s", status, body)
	}
}
