package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
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

// official has the documents of the task/step family: that of v1, and that of the Topic RFC. They are read once. It is
// nil unless APBRIDGE_SPECS leads to them.
var official = sync.OnceValues(func() (*OfficialSpecs, error) {
	folder := os.Getenv("APBRIDGE_SPECS")
	if folder == "" {
		return nil, nil
	}
	d := &OfficialSpecs{Compiler: jsonschema.NewCompiler(), Paths: map[string]map[string]any{}}
	return d, errors.Join(d.Add(folder, "task-step-v1.openapi.yml"), d.Add(folder, "topics-v2.openapi.yml"))
})

// OfficialSpecs validates responses. It is safe for concurrent use.
type OfficialSpecs struct {
	mu       sync.Mutex
	Compiler *jsonschema.Compiler
	Paths    map[string]map[string]any // by the document's path
}

// Add reads one of the official documents.
func (d *OfficialSpecs) Add(folder, name string) error {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return err
	}
	allowNulls(tree)
	raw, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	for path, item := range tree["paths"].(map[string]any) {
		d.Paths[path] = item.(map[string]any)
		d.Paths[path]["document"] = name
	}
	return d.Compiler.AddResource(name, root)
}

// allowNulls translates OpenAPI 3.0's nullable to JSON Schema.
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

// Judge compares the responses of one server with the documents and records which ones it has seen.
type Judge struct {
	Docs *OfficialSpecs
	mu   sync.Mutex
	Seen map[string]bool // as in "GET /ap/v1/agent/tasks 200"
}

// NewJudge returns a judge, which checks nothing without the documents.
func NewJudge(t *testing.T) *Judge {
	t.Helper()
	docs, err := official()
	if err != nil {
		t.Fatal(err)
	}
	return &Judge{Docs: docs, Seen: map[string]bool{}}
}

// Check checks an answer. The documents do not have paths of other faces, extensions, refused methods, or answers to
// conditional and range requests (RFC 9110 sections 13 and 14).
func (j *Judge) Check(t *testing.T, method, path string, status int, header http.Header, body []byte) {
	t.Helper()
	where := template(path)
	if j == nil || j.Docs == nil || where == "" || status == http.StatusMethodNotAllowed || status == http.StatusPartialContent || status == http.StatusNotModified {
		return
	}
	item, ok := j.Docs.Paths[where]
	if !ok && status == http.StatusNotFound || strings.HasSuffix(where, "/cancel") || method == http.MethodHead || method == http.MethodOptions {
		return
	}
	op, _ := item[strings.ToLower(method)].(map[string]any)
	if op == nil {
		t.Errorf("%s %s is not in the document", method, where)
		return
	}
	what := method + " " + where + " " + strconv.Itoa(status)
	answer, ok := op["responses"].(map[string]any)[strconv.Itoa(status)].(map[string]any)
	if !ok { // the default answer, which is not specified
		if status < 400 {
			t.Errorf("%s is not in the document: %s", what, body)
		}
		return
	}
	j.mu.Lock()
	j.Seen[what] = true
	j.mu.Unlock()
	pointer := "/paths/" + Escaped(where) + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(status)
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if ref, ok := answer["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
	} else if content, ok := answer["content"].(map[string]any); ok && content[media] == nil && media != "text/event-stream" {
		t.Errorf("%s: %q is not in the document", what, media)
	}
	if media == "application/json" {
		j.Docs.Validate(t, what, item["document"].(string)+"#"+pointer+"/content/application~1json/schema", body)
	}
}

// Validate validates a body with the schema at the pointer.
func (d *OfficialSpecs) Validate(t *testing.T, what, pointer string, body []byte) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	schema, err := d.Compiler.Compile(pointer)
	if err != nil {
		t.Error(err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", what, err, body)
	}
}

// template returns a document's path for a request path, or "" for another face.
func template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if rest, ok := strings.CutPrefix(path, "/agents/"); ok {
		_, rest, _ = strings.Cut(rest, "/")
		path = "/" + rest
	}
	if strings.HasPrefix(path, "/agent/tasks") {
		path = "/ap/v1" + path
	}
	if rest, ok := strings.CutPrefix(path, "/ap/v1/agent/tasks"); ok {
		return "/ap/v1/agent/tasks" + named(rest, "{task_id}")
	}
	rest, ok := strings.CutPrefix(path, "/ap/v2/topics")
	if !ok {
		return ""
	}
	if below := strings.SplitN(rest, "/", 4); len(below) > 2 && below[2] == "tasks" {
		return "/ap/v2/topics/{topic_id}/tasks" + named(strings.TrimPrefix(rest, "/"+below[1]+"/tasks"), "{task_id}")
	}
	return "/ap/v2/topics" + named(rest, "{topic_id}")
}

// named replaces ids by the documents' names for them: /x/steps/y.
func named(rest, first string) string {
	parts := strings.Split(rest, "/")
	if len(parts) > 1 {
		parts[1] = first
	}
	if len(parts) > 3 {
		parts[3] = map[string]string{"steps": "{step_id}", "artifacts": "{artifact_id}", "interactions": "{interaction_id}"}[parts[2]]
	}
	return strings.Join(parts, "/")
}

// Escaped returns a name as a token of a JSON pointer (RFC 6901).
func Escaped(token string) string {
	token = strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(token)
}
