package field

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// operation is one request of the thread/run face: a body that is accepted unchanged, and every field that a document
// or an SDK has for it, with its type. Names that begin with ? belong to the query.
type operation struct {
	base      string
	fields    string
	mandatory bool // an empty body is refused
}

const runFields = "input:any messages:list command:object config:object context:object metadata:object stream_subgraphs:bool stream_resumable:bool " +
	"feedback_keys:texts interrupt_before:nodes interrupt_after:nodes checkpoint:object checkpoint_id:uuid webhook:url multitask_strategy:enum on_disconnect:enum " +
	"after_seconds:number if_not_exists:enum checkpoint_during:bool durability:enum langsmith_tracer:object strict_resume:bool " +
	"stream_mode:modes assistant_id:name agent_id:name"

const cronRunFields = "input:any config:object context:object metadata:object stream_subgraphs:bool stream_resumable:bool interrupt_before:nodes interrupt_after:nodes " +
	"webhook:url multitask_strategy:enum checkpoint_during:bool durability:enum stream_mode:modes " +
	"schedule:name timezone:name end_time:time enabled:bool on_run_completed:enum"

// operations has every request of the thread/run face. Sources: the Agent Protocol's document and the LangGraph SDKs.
var operations = map[string]operation{
	"POST /threads":                                        {`{}`, "thread_id:uuid metadata:object if_exists:enum supersteps:list ttl:ttl", false},
	"GET /threads":                                         {"", "?limit:limit ?offset:offset", false},
	"POST /threads/search":                                 {`{}`, "metadata:object ids:uuids limit:limit offset:offset status:enum sort_by:enum sort_order:enum select:names values:object extract:object", false},
	"POST /threads/count":                                  {`{}`, "metadata:object values:object status:enum", false},
	"POST /threads/prune":                                  {`{"thread_ids":[]}`, "thread_ids:uuids strategy:enum", true},
	"GET /threads/{thread_id}":                             {"", "?include:names", false},
	"PATCH /threads/{thread_id}":                           {`{}`, "metadata:object values:object messages:list checkpoint:object ttl:ttl", true},
	"DELETE /threads/{thread_id}":                          {"", "", false},
	"POST /threads/{thread_id}/copy":                       {"", "", false},
	"GET /threads/{thread_id}/state":                       {"", "?subgraphs:bool ?select:names", false},
	"GET /threads/{thread_id}/state/{checkpoint_id}":       {"", "?subgraphs:bool ?select:names", false},
	"POST /threads/{thread_id}/state/checkpoint":           {`{"checkpoint":{"checkpoint_id":"{checkpoint_id}"}}`, "checkpoint:object subgraphs:bool select:names", true},
	"POST /threads/{thread_id}/state":                      {`{"values":{"k":1}}`, "values:object checkpoint_id:uuid checkpoint:object as_node:text", true},
	"GET /threads/{thread_id}/storage":                     {"", "", false},
	"GET /threads/{thread_id}/history":                     {"", "?limit:limit ?before:uuid ?select:names", false},
	"POST /threads/{thread_id}/history":                    {`{}`, "limit:limit before:before metadata:object checkpoint:object select:names", false},
	"GET /threads/{thread_id}/stream":                      {"", "?stream_mode:modes", false},
	"POST /threads/{thread_id}/runs":                       {`{"assistant_id":"agent"}`, runFields, true},
	"POST /threads/{thread_id}/runs/stream":                {`{"assistant_id":"agent"}`, runFields, true},
	"POST /threads/{thread_id}/runs/wait":                  {`{"assistant_id":"agent"}`, runFields, true},
	"POST /runs":                                           {`{"input":"hi"}`, runFields + " thread_id:uuid on_completion:enum", true},
	"POST /runs/stream":                                    {`{"input":"hi"}`, runFields + " thread_id:uuid on_completion:enum", true},
	"POST /runs/wait":                                      {`{"input":"hi"}`, runFields + " thread_id:uuid on_completion:enum", true},
	"POST /runs/batch":                                     {`[{"assistant_id":"agent","input":"hi"}]`, "", true},
	"GET /threads/{thread_id}/runs":                        {"", "?limit:limit ?offset:offset ?status:enum ?select:names", false},
	"GET /threads/{thread_id}/runs/{run_id}":               {"", "", false},
	"DELETE /threads/{thread_id}/runs/{run_id}":            {"", "", false},
	"GET /threads/{thread_id}/runs/{run_id}/explain":       {"", "", false},
	"GET /threads/{thread_id}/runs/{run_id}/join":          {"", "?cancel_on_disconnect:bool", false},
	"GET /threads/{thread_id}/runs/{run_id}/wait":          {"", "?cancel_on_disconnect:bool", false},
	"GET /threads/{thread_id}/runs/{run_id}/stream":        {"", "?cancel_on_disconnect:bool ?stream_mode:modes ?checkpoint_id:uuid", false},
	"POST /threads/{thread_id}/runs/{run_id}/stream":       {`{}`, "last_event_id:text stream_mode:modes cancel_on_disconnect:bool", false},
	"POST /threads/{thread_id}/runs/{run_id}/cancel":       {"", "?wait:bool ?action:enum ?reason:enum", false},
	"GET /runs/{run_id}/explain":                           {"", "", false},
	"POST /runs/search":                                    {`{}`, "metadata:object status:enum thread_id:uuid agent_id:text limit:limit offset:offset", false},
	"POST /runs/cancel":                                    {`{"status":"all"}`, "thread_id:uuid run_ids:uuids status:enum ?action:enum ?reason:enum", true},
	"GET /runs/{run_id}":                                   {"", "", false},
	"DELETE /runs/{run_id}":                                {"", "", false},
	"GET /runs/{run_id}/wait":                              {"", "?cancel_on_disconnect:bool", false},
	"GET /runs/{run_id}/join":                              {"", "?cancel_on_disconnect:bool", false},
	"GET /runs/{run_id}/stream":                            {"", "?cancel_on_disconnect:bool ?stream_mode:modes ?checkpoint_id:uuid", false},
	"POST /runs/{run_id}/cancel":                           {"", "?wait:bool ?action:enum ?reason:enum", false},
	"POST /runs/crons":                                     {`{"schedule":"0 0 1 1 *"}`, cronRunFields + " assistant_id:name", true},
	"POST /threads/{thread_id}/runs/crons":                 {`{"schedule":"0 0 1 1 *"}`, cronRunFields + " assistant_id:name", true},
	"POST /runs/crons/search":                              {`{}`, "assistant_id:text thread_id:uuid enabled:bool metadata:object limit:limit offset:offset sort_by:enum sort_order:enum select:names", false},
	"POST /runs/crons/count":                               {`{}`, "assistant_id:text thread_id:uuid metadata:object", false},
	"GET /runs/crons/{cron_id}":                            {"", "", false},
	"PATCH /runs/crons/{cron_id}":                          {`{}`, cronRunFields, true},
	"DELETE /runs/crons/{cron_id}":                         {"", "", false},
	"POST /assistants":                                     {`{"graph_id":"agent"}`, "graph_id:name config:object context:object metadata:object assistant_id:uuid if_exists:enum name:name description:text", true},
	"GET /assistants":                                      {"", "?limit:limit ?offset:offset", false},
	"POST /assistants/search":                              {`{}`, "metadata:object graph_id:text name:text limit:limit offset:offset sort_by:enum sort_order:enum select:names", false},
	"POST /assistants/count":                               {`{}`, "metadata:object graph_id:text name:text", false},
	"GET /assistants/{assistant_id}":                       {"", "", false},
	"PATCH /assistants/{assistant_id}":                     {`{}`, "graph_id:name config:object context:object metadata:object name:name description:text", true},
	"DELETE /assistants/{assistant_id}":                    {"", "?delete_threads:bool", false},
	"GET /assistants/{assistant_id}/graph":                 {"", "?xray:depth", false},
	"GET /assistants/{assistant_id}/schemas":               {"", "", false},
	"GET /assistants/{assistant_id}/subgraphs":             {"", "?recurse:bool", false},
	"GET /assistants/{assistant_id}/subgraphs/{namespace}": {"", "?recurse:bool", false},
	"POST /assistants/{assistant_id}/versions":             {`{}`, "metadata:object limit:limit offset:offset", false},
	"POST /assistants/{assistant_id}/latest":               {`{"version":1}`, "version:number", true},
	"POST /agents/search":                                  {`{}`, "name:text metadata:object limit:limit offset:offset", false},
	"GET /agents/{agent_id}":                               {"", "", false},
	"GET /agents/{agent_id}/schemas":                       {"", "", false},
	"PUT /store/items":                                     {`{"namespace":["n"],"key":"k","value":{"v":1}}`, "namespace:texts key:name value:object index:index ttl:minutes", true},
	"GET /store/items":                                     {"?namespace=n", "?namespace:labels ?key:label ?refresh_ttl:bool", false},
	"DELETE /store/items":                                  {`{"namespace":["n"],"key":"k"}`, "namespace:texts key:name", true},
	"POST /store/items/search":                             {`{}`, "namespace_prefix:texts filter:object limit:limit offset:offset query:text search_by:enum sort_by:enum sort_order:enum refresh_ttl:bool", false},
	"POST /store/namespaces":                               {`{}`, "prefix:texts suffix:texts max_depth:number limit:limit offset:offset", false},
	"GET /ok":                                              {"", "?check_db:bool", false},
	"GET /info":                                            {"", "", false},
	"GET /limits":                                          {"", "", false},
	"GET /data":                                            {"?owner=nobody", "?owner:hint ?tenant:hint", false},
	"GET /data/export":                                     {"?owner=nobody", "?owner:hint ?tenant:hint", false},
	"DELETE /data":                                         {"?owner=nobody", "?owner:hint ?tenant:hint ?leave_copies:bool ?keep_file:bool", false},
}

// refusedOperations has the known operations that are not supported, each with the reason.
var refusedOperations = map[string]string{
	"PATCH /threads/{thread_id}/state": "no server has it; POST changes a state",
	"POST /ui/{assistant_id}":          "agents have no user interface in the bridge",
}

// protocolOperations has the operations of the streaming protocol. Their tests are in protocol_test.go, because
// mistakes in a command are reported in its response.
var protocolOperations = map[string]bool{
	"POST /threads/{thread_id}/stream":        true,
	"POST /threads/{thread_id}/stream/events": true,
	"GET /threads/{thread_id}/stream/events":  true,
	"POST /threads/{thread_id}/commands":      true,
}

type field struct {
	name, kind string
	query      bool
}

func (o operation) list() (list []field) {
	for word := range strings.FieldsSeq(o.fields) {
		name, kind, _ := strings.Cut(word, ":")
		bare := strings.TrimPrefix(name, "?")
		list = append(list, field{bare, kind, bare != name})
	}
	return list
}

// createOneOfEach creates an object of each kind with an agent and returns the ids.
func createOneOfEach(b *rig.Bridge, agent string) map[string]string {
	b.T.Helper()
	ids := map[string]string{"agent_id": agent, "namespace": "x"}
	thread := b.Thread()
	ids["thread_id"] = strings.TrimPrefix(thread, "/threads/")
	b.Post(thread+"/runs/wait", `{"assistant_id":"`+agent+`",`+rig.SaysHi+`}`).OK()
	ids["run_id"] = rig.Dig(b.Get(thread + "/runs").OK().List("")[0], "run_id").(string)
	ids["checkpoint_id"] = b.Get(thread + "/state").OK().Text("checkpoint.checkpoint_id")
	ids["assistant_id"] = b.Post("/assistants", `{"graph_id":"`+agent+`"}`).OK().Text("assistant_id")
	ids["cron_id"] = b.Post("/runs/crons", `{"assistant_id":"`+agent+`","schedule":"0 0 1 1 *","input":"hi"}`).OK().Text("cron_id")
	b.Do("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"v":1}}`).OK()
	return ids
}

func fill(ids map[string]string, text string) string {
	for name, id := range ids {
		text = strings.ReplaceAll(text, "{"+name+"}", id)
	}
	return text
}

func split(op string) (method, path string) {
	method, path, _ = strings.Cut(op, " ")
	return method, path
}

// TestEveryOperationIsServedOrRefused checks that the table has a row for every route and for every operation of the
// official document, and no row for anything else. No response is a server error.
func TestEveryOperationIsServedOrRefused(t *testing.T) {
	t.Parallel()
	for _, m := range rig.Routes(t) {
		op := m.Method + " " + m.Path
		name, _ := rig.Documented(m)
		_, served := operations[op]
		_, refused := refusedOperations[op]
		if name == "threadrun" && !served && !refused && !protocolOperations[op] {
			t.Errorf("%s has no row", op)
		}
	}
	for op := range officialFields(t) {
		_, served := operations[op]
		if _, refused := refusedOperations[op]; !served && !refused && !protocolOperations[op] {
			t.Errorf("%s is in the document and has no row", op)
		}
	}
	w := newFixture(t)
	b, ids := w.Bridge, w.ids
	for op, why := range refusedOperations {
		method, path := split(op)
		if got := b.Do(method, fill(ids, path), `{}`); got.Status != 404 || got.Text("code") != "not_supported" {
			t.Errorf("%s (%s): %d %s", op, why, got.Status, got.Body)
		}
	}
	for op := range operations {
		method, path := split(op)
		missing := map[string]string{"namespace": "x", "agent_id": "nobody", "assistant_id": rig.NoneID}
		for _, name := range []string{"thread_id", "run_id", "checkpoint_id", "cron_id"} {
			missing[name] = rig.NoneID
		}
		got := b.Do(method, fill(missing, path), "")
		if got.Status >= 500 || got.Status == 405 || got.Status == 404 && got.Text("code") == "route_not_found" {
			t.Errorf("%s is not served: %d %s", op, got.Status, got.Body)
		}
		if got.Status == 404 && !strings.Contains(path, "{") && !strings.HasPrefix(path, "/store") {
			t.Errorf("%s: %d %s", op, got.Status, got.Body)
		}
	}
	for _, unknown := range []string{"GET /threads/search", "PUT /threads", "DELETE /runs", "GET /nothing/here", "POST /threads/" + rig.NoneID + "/nothing", "GET /runs/crons/x/y"} {
		method, path := split(unknown)
		if got := b.Do(method, path, ""); got.Status != 404 && got.Status != 405 || got.Text("code") == "" {
			t.Errorf("%s: %d %s", unknown, got.Status, got.Body)
		}
	}
}

// officialFields returns the operations of the Agent Protocol's document with the fields of each, or nil if
// APBRIDGE_SPECS is not set.
func officialFields(t *testing.T) map[string][]string {
	t.Helper()
	folder := os.Getenv("APBRIDGE_SPECS")
	if folder == "" {
		return nil
	}
	raw, err := os.ReadFile(filepath.Join(folder, "threads-runs-store.openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for path, item := range doc["paths"].(map[string]any) {
		for method, o := range item.(map[string]any) {
			op := strings.ToUpper(method) + " " + path
			all[op] = propertyNames(doc, rig.Dig(o, "requestBody.content.application/json.schema"))
			params, _ := rig.Dig(o, "parameters").([]any)
			for _, p := range params {
				if rig.Dig(p, "in") == "query" {
					all[op] = append(all[op], rig.Dig(p, "name").(string))
				}
			}
		}
	}
	return all
}

// propertyNames returns the names of a schema's properties, including those of referenced and combined schemas.
func propertyNames(doc, schema any) (names []string) {
	if ref, ok := rig.Dig(schema, "$ref").(string); ok {
		return propertyNames(doc, rig.Dig(doc, strings.ReplaceAll(strings.TrimPrefix(ref, "#/"), "/", ".")))
	}
	for _, of := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := rig.Dig(schema, of).([]any)
		for _, one := range list {
			names = append(names, propertyNames(doc, one)...)
		}
	}
	props, _ := rig.Dig(schema, "properties").(map[string]any)
	for name := range props {
		names = append(names, name)
	}
	return names
}

// runReplies has the members of a Run that the document also lists, by mistake, in the request of POST /runs and
// /runs/stream.
var runReplies = []string{"run_id", "created_at", "updated_at", "status"}

// TestEveryFieldIsHonouredRefusedOrAHint checks that every field of the official document is in a row, and that each
// field has the described effect.
func TestEveryFieldIsHonouredRefusedOrAHint(t *testing.T) {
	t.Parallel()
	for op, names := range officialFields(t) {
		for _, name := range names {
			o, ok := operations[op]
			if ok && !slices.ContainsFunc(o.list(), func(f field) bool { return f.name == name }) && !slices.Contains(runReplies, name) {
				t.Errorf("%s: %s is in the document and has no row", op, name)
			}
		}
	}
	w := newFixture(t)
	rows := w.rows()
	for op, o := range operations {
		for _, f := range o.list() {
			row, ok := rows[op+" "+f.name]
			if !ok {
				row, ok = rows[family(op)+" "+f.name]
			}
			if !ok {
				t.Errorf("%s: %s has no row", op, f.name)
				continue
			}
			t.Run(strings.ReplaceAll(op, "/", "·")+" "+f.name, func(t *testing.T) { row.check(t, op, f) })
		}
	}
}

// family groups operations with the same fields, so that they share rows.
func family(op string) string {
	switch op {
	case "POST /runs", "POST /runs/stream", "POST /runs/wait", "POST /threads/{thread_id}/runs", "POST /threads/{thread_id}/runs/stream", "POST /threads/{thread_id}/runs/wait":
		return "RUN"
	case "POST /runs/crons", "POST /threads/{thread_id}/runs/crons", "PATCH /runs/crons/{cron_id}":
		return "CRON"
	}
	if strings.HasSuffix(op, "/cancel") {
		return "CANCEL"
	}
	return "ANY"
}
