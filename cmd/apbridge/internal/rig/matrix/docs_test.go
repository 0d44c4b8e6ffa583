package matrix

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// spec has the parts of an OpenAPI document that the tests need.
type spec struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct{ Name, In string }
		RequestBody struct {
			Content map[string]struct{ Example json.RawMessage }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
}

func specs(t *testing.T) map[string]spec {
	t.Helper()
	all := map[string]spec{}
	for _, d := range bridge.Dialects().Documents() {
		var s spec
		if err := json.Unmarshal(d.Text, &s); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		all[d.Name] = s
	}
	return all
}

func TestDocumentsAndRoutesAgree(t *testing.T) {
	t.Parallel()
	all, served := specs(t), map[string]bool{}
	r := rig.Configured(t, rig.OneAgent, rig.Legacy())
	for _, m := range rig.Routes(t) {
		name, path := rig.Documented(m)
		method := strings.ToLower(m.Method)
		served[name+" "+method+" "+path] = true
		if _, ok := all[name].Paths[path][method]; ok {
			continue
		}
		// A route that is known but always refused is not documented.
		filled, _ := m.Fill(map[string]string{"thread_id": "t", "cron_id": "c", "assistant_id": "a", "run_id": "r"})
		if got := r.Do(m.Method, filled, "{}"); got.Status != 404 || !strings.Contains(got.String(), mapping.CodeNotSupported) {
			t.Errorf("%s %s is served but not described in %s.json", m.Method, m.Path, name)
		}
	}
	ids := map[string]bool{}
	for name, s := range all {
		for path, operations := range s.Paths {
			for method, o := range operations {
				if !served[name+" "+method+" "+path] {
					t.Errorf("%s %s is described in %s.json but not served", method, path, name)
				}
				if ids[name+o.OperationID] || o.OperationID == "" {
					t.Errorf("%s %s of %s.json has no unique operationId: %q", method, path, name, o.OperationID)
				}
				ids[name+o.OperationID] = true
				for part := range strings.SplitSeq(path, "/") {
					part, _, _ = strings.Cut(part, ":") // an action of A2A
					v := strings.Trim(part, "{}")
					if v != part && !slices.ContainsFunc(o.Parameters, func(p struct{ Name, In string }) bool { return p.Name == v && p.In == "path" }) {
						t.Errorf("%s %s of %s.json does not describe {%s}", method, path, name, v)
					}
				}
			}
		}
	}
}

// TestResponsesMatchTheDocuments calls every route once and compares the response with the document.
func TestResponsesMatchTheDocuments(t *testing.T) {
	t.Parallel()
	all := specs(t)
	compiler := jsonschema.NewCompiler()
	for _, d := range bridge.Dialects().Documents() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.Text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("https://bridge.test/"+d.Name+".json", doc); err != nil {
			t.Fatal(err)
		}
	}
	e := newEstate(t, strings.Replace(rig.TwoKeys, "$ONLY", "", 1))
	checked := 0
	routes := rig.Routes(t)
	slices.SortStableFunc(routes, func(a, b rig.Route) int { return weight(a) - weight(b) })
	for _, m := range routes {
		name, path := rig.Documented(m)
		o, ok := all[name].Paths[path][strings.ToLower(m.Method)]
		if !ok || weight(m) == 2 || strings.HasPrefix(m.Path, rig.OldA2A) {
			continue
		}
		target, a := e.fill(t, m)
		got := e.put(rig.KeyA, m.Method, target, a)
		if got.Status == http.StatusConflict || got.Status == http.StatusNotFound {
			continue // see TestPassthroughNeedsAdminRight
		}
		checked++
		status := strconv.Itoa(got.Status)
		want, ok := o.Responses[status]
		if !ok {
			t.Errorf("%s %s: status %d is not described: %s", m.Method, m.Path, got.Status, got.String())
			continue
		}
		kind, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
		if _, ok := want.Content[kind]; !ok && got.String() != "" && !strings.HasSuffix(m.Path, "{artifact}") {
			t.Errorf("%s %s: %s is not described", m.Method, m.Path, kind)
			continue
		}
		if kind != "application/json" || got.String() == "" {
			continue
		}
		at := "https://bridge.test/" + name + ".json#/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) +
			"/" + strings.ToLower(m.Method) + "/responses/" + status + "/content/application~1json/schema"
		schema, err := compiler.Compile(at)
		if err != nil {
			t.Fatal(err)
		}
		body, err := jsonschema.UnmarshalJSON(strings.NewReader(got.String()))
		if err != nil {
			t.Errorf("%s %s: %v", m.Method, m.Path, err)
			continue
		}
		if err := schema.Validate(body); err != nil {
			t.Errorf("%s %s: %v\n%s", m.Method, m.Path, err, got.String())
		}
	}
	if checked < 70 {
		t.Errorf("only %d responses were checked", checked)
	}
}

// TestDocumentsDescribeRefusals checks that the document of each operation except the probe has the refusals for an
// invalid key, a missing right and an exceeded limit.
func TestDocumentsDescribeRefusals(t *testing.T) {
	t.Parallel()
	for name, s := range specs(t) {
		for path, operations := range s.Paths {
			for method, op := range operations {
				for _, status := range []string{"401", "403", "429"} {
					if _, said := op.Responses[status]; said == (path == "/ok") {
						t.Errorf("%s: the description of %s %s has for %s: %v", name, method, path, status, said)
					}
				}
			}
		}
	}
}

// TestOpenAPIDocuments checks that every caller can read the documents, with or without a key.
func TestOpenAPIDocuments(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, strings.Replace(rig.TwoKeys, "$ONLY", "", 1), rig.Legacy(), rig.KeyEnviron...)
	if same := r.Do("GET", "/openapi.json", "").Want(t, 200).String(); same != r.Do("GET", "/openapi/threadrun.json", "").Want(t, 200).String() {
		t.Error("/openapi.json is not the document of threads and runs")
	}
	for _, d := range bridge.Dialects().Documents() {
		at := d.Path()
		got := r.Do("GET", at, "").Want(t, 200, `"openapi": "3.1.0"`)
		if kind := got.Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("%s: %s", at, kind)
		}
		r.Do("POST", at, "{}").Want(t, 405)
	}
}

// TestDocumentedExamplesAreAccepted checks that the bridge accepts the example bodies of the documents.
func TestDocumentedExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	all, taken := specs(t), 0
	e := newEstate(t, strings.Replace(rig.TwoKeys, "$ONLY", "", 1))
	for _, m := range inOrder(rig.Routes(t)) {
		name, path := rig.Documented(m)
		body := all[name].Paths[path][strings.ToLower(m.Method)].RequestBody
		example, ok := body.Content["application/json"]
		if !ok {
			continue
		}
		if example.Example == nil {
			t.Errorf("%s %s of %s.json has no example of its body", m.Method, path, name)
			continue
		}
		if strings.HasSuffix(m.Path, ":cancel") {
			continue // the task has ended
		}
		target, a := e.fill(t, m)
		a.body = strings.ReplaceAll(string(example.Example), `"AGENT"`, `"a"`)
		got := e.put(rig.KeyA, m.Method, target, a)
		if got.Status >= 400 && got.Status != 404 && got.Status != 409 || strings.Contains(got.String(), `"type":"error"`) {
			t.Errorf("%s %s with %s: %d %s", m.Method, target, a.body, got.Status, got.String())
		}
		taken++
	}
	if taken < 35 {
		t.Errorf("only %d examples were accepted", taken)
	}
}
