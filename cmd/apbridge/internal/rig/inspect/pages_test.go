package inspect

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// twoAgents configures the agents alpha and beta. alice may use both, bob only beta, carol only the metrics.
const twoAgents = `
default_agent: alpha
auth:
  keys:
    - {id: alice, key: 'env:KEY_A', tenant: acme}
    - {id: bob, key: 'env:KEY_B', tenant: other, agents: [beta]}
    - {id: carol, key: carol-0123456789abcdef, rights: [metrics]}
agents:
  alpha: {url: $A}
  beta: {url: $A, dialect: taskstep}`

var asBrowser = []string{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}

// show requests a page like a browser.
func show(t *testing.T, r *rig.Bridge, path string, headers ...string) rig.Answer {
	t.Helper()
	return r.Do("GET", path, "", append(headers, asBrowser...)...).Want(t, 200, "<!doctype html>")
}

// TestPagesShowOnlyTheAgentsOfTheKey checks that callers without a key, or with one for another purpose, see no agents.
func TestPagesShowOnlyTheAgentsOfTheKey(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, twoAgents, rig.Legacy(), rig.KeyEnviron...)
	for what, c := range map[string]struct {
		key, notice string
		sees        []string
	}{
		"no key":        {"", "x-api-key", nil},
		"a wrong key":   {"wrong-0123456789abcdef", "key", nil},
		"metrics alone": {"carol-0123456789abcdef", "no right to read", nil},
		"all agents":    {rig.KeyA, "", []string{"alpha", "beta"}},
		"one agent":     {rig.KeyB, "", []string{"beta"}},
	} {
		var headers []string
		if c.key != "" {
			headers = []string{"X-Api-Key", c.key}
		}
		for _, path := range []string{"/", "/docs"} {
			text := show(t, r, path, headers...).String()
			for _, name := range []string{"alpha", "beta"} {
				if got := strings.Contains(text, name); got != strings.Contains(strings.Join(c.sees, " "), name) {
					t.Errorf("%s: %s shows %s: %v", what, path, name, got)
				}
			}
			if shown := strings.Contains(text, "No agents are shown"); shown != (c.notice != "") || !strings.Contains(text, c.notice) {
				t.Errorf("%s: %s has the sentence about hidden agents: %v", what, path, shown)
			}
			for _, secret := range []string{rig.KeyA, rig.KeyB, c.key} {
				if secret != "" && strings.Contains(text, secret) {
					t.Errorf("%s: %s shows a key", what, path)
				}
			}
		}
		var told struct {
			Notice string
			Agents []struct{ Name, State string }
		}
		if err := json.Unmarshal([]byte(r.Do("GET", "/", "", headers...).Want(t, 200).String()), &told); err != nil {
			t.Fatal(err)
		}
		if len(told.Agents) != len(c.sees) || (told.Notice != "") != (c.notice != "") {
			t.Errorf("%s: as JSON: %+v", what, told)
		}
	}
	metrics := r.Do("GET", "/metrics", "", "X-Api-Key", "carol-0123456789abcdef").Want(t, 200).String()
	if !strings.Contains(metrics, `apbridge_auth_failures_total{reason="wrong"} 3`) || strings.Contains(metrics, `apbridge_auth_failures_total{reason="missing"} `) &&
		!strings.Contains(metrics, `apbridge_auth_failures_total{reason="missing"} 0`) {
		t.Error("refused keys on pages: want the wrong one counted and not the missing one")
	}
}

// TestPagesAsHTTPResponses checks the responses for caches, for HEAD and for clients that accept gzip, and the methods.
func TestPagesAsHTTPResponses(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, rig.OneAgent, rig.Legacy())
	for _, path := range []string{"/", "/docs"} {
		page := show(t, r, path)
		if policy := page.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if vary := strings.Join(page.Header.Values("Vary"), ","); !strings.Contains(vary, "Accept,") || !strings.Contains(vary, "X-Api-Key") {
			t.Errorf("%s: Vary: %s", path, vary)
		}
		head := r.Do("HEAD", path, "", asBrowser...).Want(t, 200)
		if head.String() != "" || head.Header.Get("ETag") == "" {
			t.Errorf("%s: HEAD: %v %q", path, head.Header, head.String())
		}
		r.Do("GET", path, "", append([]string{"If-None-Match", page.Header.Get("ETag")}, asBrowser...)...).Want(t, 304)
		packed := r.Do("GET", path, "", append([]string{"Accept-Encoding", "gzip"}, asBrowser...)...).Want(t, 200)
		if coding := packed.Header.Get("Content-Encoding"); coding != "gzip" || packed.String() != page.String() {
			t.Errorf("%s: %d bytes of %d as %q", path, len(packed.String()), len(page.String()), coding)
		}
		r.Do("POST", path, "{}").Want(t, 405)
		for _, bad := range []string{"<script", "<img", "<link rel=\"stylesheet", "onclick", "style=", "https://"} {
			if strings.Contains(page.String(), bad) {
				t.Errorf("%s contains %q", path, bad)
			}
		}
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		got := r.Do("GET", "/", "", "Accept", accept).Want(t, 200, `"name":"apbridge"`)
		if kind := got.Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("Accept: %s: %s", accept, kind)
		}
	}
}

var hrefs = regexp.MustCompile(`href="([^"]*)"`)

// TestPagesHaveNoBrokenLinks checks that the target of every link of a page exists, including its fragment.
func TestPagesHaveNoBrokenLinks(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, rig.OneAgent, rig.Legacy())
	for _, path := range []string{"/", "/docs"} {
		text := show(t, r, path).String()
		links := hrefs.FindAllStringSubmatch(text, -1)
		for _, link := range links {
			to, part, _ := strings.Cut(link[1], "#")
			if to != "" && !strings.HasPrefix(to, "data:") { // the icon
				r.Do("GET", "/"+strings.TrimPrefix(to, "./"), "").Want(t, 200)
			}
			if part != "" && !strings.Contains(text, `id="`+part+`"`) {
				t.Errorf("%s links to #%s, which does not exist", path, part)
			}
		}
		if len(links) < 5 {
			t.Errorf("%s has %d links", path, len(links))
		}
	}
}

// TestPagesShowTheCallersURL checks that pages show the URL that the caller used. Headers of a proxy are used if the
// proxy is trusted and the headers are valid.
func TestPagesShowTheCallersURL(t *testing.T) {
	t.Parallel()
	const hosts = "hosts: [bridge.test]\n"
	said := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example.org, inner", "X-Forwarded-Prefix", "/bridge/"}
	for what, c := range map[string]struct {
		yaml    string
		headers []string
		want    string
	}{
		"its name":           {hosts, []string{"Host", "bridge.test:81"}, "http://bridge.test:81"},
		"a trusted proxy":    {"trusted_proxies: [127.0.0.1]\n", said, "https://agents.example.org/bridge"},
		"another proxy":      {hosts, append([]string{"Host", "bridge.test"}, said...), "http://bridge.test"},
		"what is no host":    {hosts + "trusted_proxies: [127.0.0.1]\n", []string{"Host", "bridge.test", "X-Forwarded-Host", "a'$(id)"}, "http://bridge.test"},
		"what is no prefix":  {hosts + "trusted_proxies: [127.0.0.1]\n", []string{"Host", "bridge.test", "X-Forwarded-Prefix", "/a b\"<"}, "http://bridge.test"},
		"what is no scheme":  {hosts + "trusted_proxies: [127.0.0.1]\n", []string{"Host", "bridge.test", "X-Forwarded-Proto", "javascript"}, "http://bridge.test"},
		"a prefix with dots": {hosts + "trusted_proxies: [127.0.0.1]\n", []string{"Host", "bridge.test", "X-Forwarded-Prefix", "//evil"}, "http://bridge.test"},
	} {
		r := rig.Configured(t, c.yaml+"agents: {a: {url: $A}}", rig.Legacy())
		for _, path := range []string{"/", "/docs"} {
			text := show(t, r, path, c.headers...).String()
			if !strings.Contains(text, "curl -s "+c.want+"/runs/wait ") {
				t.Errorf("%s: %s says %q", what, path, rig.TextBetween(text, "curl -s ", " "))
			}
		}
		if got := r.Do("GET", "/", "", c.headers...).Want(t, 200).Member("docs"); got != c.want+"/docs" {
			t.Errorf("%s: docs at %s", what, got)
		}
	}
}

// TestDocsPage checks that the page has the whole loss table, and each documented route with an example.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, strings.Replace(rig.TwoKeys, "$ONLY", "", 1), rig.Legacy(), rig.KeyEnviron...)
	text := show(t, r, "/docs").Want(t, 200, "/openapi/threadrun.json", "/openapi/taskstep.json", "/openapi/topics.json", "config.recursion_limit").String()
	if n := strings.Count(text, "<tr class="); n != len(bridge.Dialects().LossTable()) {
		t.Errorf("%d rows of the loss table, want %d", n, len(bridge.Dialects().LossTable()))
	}
	routes := 0
	for _, d := range bridge.Dialects().Documents() {
		var s struct {
			Paths map[string]map[string]struct{}
		}
		if err := json.Unmarshal(d.Text, &s); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		for path, operations := range s.Paths {
			for method := range operations {
				routes++
				if want := `aria-label="Example of ` + strings.ToUpper(method) + " " + path + `"`; !strings.Contains(text, want) {
					t.Errorf("%s %s of %s has no example", method, path, d.Name)
				}
			}
		}
	}
	if n := strings.Count(text, "<summary><code><span"); n != routes {
		t.Errorf("%d routes are shown, want %d", n, routes)
	}
	order := []string{`id="curl"`, `id="python"`, `id="javascript"`, `id="agents"`, `id="losses"`, `class="dropped"`, `class="exact"`, `id="routes"`}
	for i, at := 0, -1; i < len(order); i++ {
		next := strings.Index(text, order[i])
		if next <= at {
			t.Errorf("%s does not follow the route before it", order[i])
		}
		at = next
	}
}

// snippets returns the example programs of /docs by their ids.
func snippets(t *testing.T, r *rig.Bridge, headers ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, found := range regexp.MustCompile(`(?s)<figure id="([^"]+)">.*?<code>(.*?)</code>`).FindAllStringSubmatch(show(t, r, "/docs", headers...).String(), -1) {
		all[found[1]] = html.UnescapeString(found[2])
	}
	return all
}

// TestPageShowsUnavailableAgent checks that a page shows an unavailable agent next to an available one.
func TestPageShowsUnavailableAgent(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, "agents: {here: {url: $A}, gone: {url: 'http://127.0.0.1:9', dialect: taskstep}}", map[string]http.Handler{"a": rig.Legacy()["a"]})
	text := show(t, r, "/").String()
	for _, want := range []string{"here</bdi>", "gone</bdi>", `<span class="state">answers</span>`, `<span class="state">does not answer</span>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s:\n%s", want, text)
		}
	}
}
