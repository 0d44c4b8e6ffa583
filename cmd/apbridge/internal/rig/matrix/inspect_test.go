package matrix

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestInspectorListsRuns: the page and its JSON say the same, and the streams of both are there.
func TestInspectorListsRuns(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, oneAgent, legacy())
	b.Wait(`{"messages":[{"role":"user","content":"hi"}]}`).OK()
	told := b.Get("/inspect").OK()
	id := told.Text("runs.0.run_id")
	if told.Text("runs.0.status") != "success" || told.Text("runs.0.agent") != "a" {
		t.Errorf("%s", told)
	}
	page := b.Do("GET", "/inspect", "", asBrowser...).OK()
	policy := page.Header.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "trusted-types 'none'") {
		t.Errorf("policy %s", policy)
	}
	if text := string(page.Body); !rig.Says(text, id, `href="inspect/runs/`+id, "<h1>Runs</h1>", `aria-current="page"`) || strings.Contains(text, `="/`) {
		t.Errorf("%s", text)
	}
	b.Do("GET", "/", "", asBrowser...).Want(t, 200, `<a href="inspect">Inspector</a>`)
	b.Get("/inspect/web/live.js").Want(t, 200, "EventSource")
	for _, path := range []string{"/inspect/web/nothing.js", "/inspect/nothing"} {
		b.Do("GET", path, "", asBrowser...).Want(t, 404)
	}
	if _, frames := b.Stream("GET", "/inspect/events", "", 1); frames[0].Event != "changed" {
		t.Errorf("%v", frames)
	}
}

// TestInspectorIsForThoseWhoMayLook: by rights where clients are served, and by the mode.
func TestInspectorIsForThoseWhoMayLook(t *testing.T) {
	t.Parallel()
	addr := rig.FreeAddress(t)
	const keys = `
auth: {keys: [{id: all, key: 0123456789abcdef0123456789abcdef}, {id: runs, key: 1123456789abcdef0123456789abcdef, rights: [run, read]},
  {id: looks, key: 2123456789abcdef0123456789abcdef, rights: [inspect, read]}, {id: other, key: 3123456789abcdef0123456789abcdef, tenant: acme}]}`
	r := rig.Configured(t, "admin: "+addr+keys+oneAgent, legacy())
	key := func(n string) string { return n + "123456789abcdef0123456789abcdef" }
	r.Do("POST", "/runs/wait", `{"assistant_id":"a","input":{"messages":[]}}`, "X-Api-Key", key("0")).OK()
	for n, want := range map[string]int{"": 401, key("1"): 403, key("2"): 200, key("0"): 200} {
		r.Do("GET", "/inspect", "", "X-Api-Key", n).Want(t, want)
	}
	if got := r.Do("GET", "/inspect", "", "X-Api-Key", key("3")).OK(); len(got.List("runs")) != 0 {
		t.Errorf("another tenant sees %s", got)
	}
	if got := rig.Status(t, "http://"+addr+"/inspect"); got != http.StatusOK {
		t.Errorf("the admin listener: %d", got)
	}
	for mode, want := range map[string][2]int{"admin": {404, 200}, "off": {404, 404}, "{mode: auto}": {200, 200}} {
		addr := rig.FreeAddress(t)
		r := rig.Configured(t, "admin: "+addr+"\ninspector: "+mode+oneAgent, legacy())
		if got := [2]int{rig.Status(t, r.URL+"/inspect"), rig.Status(t, "http://"+addr+"/inspect")}; got != want {
			t.Errorf("%s: %v, want %v", mode, got, want)
		}
	}
}
