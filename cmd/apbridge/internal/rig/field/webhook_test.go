package field

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

func legacyBridge(t *testing.T, environ ...string) *rig.Bridge {
	t.Helper()
	return rig.Configured(t, "agents:\n  legacy: {url: $LEGACY}", map[string]http.Handler{"legacy": legacyagent.Handler()}, environ...)
}

func TestWebhookHasOutcomeOfRun(t *testing.T) {
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
	bridge.Do("POST", "/runs/wait", `{"assistant_id":"legacy","input":{"messages":[{"role":"user","content":"hi"}]},"webhook":"`+hook.URL+`"}`).Want(t, 200)
	select {
	case m := <-got:
		if m["status"] != "success" || m["values"] == nil || m["run_id"] == nil || m["run_ended_at"] == nil {
			t.Errorf("webhook body: %v", m)
		}
	case <-time.After(time.Minute):
		t.Fatal("no webhook arrived")
	}
}

func TestWebhookToAPrivateNetworkIsRefusedAtCreation(t *testing.T) {
	t.Parallel()
	bridge := legacyBridge(t)
	for _, hook := range []string{"http://127.0.0.1/", "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/", "file:///etc/passwd", "https://u:p@example.com/"} {
		bridge.Do("POST", "/runs/wait", `{"input":"hi","webhook":"`+hook+`"}`).Want(t, 422)
	}
	if got := bridge.Do("POST", "/runs/search", `{}`).Want(t, 200); got.String() != "[]" {
		t.Errorf("runs: %s", got.String())
	}
}
