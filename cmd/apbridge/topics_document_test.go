package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// topicDocument judges answers by the document of the Topic RFC; nil judges
// nothing.
type topicDocument struct {
	mu       sync.Mutex
	paths    map[string]any
	compiler *jsonschema.Compiler
}

func loadTopicDocument(t *testing.T) *topicDocument {
	t.Helper()
	folder := os.Getenv("APBRIDGE_SPECS")
	if folder == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(folder, "topics-v2.openapi.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	allowNulls(tree)
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	d := &topicDocument{paths: tree["paths"].(map[string]any), compiler: jsonschema.NewCompiler()}
	if err := d.compiler.AddResource("v2.json", root); err != nil {
		t.Fatal(err)
	}
	return d
}

// allowNulls rewrites OpenAPI 3.0's nullable to what JSON Schema says.
func allowNulls(node any) {
	switch node := node.(type) {
	case map[string]any:
		if kind, ok := node["type"].(string); ok && node["nullable"] == true {
			node["type"] = []any{kind, "null"}
		}
		for _, child := range node {
			allowNulls(child)
		}
	case []any:
		for _, child := range node {
			allowNulls(child)
		}
	}
}

// template is the document's path for a request path; "" for one of another face.
func template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	_, rest, ok := strings.Cut(path, "/ap/v2/topics")
	if !ok {
		return ""
	}
	names := []string{"", "{topic_id}", "", "{interaction_id}", "", ""}
	parts := strings.Split(rest, "/")
	if len(parts) > 2 && parts[2] == "tasks" {
		names = []string{"", "{topic_id}", "", "{task_id}", "", "{step_id}"}
		if len(parts) > 4 && parts[4] == "artifacts" {
			names[5] = "{artifact_id}"
		}
	}
	for i := range parts {
		if i < len(names) && names[i] != "" {
			parts[i] = names[i]
		}
	}
	return "/ap/v2/topics" + strings.Join(parts, "/")
}

func (d *topicDocument) check(t *testing.T, method, path string, res *http.Response, body []byte) {
	t.Helper()
	where := template(path)
	if d == nil || where == "" || res.StatusCode == http.StatusMethodNotAllowed {
		return
	}
	item, _ := d.paths[where].(map[string]any)
	op, _ := item[strings.ToLower(method)].(map[string]any)
	if op == nil {
		t.Errorf("%s %s is not in the document", method, where)
		return
	}
	status := strconv.Itoa(res.StatusCode)
	answer, ok := op["responses"].(map[string]any)[status].(map[string]any)
	if !ok { // the default answer, of which nothing is said
		if res.StatusCode < 400 {
			t.Errorf("%s %s: %s is not in the document: %s", method, where, status, body)
		}
		return
	}
	pointer := "/paths/" + escaped(where) + "/" + strings.ToLower(method) + "/responses/" + status
	if ref, ok := answer["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
	}
	if res.Header.Get("Content-Type") == "application/json" {
		d.validate(t, method+" "+where+" "+status, pointer+"/content/application~1json/schema", body)
	}
}

func (d *topicDocument) validate(t *testing.T, what, pointer string, body []byte) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	schema, err := d.compiler.Compile("v2.json#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", what, err, body)
	}
}

func escaped(token string) string {
	token = strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(token)
}
