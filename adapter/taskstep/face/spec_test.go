package face

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// officialFile reads one of the official documents.
func officialFile(t *testing.T, name string) []byte {
	t.Helper()
	folder := os.Getenv("APBRIDGE_SPECS")
	if folder == "" {
		t.Skip("APBRIDGE_SPECS is not set: it names the folder of the official documents")
	}
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// document is the official OpenAPI document of v1. It checks responses.
type document struct {
	t        *testing.T
	paths    map[string]map[string]operationDoc
	compiler *jsonschema.Compiler
	// pending are the documented responses that have not been seen yet.
	pending map[string]bool
}

type operationDoc struct {
	Responses map[string]responseDoc
}

type responseDoc struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema json.RawMessage
	}
}

func loadDocument(t *testing.T) *document {
	t.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal(officialFile(t, "task-step-v1.openapi.yml"), &tree); err != nil {
		t.Fatal(err)
	}
	allowNull(tree)
	b, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]operationDoc
	}
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	d := &document{t: t, paths: doc.Paths, compiler: jsonschema.NewCompiler(), pending: map[string]bool{}}
	if err == nil {
		err = d.compiler.AddResource("v1.json", root)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for status := range op.Responses {
				if status != "default" {
					d.pending[strings.ToUpper(method)+" "+path+" "+status] = true
				}
			}
		}
	}
	return d
}

// allowNull converts OpenAPI 3.0's nullable to JSON Schema.
func allowNull(node any) {
	switch node := node.(type) {
	case map[string]any:
		if kind, ok := node["type"].(string); ok && node["nullable"] == true {
			node["type"] = []any{kind, "null"}
		}
		for _, child := range node {
			allowNull(child)
		}
	case []any:
		for _, child := range node {
			allowNull(child)
		}
	}
}

// check checks the response to a request on the path of a template.
func (d *document) check(method, template string, a gotten) {
	d.t.Helper()
	status := http.StatusText(a.status)
	what := method + " " + template + " " + itoa(a.status)
	if _, ok := d.paths[template][strings.ToLower(method)].Responses[itoa(a.status)]; !ok {
		d.t.Errorf("%s (%s) is not in the document: %s", what, status, a.body)
		return
	}
	delete(d.pending, what)
	pointer := "/paths/" + escape(template) + "/" + strings.ToLower(method) + "/responses/" + itoa(a.status)
	response := d.paths[template][strings.ToLower(method)].Responses[itoa(a.status)]
	media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";") // a charset does not change the type
	if name, ok := strings.CutPrefix(response.Ref, "#/components/responses/"); ok {
		pointer = "/components/responses/" + name
	} else if _, ok := response.Content[media]; !ok {
		d.t.Errorf("%s: content type %q is not in the document", what, media)
	}
	if media == plain {
		d.validate(what, pointer+"/content/"+escape(media)+"/schema", a.body)
	}
}

func (d *document) validate(what, pointer, body string) {
	d.t.Helper()
	schema, err := d.compiler.Compile("v1.json#" + pointer)
	if err != nil {
		d.t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		d.t.Errorf("%s: %v\n%s", what, err, body)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func escape(token string) string {
	token = strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(token)
}

// Every response in the document is provoked and fits its schema.
func TestOfficialDocument(t *testing.T) {
	t.Parallel()
	d := loadDocument(t)
	s := serve(t, newFake())
	tasks, one := "/ap/v1/agent/tasks", "/ap/v1/agent/tasks/{task_id}"
	ask := func(method, template, path, contentType, body string) gotten {
		a := s.do(method, path, contentType, body)
		d.check(method, template, a)
		return a
	}
	ask("GET", tasks, tasks, "", "")
	ask("POST", tasks, tasks, plain, `{"input":5}`)
	ask("POST", tasks, tasks, "", "")
	created := ask("POST", tasks, tasks, plain, `{"input":"x","additional_input":{"a":1}}`)
	task := tasks + "/" + created.field(t, "task_id")
	form := filePart(`filename="a.txt"`, "x") + closing
	upload := ask("POST", one+"/artifacts", task+"/artifacts", formType, form)
	ask("POST", one+"/steps", task+"/steps", plain, "[]")
	ask("POST", one+"/steps", task+"/steps", "", "")
	step := ask("POST", one+"/steps", task+"/steps", plain, `{"input":"y"}`)
	ask("POST", one+"/steps", task+"/steps", plain, "")
	ask("GET", one, task, "", "")
	ask("GET", tasks, tasks+"?page_size=1", "", "")
	ask("GET", one+"/steps", task+"/steps", "", "")
	ask("GET", one+"/steps/{step_id}", task+"/steps/"+step.field(t, "step_id"), "", "")
	ask("GET", one+"/artifacts", task+"/artifacts", "", "")
	ask("GET", one+"/artifacts/{artifact_id}", task+"/artifacts/"+upload.field(t, "artifact_id"), "", "")
	for template, path := range map[string]string{
		"": "", "/steps": "/steps", "/artifacts": "/artifacts", "/steps/{step_id}": "/steps/x", "/artifacts/{artifact_id}": "/artifacts/x",
	} {
		ask("GET", one+template, tasks+"/unknown"+path, "", "")
	}
	ask("POST", one+"/steps", tasks+"/unknown/steps", "", "")
	ask("POST", one+"/artifacts", tasks+"/unknown/artifacts", formType, form)
	if len(d.pending) > 0 {
		t.Errorf("never seen: %v", slices.Sorted(maps.Keys(d.pending)))
	}
}

// collection is the part of a Postman collection that is replayed here.
type collection struct {
	Item []postmanFolder
}

type postmanFolder struct {
	Name string
	Item []postmanItem
}

// readsTasks reports whether the suite expects the item's response within 500 ms.
func (f postmanFolder) readsTasks(item postmanItem) bool {
	return f.Name == "Tasks" && item.Request.Method == "GET"
}

type postmanItem struct {
	Name    string
	Request struct {
		Method string
		Header []struct{ Key, Value string }
		URL    json.RawMessage
		Body   struct {
			Mode     string
			Raw      string
			FormData []struct{ Key, Type string }
		}
	}
}

// This sends the requests of the official suite in its order, with its bodies on GET requests and its headers, and
// checks its assertions: 200 everywhere, JSON in less than 500 ms for reads of tasks, and the named fields.
func TestPostmanCollection(t *testing.T) {
	t.Parallel()
	var suite collection
	if err := json.Unmarshal(officialFile(t, "task-step-v1.postman.json"), &suite); err != nil {
		t.Fatal(err)
	}
	s := serve(t, newFake())
	vars := map[string]string{"url": s.url}
	count := 0
	for _, folder := range suite.Item {
		for _, item := range folder.Item {
			count++
			a, took := s.timed(item, vars)
			if a.status != 200 {
				t.Errorf("%s/%s: got %d %s", folder.Name, item.Name, a.status, a.body)
			}
			for range 2 { // a busy machine is sometimes slow
				if folder.readsTasks(item) && took > 500*time.Millisecond {
					a, took = s.timed(item, vars)
				}
			}
			if folder.readsTasks(item) && took > 500*time.Millisecond {
				t.Errorf("%s/%s: took %v", folder.Name, item.Name, took)
			}
			assertItem(t, item.Name, a)
			remember(vars, item, a)
		}
	}
	if count != 13 {
		t.Errorf("the collection has %d requests", count)
	}
}

// timed sends an item and returns the response with its duration.
func (s *served) timed(item postmanItem, vars map[string]string) (gotten, time.Duration) {
	s.t.Helper()
	began := time.Now()
	a := s.send(item.build(s.t, vars))
	return a, time.Since(began)
}

func (item postmanItem) build(t *testing.T, vars map[string]string) *http.Request {
	t.Helper()
	var address string
	if json.Unmarshal(item.Request.URL, &address) != nil {
		var u struct{ Raw string }
		if err := json.Unmarshal(item.Request.URL, &u); err != nil {
			t.Fatal(err)
		}
		address = u.Raw
	}
	if !strings.HasPrefix(address, "{{url}}") { // the one that calls the internet
		address = "{{url}}/ap/v1/heartbeat"
	}
	body, contentType := item.Request.Body.Raw, plain
	for name, value := range vars {
		address = strings.ReplaceAll(address, "{{"+name+"}}", value)
		body = strings.ReplaceAll(body, "{{"+name+"}}", value)
	}
	if item.Request.Body.Mode == "formdata" {
		body, contentType = encodeForm(t, []byte("Washington"))
	}
	req, err := http.NewRequestWithContext(t.Context(), item.Request.Method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range item.Request.Header {
		req.Header.Set(h.Key, h.Value)
	}
	req.Header.Set("Content-Type", contentType)
	return req
}

// remember stores the values that the suite's scripts store for later requests.
func remember(vars map[string]string, item postmanItem, a gotten) {
	var body map[string]any
	if json.Unmarshal([]byte(a.body), &body) != nil || item.Request.Method != "POST" {
		return
	}
	for _, name := range []string{"task_id", "artifact_id"} {
		if id, ok := body[name].(string); ok {
			vars[name] = id
		}
	}
	if item.Name == "Create a new task" {
		b, _ := json.Marshal(map[string]any{"input": body["input"]})
		vars["step_body"] = string(b)
	}
}

func assertItem(t *testing.T, name string, a gotten) {
	t.Helper()
	var body map[string]json.RawMessage
	_ = json.Unmarshal([]byte(a.body), &body)
	var want []string
	switch name {
	case "Get the task":
		want = []string{"task_id", "input", "additional_input", "artifacts"}
	case "Get all the tasks with Pagination":
		want = []string{"tasks", "pagination"}
		var page struct {
			Tasks      []any
			Pagination struct {
				Size int `json:"page_size"`
			}
		}
		_ = json.Unmarshal([]byte(a.body), &page)
		if len(page.Tasks) != 1 || page.Pagination.Size != 1 {
			t.Errorf("%s: got %s", name, a.body)
		}
	}
	for _, field := range want {
		if _, ok := body[field]; !ok {
			t.Errorf("%s: %s is missing in %s", name, field, a.body)
		}
	}
}

// A benchmark harness in the style of agbenchmark, with its recorded requests: content types on GETs, POSTs of steps
// without a body, parts whose type comes before their disposition, relative_path before the file, percent-encoded
// names, and one page of artifacts without a query.
func TestBenchmarkHarness(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.lastStep = 3
	s := serve(t, f)
	task := v1Path + "/tasks/" + s.do("POST", v1Path+"/tasks", plain, `{"input":"Write the word 'Washington' to a .txt file"}`).field(t, "task_id")
	id := s.do("POST", task+"/artifacts", formType, harnessForm).field(t, "artifact_id")
	steps := 0
	for last := false; !last; steps++ {
		a := s.do("POST", task+"/steps", plain, "")
		var step struct {
			IsLast *bool `json:"is_last"`
			Status string
			Output *string
		}
		if err := json.Unmarshal([]byte(a.body), &step); err != nil || a.status != 200 || step.IsLast == nil || step.Status != "completed" || steps > 3 {
			t.Fatalf("step %d: got %d %s", steps+1, a.status, a.body)
		}
		last = *step.IsLast
	}
	var list struct {
		Artifacts []struct {
			ID       string  `json:"artifact_id"`
			FileName string  `json:"file_name"`
			Path     *string `json:"relative_path"`
		}
	}
	if err := json.Unmarshal([]byte(s.do("GET", task+"/artifacts", plain, "").body), &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range list.Artifacts {
		where := a.FileName
		if a.Path != nil {
			where = *a.Path // the whole path: the harness joins it to its folder
		}
		got[where] = s.do("GET", task+"/artifacts/"+a.ID, plain, "").body
	}
	want := map[string]string{"in put/hello wörld.txt": "Hello World!", "src/app.py": "print(1)\n"}
	if diff := cmp.Diff(want, got); diff != "" || steps != 3 || id == "" {
		t.Errorf("%d steps, files (-want +got):\n%s", steps, diff)
	}
}

const harnessForm = "--" + boundary + "\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=\"relative_path\"\r\n\r\nin put\r\n" +
	"--" + boundary + "\r\n" +
	"Content-Type: text/plain\r\nContent-Disposition: form-data; name=\"file\"; filename=\"hello%20w%C3%B6rld.txt\"\r\n\r\nHello World!\r\n" +
	closing
