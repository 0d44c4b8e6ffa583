package matrix

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// threadConflicts has the conflicts about threads, their states, the store and the views of agents. TestConflicts runs
// them.
func threadConflicts() []conflict {
	return []conflict{
		{"POST /threads", checkEmptyBodies},
		{"PATCH /threads/{id}", checkPatchUnion},
		{"GET /threads/{id}", checkMessagesTwice},
		{"GET and POST /threads/{id}/history", checkHistories},
		{"POST /threads/{id}/copy", checkCopyOfNothing},
		{"GET /store/items", checkNamespaceSpelling},
		{"POST /store/namespaces", checkNamespaceLists},
		{"DELETE /store/items", checkItemsThatAreMissing},
		{"POST /store/items/search", checkPrefixMayBeMissing},
		{"/agents and /assistants", checkTwoViews},
		{"error bodies", checkErrorBodies},
	}
}

func checkEmptyBodies(t *testing.T, b *rig.Bridge, _ flavour) {
	for _, body := range []string{"", "{}", `{"thread_id":null,"metadata":null,"if_exists":null}`} {
		got := b.Post("/threads", body).OK()
		if got.At("status") != "idle" || got.At("values") == nil || got.At("interrupts") == nil || got.At("config") == nil {
			t.Errorf("%q: %s", body, got.Body)
		}
	}
}

// checkPatchUnion checks that the named members change, with the names of either flavour.
func checkPatchUnion(t *testing.T, b *rig.Bridge, _ flavour) {
	at := b.Thread()
	b.Do("PATCH", at, `{"metadata":{"a":1},"ttl":{"ttl":60,"strategy":"delete"}}`).OK()
	got := b.Get(at + "?include=ttl").OK()
	if got.At("metadata.a") != 1.0 || got.At("ttl.strategy") != "delete" {
		t.Errorf("LangGraph's names: %s", got.Body)
	}
	got = b.Do("PATCH", at, `{"values":{"colour":"blue"},"messages":[{"role":"user","content":"noted"}]}`).OK()
	if got.At("metadata.a") != 1.0 || got.At("values.colour") != "blue" || got.At("values.messages.0.content") != "noted" {
		t.Errorf("the Agent Protocol's: %s", got.Body)
	}
	history := b.Get(at + "/history").OK().List("")
	if len(history) != 1 {
		t.Fatalf("values and messages together are one revision, not %d", len(history))
	}
	b.Do("PATCH", at, `{"values":{"colour":"red"}}`).OK()
	first := rig.Dig(history[0], "checkpoint.checkpoint_id").(string)
	from := `"checkpoint":{"checkpoint_id":"` + first + `"}`
	got = b.Do("PATCH", at, `{"metadata":{"b":1},`+from+`}`).OK()
	if got.At("values.colour") != "red" {
		t.Errorf("a checkpoint with only metadata: %s", got.Body)
	}
	got = b.Do("PATCH", at, `{"values":{"size":1},`+from+`}`).OK()
	if got.At("values.colour") != "blue" || got.At("values.size") != 1.0 {
		t.Errorf("branched from the first revision: %s", got.Body)
	}
	b.Do("PATCH", at, `{}`).OK()
}

// checkMessagesTwice checks that a thread has its messages both at the top level, with roles, and in values, with types
// and the same ids.
func checkMessagesTwice(t *testing.T, b *rig.Bridge, f flavour) {
	at := b.Thread()
	if empty := b.Get(at).OK(); string(jsonOf(t, empty.At("values"))) != "{}" || empty.At("messages") != nil {
		t.Errorf("a thread without values: %s", empty.Body)
	}
	b.Post(at+"/runs/wait", `{`+f.agent+rig.SaysHi+`}`).OK()
	got := b.Get(at).OK()
	if got.At("messages.0.role") != "user" || got.At("messages.1.role") != "assistant" || got.At("messages.0.type") != nil {
		t.Errorf("messages at the top: %s", got.Body)
	}
	if got.At("values.messages.0.type") != "human" || got.At("values.messages.1.type") != "ai" {
		t.Errorf("messages in the values: %s", got.Body)
	}
	if diff := cmp.Diff(rig.Pluck(got.List("values.messages"), "id"), rig.Pluck(got.List("messages"), "id")); diff != "" {
		t.Errorf("their ids differ (-values +top):\n%s", diff)
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// checkHistories checks that GET and POST return the same history, in which checkpoint ids are UUIDs and before accepts
// each form of a checkpoint.
func checkHistories(t *testing.T, b *rig.Bridge, f flavour) {
	at := b.Thread()
	b.Post(at+"/runs/wait", `{`+f.agent+rig.SaysHi+`}`).OK()
	all := b.Get(at + "/history?limit=100").OK().List("")
	ids := rig.Pluck(all, "checkpoint.checkpoint_id")
	for _, id := range ids {
		if text, _ := id.(string); !mapping.IsUUID(text) {
			t.Errorf("the checkpoint %v has no UUID", id)
		}
	}
	before := ids[0].(string)
	for name, got := range map[string]rig.Answer{
		"GET":                b.Get(at + "/history?limit=100&before=" + before),
		"POST, a string":     b.Post(at+"/history", `{"limit":100,"before":"`+before+`"}`),
		"POST, configurable": b.Post(at+"/history", `{"limit":100,"before":{"configurable":{"checkpoint_id":"`+before+`"}}}`),
		"POST, a checkpoint": b.Post(at+"/history", `{"limit":100,"before":{"thread_id":"x","checkpoint_ns":"","checkpoint_id":"`+before+`"}}`),
	} {
		if diff := cmp.Diff(all[1:], got.OK().List("")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	one := b.Post(at+"/history", `{"limit":100,"checkpoint":{"checkpoint_id":"`+ids[1].(string)+`"}}`).OK().List("")
	if diff := cmp.Diff(all[1:2], one); diff != "" {
		t.Errorf("POST with a checkpoint (-want +got):\n%s", diff)
	}
}

func checkCopyOfNothing(t *testing.T, b *rig.Bridge, _ flavour) {
	if got := b.Post("/threads/"+rig.NoneID+"/copy", "").Is(http.StatusNotFound); got.Text("code") != "thread_not_found" {
		t.Errorf("%s", got.Body)
	}
}

// checkNamespaceSpelling checks that a namespace may be repeated labels or one parameter with dots. Labels therefore
// have no dots.
func checkNamespaceSpelling(t *testing.T, b *rig.Bridge, _ flavour) {
	top := "s" + mapping.NewID()
	b.Do("PUT", "/store/items", `{"namespace":["`+top+`","a"],"key":"k","value":{"n":1}}`).Is(http.StatusNoContent)
	for _, query := range []string{"namespace=" + top + "&namespace=a", "namespace=" + top + ".a"} {
		if got := b.Get("/store/items?key=k&" + query).OK(); got.At("value.n") != 1.0 {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
	b.Get("/store/items?key=k&namespace=" + top + "&namespace=b").Is(http.StatusNotFound)
}

// checkNamespaceLists checks that the response is a list, or an object if the request has both limit and offset, which
// SDKs always send.
func checkNamespaceLists(t *testing.T, b *rig.Bridge, _ flavour) {
	top := "n" + mapping.NewID()
	b.Do("PUT", "/store/items", `{"namespace":["`+top+`","a"],"key":"k","value":{}}`).Is(http.StatusNoContent)
	want := []any{[]any{top, "a"}}
	for body, path := range map[string]string{
		`{"prefix":["` + top + `"]}`:                        "",
		`{"prefix":["` + top + `"],"limit":5}`:              "",
		`{"prefix":["` + top + `"],"limit":100,"offset":0}`: "namespaces",
	} {
		got := b.Post("/store/namespaces", body).OK()
		if diff := cmp.Diff(want, got.List(path)); diff != "" {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
}

func checkItemsThatAreMissing(t *testing.T, b *rig.Bridge, _ flavour) {
	b.Do("DELETE", "/store/items", `{"namespace":["`+mapping.NewID()+`"],"key":"k"}`).Is(http.StatusNoContent)
	if got := b.Get("/store/items?namespace=nothing&key=k&flavour=agentprotocol").Is(http.StatusNotFound); got.Text("code") != "item_not_found" {
		t.Errorf("%s", got.Body)
	}
}

func checkPrefixMayBeMissing(t *testing.T, b *rig.Bridge, _ flavour) {
	mark := mapping.NewID()
	b.Do("PUT", "/store/items", `{"namespace":["p"],"key":"`+mark+`","value":{"mark":"`+mark+`"}}`).Is(http.StatusNoContent)
	for _, prefix := range []string{``, `"namespace_prefix":null,`, `"namespace_prefix":[],`} {
		got := b.Post("/store/items/search", `{`+prefix+`"filter":{"mark":"`+mark+`"}}`).OK()
		if diff := cmp.Diff([]any{mark}, rig.Pluck(got.List("items"), "key")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", prefix, diff)
		}
	}
}

// checkTwoViews checks that there is one list of agents, in which either id finds an agent.
func checkTwoViews(t *testing.T, b *rig.Bridge, _ flavour) {
	uuid := mapping.AssistantID("agent")
	for _, id := range []string{"agent", uuid} {
		if got := b.Get("/agents/" + id).OK(); got.At("agent_id") != "agent" || got.At("name") != "agent" {
			t.Errorf("agent: %s", got.Body)
		}
		if got := b.Get("/assistants/" + id).OK(); got.At("assistant_id") != uuid || got.At("graph_id") != "agent" {
			t.Errorf("assistant: %s", got.Body)
		}
		for _, key := range []string{"agent_id", "assistant_id"} {
			got := b.Post("/runs", `{"`+key+`":"`+id+`","after_seconds":600,`+rig.SaysHi+`}`).OK()
			if got.At("assistant_id") != uuid || got.At("agent_id") != "agent" {
				t.Errorf("a run by %s %s: %s", key, id, got.Body)
			}
		}
	}
}

// checkErrorBodies expects {code, message, detail} in JSON for every error.
func checkErrorBodies(t *testing.T, b *rig.Bridge, f flavour) {
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/threads/" + rig.NoneID, "", 404, "thread_not_found"},
		{"GET", "/runs/" + rig.NoneID, "", 404, "run_not_found"},
		{"GET", "/assistants/nobody", "", 404, "agent_not_found"},
		{"GET", "/threads/nonsense", "", 422, "invalid_request"},
		{"POST", "/runs/wait", `{`, 422, "invalid_request"},
		{"POST", "/runs/wait", `{` + f.agent + `"input":`, 422, "invalid_request"},
		{"POST", "/runs", `{"assistant_id":"nobody"}`, 404, "agent_not_found"},
		{"POST", "/runs", `{"agent_id":"nobody"}`, 404, "agent_not_found"},
		{"GET", "/threads/" + rig.NoneID + "/nothing", "", 404, "route_not_found"},
		{"GET", "/runs/" + rig.NoneID + "/a/b/c", "", 404, "route_not_found"},
		{"GET", "/assistants/agent/nothing", "", 404, "route_not_found"},
		{"GET", "/store/nothing", "", 404, "route_not_found"},
		{"PUT", "/threads", "{}", 405, "method_not_allowed"},
		{"DELETE", "/runs/wait", "", 405, "method_not_allowed"},
		{"PATCH", "/threads/" + rig.NoneID + "/state", "{}", 404, "not_supported"},
		{"GET", "/nothing", "", 404, "route_not_found"},
		{"POST", "/nothing", "{}", 404, "route_not_found"},
		{"POST", "/", "{}", 405, "method_not_allowed"},
	} {
		got := b.Do(c.method, c.path, c.body).Is(c.status)
		if got.Header.Get("Content-Type") != "application/json" || got.At("code") != c.code || got.At("message") == "" || keysOf(t, got.At("")) != "code detail message" {
			t.Errorf("%s %s: %s %s", c.method, c.path, got.Header.Get("Content-Type"), strings.TrimSpace(string(got.Body)))
		}
	}
}
