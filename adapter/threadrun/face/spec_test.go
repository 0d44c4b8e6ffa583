package face

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// spec is the official document of the Agent Protocol.
type spec struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
}

func loadSpec(t *testing.T) *spec {
	t.Helper()
	dir := os.Getenv("APBRIDGE_SPECS")
	if dir == "" {
		t.Skip("APBRIDGE_SPECS is not set: it names the folder of the official documents")
	}
	file, err := os.Open(filepath.Join(dir, "threads-runs-store.openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	doc, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:///doc.json", doc); err != nil {
		t.Fatal(err)
	}
	return &spec{doc.(map[string]any), c}
}

// operation finds the operation for a request, by its template. A fixed path takes precedence over one with variables.
func (s *spec) operation(method, path string) (template string, op map[string]any) {
	for tpl, item := range s.doc["paths"].(map[string]any) {
		o, ok := item.(map[string]any)[strings.ToLower(method)].(map[string]any)
		if ok && matches(tpl, path) && (template == "" || !strings.Contains(tpl, "{")) {
			template, op = tpl, o
		}
	}
	return template, op
}

// check validates a reply against the schema of its operation and status.
func (s *spec) check(t *testing.T, method, path string, status int, body []byte) {
	t.Helper()
	template, op := s.operation(method, path)
	if op == nil {
		t.Errorf("%s %s is not in the document", method, path)
		return
	}
	res, ok := op["responses"].(map[string]any)[strconv.Itoa(status)].(map[string]any)
	if !ok {
		t.Errorf("%s %s: status %d is not in the document: %s", method, template, status, body)
		return
	}
	if content, _ := res["content"].(map[string]any); content["application/json"] == nil {
		if len(body) > 0 && status == http.StatusNoContent {
			t.Errorf("%s %s: a body with 204", method, template)
		}
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	at := "mem:///doc.json#/paths/" + escape.Replace(template) + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(status) + "/content/application~1json/schema"
	schema, err := s.compiler.Compile(at)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
	if err != nil {
		t.Fatalf("%s %s: %v: %s", method, template, err, body)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s: %d: %v\n%s", method, template, status, err, body)
	}
}

// TestRepliesFollowTheDocument sends requests of the Agent Protocol and validates every reply, errors included.
func TestRepliesFollowTheDocument(t *testing.T) {
	t.Parallel()
	doc := loadSpec(t)
	for name, script := range scripts {
		f := newFake()
		f.script = script
		f.prepare(`thread: {"messages":[{"id":"h","type":"human","content":"hi"},{"id":"a","type":"ai","content":[{"type":"text","text":"yo"}],"tool_calls":[]}],"files":{}}` + "\nrun: legacy")
		srv := f.serve(t)
		for _, c := range protocolRequests {
			status, body := roundTrip(t, c.method, srv.URL+c.path, c.body)
			path, _, _ := strings.Cut(c.path, "?")
			if status == http.StatusInternalServerError {
				t.Errorf("%s: %s %s: %s", name, c.method, c.path, body)
			}
			doc.check(t, c.method, path, status, body)
		}
	}
}

func roundTrip(t *testing.T, method, url, body string) (int, []byte) {
	t.Helper()
	req, _ := http.NewRequest(method, url, strings.NewReader(body))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, got
}

var protocolRequests = []struct{ method, path, body string }{
	{"POST", "/agents/search", `{}`},
	{"POST", "/agents/search", `{"limit":0}`},
	{"GET", "/agents/legacy", ``},
	{"GET", "/agents/nobody", ``},
	{"GET", "/agents/legacy/schemas", ``},
	{"GET", "/agents/nobody/schemas", ``},
	{"POST", "/threads", `{}`},
	{"POST", "/threads", `{"thread_id":"` + uuid(500) + `"}`},
	{"POST", "/threads", `{"thread_id":1}`},
	{"POST", "/threads/search", `{}`},
	{"POST", "/threads/search", `{"status":"x"}`},
	{"GET", aThread, ``},
	{"GET", "/threads/" + uuid(499), ``},
	{"GET", "/threads/x", ``},
	{"PATCH", aThread, `{"messages":[{"role":"user","content":"x"}]}`},
	{"PATCH", "/threads/" + uuid(499), `{}`},
	{"PATCH", aThread, `{"values":1}`},
	{"GET", aThread + "/history?limit=5", ``},
	{"GET", "/threads/" + uuid(499) + "/history", ``},
	{"GET", aThread + "/history?limit=0", ``},
	{"POST", aThread + "/copy", ``},
	{"POST", "/threads/" + uuid(499) + "/copy", ``},
	{"POST", "/runs", `{"input":{"a":1},"config":{"tags":["t"]},"metadata":{"m":1},"webhook":null,"agent_id":null}`},
	{"POST", "/runs", `{"input":1,"messages":[{"role":"user","content":"x"}]}`},
	{"POST", "/runs", `{"input":[]}`},
	{"POST", "/runs", `{"on_disconnect":"x"}`},
	{"POST", "/runs/wait", `{"agent_id":"graph","input":"hi"}`},
	{"POST", "/runs/wait", `{"input":null}`},
	{"POST", "/runs/wait", `{"config":1}`},
	{"POST", "/runs/stream", `{"stream_mode":"loud"}`},
	{"POST", "/runs/search", `{}`},
	{"POST", "/runs/search", `{"status":"running"}`},
	{"GET", aRun, ``},
	{"GET", "/runs/" + uuid(699), ``},
	{"GET", "/runs/x", ``},
	{"GET", aRun + "/wait", ``},
	{"GET", "/runs/" + uuid(699) + "/wait", ``},
	{"GET", "/runs/" + uuid(699) + "/stream", ``},
	{"POST", aRun + "/cancel?wait=true&action=interrupt", ``},
	{"POST", "/runs/" + uuid(699) + "/cancel", ``},
	{"POST", aRun + "/cancel?action=x", ``},
	{"DELETE", aRun, ``},
	{"DELETE", aRun, ``},
	{"PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{}}`},
	{"PUT", "/store/items", `{}`},
	{"GET", "/store/items?namespace=a&key=k", ``},
	{"GET", "/store/items?namespace=a", ``},
	{"GET", "/store/items?namespace=b&key=k&flavour=agentprotocol", ``},
	{"POST", "/store/items/search", `{"namespace_prefix":null,"filter":null}`},
	{"POST", "/store/items/search", `{"filter":1}`},
	{"POST", "/store/namespaces", `{}`},
	{"POST", "/store/namespaces", `{"prefix":1}`},
	{"DELETE", "/store/items", `{"namespace":["a"],"key":"k"}`},
	{"DELETE", "/store/items", `{}`},
	{"DELETE", aThread, ``},
	{"DELETE", aThread, ``},
}

// Every operation of the document has a route or is refused by name.
func TestEveryOperationIsMounted(t *testing.T) {
	t.Parallel()
	doc := loadSpec(t)
	for path, item := range doc.doc["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if !mounted(strings.ToUpper(method), path) {
				t.Errorf("%s %s has no route", method, path)
			}
		}
	}
}

func mounted(method, path string) bool {
	for _, e := range new(server).endpoints() {
		if e.method == method && e.path == path {
			return true
		}
	}
	return false
}

// The face knows every field of the document's requests for runs.
func TestEveryFieldOfTheDocumentIsKnown(t *testing.T) {
	t.Parallel()
	doc := loadSpec(t)
	schemas := doc.doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name := range schemas["RunCreate"].(map[string]any)["properties"].(map[string]any) {
		if !slices.Contains(runFields, name) {
			t.Errorf("RunCreate.%s is not known", name)
		}
	}
	for _, st := range schemas["RunStatus"].(map[string]any)["enum"].([]any) {
		if !slices.Contains(apStatuses, st.(string)) {
			t.Errorf("status %v is not known", st)
		}
	}
	for _, mode := range schemas["StreamMode"].(map[string]any)["enum"].([]any) {
		if !slices.Contains(protocolModes, mode.(string)) {
			t.Errorf("mode %v is not known", mode)
		}
	}
	if got := render.RunStatus(mapping.RunRunning, true); got != "pending" {
		t.Errorf("running is %s", got)
	}
}
