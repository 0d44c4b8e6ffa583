package matrix

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestOwnersShareNoIdempotencyKeys checks that a key with scope own neither gets the result of another owner's request
// with the same Idempotency-Key nor is refused because of it, and that it gets its own result again.
func TestOwnersShareNoIdempotencyKeys(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, `
default_agent: a
auth:
  keys:
    - {id: carol, key: `+keyOfCarol+`, tenant: acme, scope: own}
    - {id: dave, key: `+keyOfDave+`, tenant: acme, scope: own}
agents:
  a: {url: $A}`, map[string]http.Handler{"a": adaptertest.NewStepAgent(adaptertest.Plain)})
	for path, tt := range map[string]struct{ id, one, other string }{
		"/runs":                  {"run_id", `{"input":"x"}`, `{"input":"y"}`},
		"/runs/batch":            {"0.run_id", `[{"input":"x"}]`, `[{"input":"y"}]`},
		"/threads":               {"thread_id", `{}`, `{"metadata":{"a":1}}`},
		"/runs/crons":            {"cron_id", `{"assistant_id":"a","schedule":"0 0 1 1 *","input":"x"}`, `{"assistant_id":"a","schedule":"0 0 1 1 *","input":"y"}`},
		"/ap/v1/agent/tasks":     {"task_id", `{"input":"x"}`, `{"input":"y"}`},
		"/agents/a/ap/v2/topics": {"topic_id", `{}`, `{"name":"y"}`},
	} {
		seen := map[any]string{}
		for _, key := range []string{keyOfCarol, keyOfDave} {
			for _, body := range []string{tt.one, tt.one} {
				got := b.Do("POST", path, body, "X-Api-Key", key, "Idempotency-Key", "same")
				if got.Status > 299 || seen[got.At(tt.id)] != "" && seen[got.At(tt.id)] != key {
					t.Errorf("%s: %d %s", path, got.Status, got.Body)
				}
				seen[got.At(tt.id)] = key
			}
			if got := b.Do("POST", path, tt.other, "X-Api-Key", key, "Idempotency-Key", "same"); got.Status != 422 {
				t.Errorf("%s: another request under the key: %d %s", path, got.Status, got.Body)
			}
		}
	}
}
