package bridge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// A page that an agent shows on the bridge's address is in a sandbox, and what such a page sends is refused: browsers
// say that it comes from the origin null.
func TestPagesOfAgentsCannotUseTheBridge(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Content-Type-Options", "sniff")
		fmt.Fprint(w, "<script>fetch('/threads/search', {method: 'POST'})</script>")
	})
	r := rig.Configured(t, "agents:\n  a: {url: $A, dialect: taskstep, passthrough: true}", map[string]http.Handler{"a": page})
	got := r.Do("GET", "/agents/a/upstream/page", "").Want(t, 200, "<script>")
	if policy := got.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox ") || strings.Contains(policy, "allow-same-origin") {
		t.Errorf("policy %q", policy)
	}
	if kinds := got.Header.Values("X-Content-Type-Options"); len(kinds) != 1 || kinds[0] != "nosniff" {
		t.Errorf("X-Content-Type-Options %q", kinds)
	}
	r.Do("POST", "/threads/search", "{}", "Origin", "null").Want(t, 403)
	r.Do("GET", "/agents/a/upstream/worker.js", "", "Service-Worker", "script").Want(t, 403)
}
