package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// spec is what the tests need of an OpenAPI document.
type spec struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct{ Name, In string }
		Responses   map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
}

var documentNames = []string{"threadrun", "taskstep", "topics"}

func documentText(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "cmd/apbridge/internal/bridge/openapi", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func specs(t *testing.T) map[string]spec {
	t.Helper()
	all := map[string]spec{}
	for _, name := range documentNames {
		var s spec
		if err := json.Unmarshal(documentText(t, name), &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = s
	}
	return all
}

// documented is where a route is described: what is below an agent's prefix, or
// the one of before v1, is described once.
func documented(m mounted) (name, path string) {
	path = strings.TrimPrefix(m.path, "/agents/{agent}")
	switch {
	case strings.HasPrefix(path, "/ap/v2"):
		return "topics", path
	case strings.HasPrefix(path, "/ap/v1"):
		return "taskstep", path
	case strings.HasPrefix(path, "/agent/"):
		return "taskstep", "/ap/v1" + path
	}
	return "threadrun", path
}

func TestDocumentsAndRoutesAgree(t *testing.T) {
	t.Parallel()
	all, served := specs(t), map[string]bool{}
	r := rig(t, oneAgent, legacy())
	for _, m := range mountedRoutes(t) {
		name, path := documented(m)
		method := strings.ToLower(m.method)
		served[name+" "+method+" "+path] = true
		if _, ok := all[name].Paths[path][method]; ok {
			continue
		}
		// What is known and refused to everybody is described nowhere.
		filled, _ := m.fill(map[string]string{"thread_id": "t", "cron_id": "c", "assistant_id": "a", "run_id": "r"})
		if got := r.send(m.method, filled, "{}"); got.status != 404 || !strings.Contains(got.body, mapping.CodeNotSupported) {
			t.Errorf("%s %s is served and not described in %s.json", m.method, m.path, name)
		}
	}
	ids := map[string]bool{}
	for name, s := range all {
		for path, operations := range s.Paths {
			for method, o := range operations {
				if !served[name+" "+method+" "+path] {
					t.Errorf("%s %s is described in %s.json and not served", method, path, name)
				}
				if ids[name+o.OperationID] || o.OperationID == "" {
					t.Errorf("%s %s of %s.json has no name of its own: %q", method, path, name, o.OperationID)
				}
				ids[name+o.OperationID] = true
				for part := range strings.SplitSeq(path, "/") {
					v := strings.Trim(part, "{}")
					if v != part && !slices.ContainsFunc(o.Parameters, func(p struct{ Name, In string }) bool { return p.Name == v && p.In == "path" }) {
						t.Errorf("%s %s of %s.json does not describe {%s}", method, path, name, v)
					}
				}
			}
		}
	}
}

// TestAnswersAreAsDescribed asks every route once and holds the answer against
// the document.
func TestAnswersAreAsDescribed(t *testing.T) {
	t.Parallel()
	all := specs(t)
	compiler := jsonschema.NewCompiler()
	for _, name := range documentNames {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(documentText(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("https://bridge.test/"+name+".json", doc); err != nil {
			t.Fatal(err)
		}
	}
	e := newEstate(t, strings.Replace(twoKeys, "$ONLY", "", 1))
	checked := 0
	routes := mountedRoutes(t)
	slices.SortStableFunc(routes, func(a, b mounted) int { return weight(a) - weight(b) })
	for _, m := range routes {
		name, path := documented(m)
		o, ok := all[name].Paths[path][strings.ToLower(m.method)]
		if !ok || weight(m) == 2 {
			continue
		}
		target, a := e.fill(t, m)
		got := e.put(keyA, m.method, target, a)
		if got.status == http.StatusConflict || got.status == http.StatusNotFound {
			continue // TestE20 tells which may
		}
		checked++
		status := strconv.Itoa(got.status)
		want, ok := o.Responses[status]
		if !ok {
			t.Errorf("%s %s: status %d is not described: %s", m.method, m.path, got.status, got.body)
			continue
		}
		kind, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
		if _, ok := want.Content[kind]; !ok && got.body != "" && !strings.HasSuffix(m.path, "{artifact}") {
			t.Errorf("%s %s: %s is not described", m.method, m.path, kind)
			continue
		}
		if kind != "application/json" || got.body == "" {
			continue
		}
		at := "https://bridge.test/" + name + ".json#/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) +
			"/" + strings.ToLower(m.method) + "/responses/" + status + "/content/application~1json/schema"
		schema, err := compiler.Compile(at)
		if err != nil {
			t.Fatal(err)
		}
		body, err := jsonschema.UnmarshalJSON(strings.NewReader(got.body))
		if err != nil {
			t.Errorf("%s %s: %v", m.method, m.path, err)
			continue
		}
		if err := schema.Validate(body); err != nil {
			t.Errorf("%s %s: %v\n%s", m.method, m.path, err, got.body)
		}
	}
	if checked < 70 {
		t.Errorf("only %d answers were checked", checked)
	}
}

func TestDocsPage(t *testing.T) {
	t.Parallel()
	r := rig(t, strings.Replace(twoKeys, "$ONLY", "", 1), legacy(), keyEnviron...)
	page := r.send("GET", "/docs", "").want(t, 200, "<!doctype html>", "/openapi/threadrun.json", "/openapi/taskstep.json", "/openapi/topics.json", "config.recursion_limit")
	if n := strings.Count(page.body, "<tr "); n != len(mapping.LossTable()) {
		t.Errorf("%d rows of the loss table, want %d", n, len(mapping.LossTable()))
	}
	if policy := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || !strings.Contains(policy, "style-src 'sha256-") {
		t.Errorf("policy %q", policy)
	}
	for _, foreign := range []string{"http://", "https://", "<script", "<img", "<link", "onclick", "style="} {
		if strings.Contains(page.body, foreign) {
			t.Errorf("the page holds %q", foreign)
		}
	}
	for _, name := range documentNames {
		at := "/openapi/" + name + ".json"
		got := r.send("GET", at, "").want(t, 200, `"openapi": "3.1.0"`)
		if kind := got.header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("%s: %s", at, kind)
		}
		r.send("POST", at, "{}").want(t, 405)
	}
}
