package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// official are the documents of the task/step family: that of v1, and that of
// the Topic RFC. They are read once; nil where APBRIDGE_SPECS does not lead to
// them.
var official = sync.OnceValues(func() (*officialSpecs, error) {
	folder := os.Getenv("APBRIDGE_SPECS")
	if folder == "" {
		return nil, nil
	}
	d := &officialSpecs{compiler: jsonschema.NewCompiler(), paths: map[string]map[string]any{}}
	return d, errors.Join(d.add(folder, "task-step-v1.openapi.yml"), d.add(folder, "topics-v2.openapi.yml"))
})

// officialSpecs judge answers. Safe for concurrent use.
type officialSpecs struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	paths    map[string]map[string]any // by the document's path
}

func (d *officialSpecs) add(folder, name string) error {
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
		d.paths[path] = item.(map[string]any)
		d.paths[path]["document"] = name
	}
	return d.compiler.AddResource(name, root)
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

// judge holds the answers of one server against the documents and notes what
// was seen.
type judge struct {
	docs *officialSpecs
	mu   sync.Mutex
	seen map[string]bool // as in "GET /ap/v1/agent/tasks 200"
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	docs, err := official()
	if err != nil {
		t.Fatal(err)
	}
	return &judge{docs: docs, seen: map[string]bool{}}
}

// check judges an answer; paths of other faces, extensions and methods that
// are refused stand in neither document.
func (j *judge) check(t *testing.T, method, path string, status int, header http.Header, body []byte) {
	t.Helper()
	where := template(path)
	if j == nil || j.docs == nil || where == "" || status == http.StatusMethodNotAllowed {
		return
	}
	item, ok := j.docs.paths[where]
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
	if !ok { // the default answer, of which nothing is said
		if status < 400 {
			t.Errorf("%s is not in the document: %s", what, body)
		}
		return
	}
	j.mu.Lock()
	j.seen[what] = true
	j.mu.Unlock()
	pointer := "/paths/" + escaped(where) + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(status)
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if ref, ok := answer["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
	} else if content, ok := answer["content"].(map[string]any); ok && content[media] == nil && media != "text/event-stream" {
		t.Errorf("%s: %q is not in the document", what, media)
	}
	if media == "application/json" {
		j.docs.validate(t, what, item["document"].(string)+"#"+pointer+"/content/application~1json/schema", body)
	}
}

func (d *officialSpecs) validate(t *testing.T, what, pointer string, body []byte) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	schema, err := d.compiler.Compile(pointer)
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

// template is a document's path for a request path; "" for one of another face.
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

// named puts the documents' names for ids into a path: /x/steps/y.
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

func escaped(token string) string {
	token = strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(token)
}

// unused are answers that the documents name and this bridge does not give: what
// makes something is answered with 201 in the RFC's family, but for steps.
var unused = map[string]bool{
	"POST /ap/v2/topics/{topic_id}/tasks 200":                     true,
	"POST /ap/v2/topics/{topic_id}/tasks/{task_id}/artifacts 200": true,
	"POST /ap/v2/topics/{topic_id}/tasks/{task_id}/steps 201":     true,
}

// TestOfficialDocuments provokes every answer that the two documents name
// before every kind of agent, and holds each against its schema.
func TestOfficialDocuments(t *testing.T) {
	t.Parallel()
	if os.Getenv("APBRIDGE_SPECS") == "" {
		t.Skip("APBRIDGE_SPECS does not name the folder of the official documents")
	}
	for _, who := range agentsBehind() {
		t.Run(who.name, func(t *testing.T) {
			t.Parallel()
			b := inFront(t, who.peer())
			const tasks, topics = "/ap/v1/agent/tasks", "/ap/v2/topics"
			b.provoke(tasks, b.post(tasks, `{"input":"hi"}`).is(200).text("task_id"), 200, 422)
			topic := topics + "/" + b.post(topics, `{"name":"x"}`).is(201).text("topic_id")
			b.post(topics, `{"name":5}`).is(400)
			said := b.post(topic+"/interactions", `{"input":"hi"}`).is(201)
			b.post(topic+"/interactions", `{"input":5}`).is(400)
			b.post(topics+"/nothing/interactions", `{"input":"x"}`).is(404)
			for _, path := range []string{topics, topic, topic + "/interactions", topic + "/interactions/" + said.text("interaction_id")} {
				b.get(path).is(200)
			}
			for _, path := range []string{topics + "/nothing", topics + "/nothing/interactions", topic + "/interactions/nothing", topics + "/nothing/tasks"} {
				b.get(path).is(404)
			}
			b.post(topics+"/nothing/tasks", `{"input":"x"}`).is(404)
			b.provoke(topic+"/tasks", said.text("task_id"), 201, 400)
			if diff := cmp.Diff(b.judge.docs.outcomes(), slices.Sorted(maps.Keys(b.judge.seen))); diff != "" {
				t.Errorf("documented answers (-all +seen):\n%s", diff)
			}
		})
	}
}

// provoke brings about every documented answer below a list of tasks.
func (b *bridge) provoke(tasks, id string, created, invalid int) {
	b.t.Helper()
	at := tasks + "/" + id
	b.post(tasks, `{"input":null}`).is(created)
	b.post(tasks, `{"input":5}`).is(invalid)
	upload := b.upload(at+"/artifacts", "a.txt", "in", "given").is(created)
	b.upload(tasks+"/nothing/artifacts", "a.txt", "", "x").is(404)
	b.post(at+"/steps", `[]`).is(invalid)
	step := b.post(at+"/steps", "").is(200)
	b.post(tasks+"/nothing/steps", "").is(404)
	for range 5 {
		if step = b.post(at+"/steps", "").is(200); step.at("is_last") == true {
			break
		}
	}
	for _, path := range []string{"", "/steps", "/artifacts", "/steps/" + step.text("step_id"), "/artifacts/" + upload.text("artifact_id")} {
		b.get(at + path).is(200)
	}
	b.get(tasks).is(200)
	for _, path := range []string{"/nothing", "/nothing/steps", "/nothing/artifacts", "/" + id + "/steps/nothing", "/" + id + "/artifacts/nothing"} {
		b.get(tasks + path).is(404)
	}
}

// outcomes are all answers that the documents name and this bridge gives.
func (d *officialSpecs) outcomes() (list []string) {
	for path, item := range d.paths {
		for method, op := range item {
			op, ok := op.(map[string]any)
			if !ok {
				continue
			}
			for status := range op["responses"].(map[string]any) {
				what := fmt.Sprintf("%s %s %s", strings.ToUpper(method), path, status)
				if status != "default" && !unused[what] {
					list = append(list, what)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
