package field

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const protocolDocument = "threads-runs-store.openapi.json"

// loadProtocol reads the Agent Protocol's own document.
func loadProtocol(t *testing.T) *rig.OfficialSpecs {
	t.Helper()
	folder := os.Getenv("APBRIDGE_SPECS")
	if folder == "" {
		t.Skip("APBRIDGE_SPECS is not set: it names the folder of the official documents")
	}
	d := &rig.OfficialSpecs{Compiler: jsonschema.NewCompiler(), Paths: map[string]map[string]any{}}
	d.Compiler.AssertFormat()
	if err := d.Add(folder, protocolDocument); err != nil {
		t.Fatal(err)
	}
	return d
}

// validate validates the body of a response against the operation's schema.
func validate(t *testing.T, d *rig.OfficialSpecs, op string, got rig.Answer) {
	t.Helper()
	method, path := split(op)
	pointer := "/paths/" + rig.Escaped(path) + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(got.Status)
	d.Validate(t, op, protocolDocument+"#"+pointer+"/content/application~1json/schema", got.Body)
}

// officialRequests has requests of the document's operations. Those that remove something are last. Names in braces are
// replaced by ids, {agent} by the agent's name.
var officialRequests = []struct{ op, query, body string }{
	{"POST /agents/search", "", `{}`},
	{"POST /agents/search", "", `{"name":"{agent}","metadata":{},"limit":1,"offset":0}`},
	{"GET /agents/{agent_id}", "", ""},
	{"GET /agents/{agent_id}/schemas", "", ""},
	{"POST /threads", "", `{}`},
	{"POST /threads", "", `{"thread_id":"{thread_id}","if_exists":"do_nothing","metadata":{"a":1}}`},
	{"POST /threads/search", "", `{"metadata":{},"values":{},"status":"idle","limit":1000,"offset":0}`},
	{"GET /threads/{thread_id}", "", ""},
	{"GET /threads/{thread_id}/history", "?limit=1000", ""},
	{"POST /threads/{thread_id}/copy", "", ""},
	{"PATCH /threads/{thread_id}", "", `{"metadata":{"a":1}}`},
	{"PATCH /threads/{thread_id}", "", `{"values":{"k":1},"messages":[{"role":"user","content":"x"}],"checkpoint":{"checkpoint_id":"{checkpoint_id}"}}`},
	{"POST /runs", "", `{"agent_id":"{agent}","input":"hi","metadata":{"a":1},"config":{"tags":["t"],"recursion_limit":50,"configurable":{"x":1}}}`},
	{"POST /runs/wait", "", `{"agent_id":"{agent}","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`},
	{"POST /runs/wait", "", `{"agent_id":"{agent}","thread_id":"{thread_id}","input":{"messages":[{"role":"user","content":"hi"}]},"on_disconnect":"cancel"}`},
	{"POST /runs/stream", "", `{"agent_id":"{agent}","input":"hi","stream_mode":["values","messages","updates","custom"],"on_completion":"keep"}`},
	{"POST /runs/search", "", `{"metadata":{},"limit":1000,"offset":0}`},
	{"POST /runs/search", "", `{"status":"success","agent_id":"{agent}","thread_id":"{thread_id}"}`},
	{"GET /runs/{run_id}", "", ""},
	{"GET /runs/{run_id}/wait", "", ""},
	{"GET /runs/{run_id}/stream", "", ""},
	{"POST /runs/{run_id}/cancel", "?wait=true&action=interrupt", ""},
	{"PUT /store/items", "", `{"namespace":["a","b"],"key":"k","value":{"v":[1,null]}}`},
	{"GET /store/items", "?namespace=a&namespace=b&key=k", ""},
	{"POST /store/items/search", "", `{"namespace_prefix":["a"],"filter":{},"limit":10,"offset":0}`},
	{"POST /store/namespaces", "", `{"prefix":["a"],"suffix":["b"],"max_depth":2}`},
	{"DELETE /store/items", "", `{"namespace":["a","b"],"key":"k"}`},
	{"DELETE /runs/{run_id}", "", ""},
	{"DELETE /threads/{thread_id}", "", ""},
}

// TestEverySuccessFollowsTheOfficialDocument calls every operation of the document that is served, for an agent of each
// dialect, and validates the response.
func TestEverySuccessFollowsTheOfficialDocument(t *testing.T) {
	t.Parallel()
	doc := loadProtocol(t)
	for _, agent := range []string{"agent", "graph"} {
		t.Run(agent, func(t *testing.T) {
			w := newFixture(t)
			w.ids = createOneOfEach(w.Bridge, agent)
			w.ids["agent"] = agent
			seen := map[string]bool{}
			for _, request := range officialRequests {
				method, path := split(request.op)
				got := w.Do(method, fill(w.ids, path)+request.query, fill(w.ids, request.body))
				seen[request.op] = true
				if rig.Dig(map[string]any(doc.Paths[path]), strings.ToLower(method)+".responses."+strconv.Itoa(got.Status)) == nil || got.Status/100 != 2 {
					t.Errorf("%s %s: %d %s", request.op, request.body, got.Status, got.Body)
					continue
				}
				if kind := got.Header.Get("Content-Type"); got.Status == 200 && kind == "application/json" {
					validate(t, doc, request.op, got)
				} else if got.Status == 200 && kind != "text/event-stream" || got.Status == 204 && len(got.Body) > 0 {
					t.Errorf("%s: %d %s %s", request.op, got.Status, kind, got.Body)
				}
			}
			for op := range officialFields(t) {
				if _, refused := refusedOperations[op]; !refused && !seen[op] && !protocolOperations[op] && op != "GET /threads/{thread_id}/stream" {
					t.Errorf("%s was not called", op)
				}
			}
			missing := w.Post("/runs/wait", `{"agent_id":"`+agent+`","input":"hi","thread_id":"`+mapping.NewID()+`"}`).Is(404)
			validate(t, doc, "POST /runs/wait", missing)
		})
	}
}
