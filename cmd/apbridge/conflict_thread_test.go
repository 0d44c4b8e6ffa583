package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// threadConflicts are those of threads, their states, the store and the views
// of agents; TestConflicts takes them.
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

func checkEmptyBodies(t *testing.T, b *bridge, _ flavour) {
	for _, body := range []string{"", "{}", `{"thread_id":null,"metadata":null,"if_exists":null}`} {
		got := b.post("/threads", body).ok()
		if got.at("status") != "idle" || got.at("values") == nil || got.at("interrupts") == nil || got.at("config") == nil {
			t.Errorf("%q: %s", body, got.body)
		}
	}
}

// checkPatchUnion: what is named is changed, by either flavour's names.
func checkPatchUnion(t *testing.T, b *bridge, _ flavour) {
	at := b.thread()
	got := b.do("PATCH", at, `{"metadata":{"a":1},"ttl":{"ttl":60,"strategy":"delete"}}`).ok()
	if got.at("metadata.a") != 1.0 || got.at("ttl.strategy") != "delete" {
		t.Errorf("LangGraph's names: %s", got.body)
	}
	got = b.do("PATCH", at, `{"values":{"colour":"blue"},"messages":[{"role":"user","content":"noted"}]}`).ok()
	if got.at("metadata.a") != 1.0 || got.at("values.colour") != "blue" || got.at("values.messages.0.content") != "noted" {
		t.Errorf("the Agent Protocol's: %s", got.body)
	}
	history := b.get(at + "/history").ok().list("")
	if len(history) != 1 {
		t.Fatalf("values and messages together are one revision, not %d", len(history))
	}
	b.do("PATCH", at, `{"values":{"colour":"red"}}`).ok()
	first := dig(history[0], "checkpoint.checkpoint_id").(string)
	from := `"checkpoint":{"checkpoint_id":"` + first + `"}`
	got = b.do("PATCH", at, `{"metadata":{"b":1},`+from+`}`).ok()
	if got.at("values.colour") != "red" {
		t.Errorf("a checkpoint says nothing beside metadata alone: %s", got.body)
	}
	got = b.do("PATCH", at, `{"values":{"size":1},`+from+`}`).ok()
	if got.at("values.colour") != "blue" || got.at("values.size") != 1.0 {
		t.Errorf("branched from the first revision: %s", got.body)
	}
	b.do("PATCH", at, `{}`).ok()
}

// checkMessagesTwice: with roles at the top, with types in the values.
func checkMessagesTwice(t *testing.T, b *bridge, f flavour) {
	at := b.thread()
	if empty := b.get(at).ok(); string(jsonOf(t, empty.at("values"))) != "{}" || empty.at("messages") != nil {
		t.Errorf("a thread without values: %s", empty.body)
	}
	b.post(at+"/runs/wait", `{`+f.agent+saysHi+`}`).ok()
	got := b.get(at).ok()
	if got.at("messages.0.role") != "user" || got.at("messages.1.role") != "assistant" || got.at("messages.0.type") != nil {
		t.Errorf("messages at the top: %s", got.body)
	}
	if got.at("values.messages.0.type") != "human" || got.at("values.messages.1.type") != "ai" {
		t.Errorf("messages in the values: %s", got.body)
	}
	if diff := cmp.Diff(pluck(got.list("values.messages"), "id"), pluck(got.list("messages"), "id")); diff != "" {
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

// checkHistories: one shape, checkpoints named by UUIDs, before is one.
func checkHistories(t *testing.T, b *bridge, f flavour) {
	at := b.thread()
	b.post(at+"/runs/wait", `{`+f.agent+saysHi+`}`).ok()
	all := b.get(at + "/history?limit=100").ok().list("")
	ids := pluck(all, "checkpoint.checkpoint_id")
	for _, id := range ids {
		if text, _ := id.(string); !mapping.IsUUID(text) {
			t.Errorf("the checkpoint %v has no UUID", id)
		}
	}
	before := ids[0].(string)
	for name, got := range map[string]answer{
		"GET":                 b.get(at + "/history?limit=100&before=" + before),
		"POST, a string":      b.post(at+"/history", `{"limit":100,"before":"`+before+`"}`),
		"POST, configurable":  b.post(at+"/history", `{"limit":100,"before":{"configurable":{"checkpoint_id":"`+before+`"}}}`),
		"POST, a checkpoint":  b.post(at+"/history", `{"limit":100,"before":{"thread_id":"x","checkpoint_ns":"","checkpoint_id":"`+before+`"}}`),
		"POST, from that one": b.post(at+"/history", `{"limit":100,"checkpoint":{"checkpoint_id":"`+ids[1].(string)+`"}}`),
	} {
		if diff := cmp.Diff(all[1:], got.ok().list("")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func checkCopyOfNothing(t *testing.T, b *bridge, _ flavour) {
	if got := b.post("/threads/"+noneID+"/copy", "").is(http.StatusNotFound); got.text("code") != "thread_not_found" {
		t.Errorf("%s", got.body)
	}
}

// checkNamespaceSpelling: labels repeated, or in one parameter with dots;
// so a label has none.
func checkNamespaceSpelling(t *testing.T, b *bridge, _ flavour) {
	top := "s" + mapping.NewID()
	b.do("PUT", "/store/items", `{"namespace":["`+top+`","a"],"key":"k","value":{"n":1}}`).is(http.StatusNoContent)
	for _, query := range []string{"namespace=" + top + "&namespace=a", "namespace=" + top + ".a"} {
		if got := b.get("/store/items?key=k&" + query).ok(); got.at("value.n") != 1.0 {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	b.get("/store/items?key=k&namespace=" + top + "&namespace=b").is(http.StatusNotFound)
	for _, labels := range []string{`["a.b"]`, `[""]`, `[]`} {
		b.do("PUT", "/store/items", `{"namespace":`+labels+`,"key":"k","value":{}}`).is(http.StatusUnprocessableEntity)
	}
}

// checkNamespaceLists: SDKs always send limit and offset, and read an object.
func checkNamespaceLists(t *testing.T, b *bridge, _ flavour) {
	top := "n" + mapping.NewID()
	b.do("PUT", "/store/items", `{"namespace":["`+top+`","a"],"key":"k","value":{}}`).is(http.StatusNoContent)
	want := []any{[]any{top, "a"}}
	for body, path := range map[string]string{
		`{"prefix":["` + top + `"]}`:                          "",
		`{"prefix":["` + top + `"],"limit":5}`:                "",
		`{"prefix":["` + top + `"],"limit":100,"offset":0}`:   "namespaces",
		`{"prefix":["` + top + `"],"offset":0,"limit":"100"}`: "refused",
	} {
		got := b.post("/store/namespaces", body)
		if path == "refused" {
			got.is(http.StatusUnprocessableEntity)
			continue
		}
		if diff := cmp.Diff(want, got.ok().list(path)); diff != "" {
			t.Errorf("%s: %s", body, got.body)
		}
	}
}

func checkItemsThatAreMissing(t *testing.T, b *bridge, _ flavour) {
	b.do("DELETE", "/store/items", `{"namespace":["`+mapping.NewID()+`"],"key":"k"}`).is(http.StatusNoContent)
	if got := b.get("/store/items?namespace=nothing&key=k&flavour=agentprotocol").is(http.StatusNotFound); got.text("code") != "item_not_found" {
		t.Errorf("%s", got.body)
	}
}

func checkPrefixMayBeMissing(t *testing.T, b *bridge, _ flavour) {
	mark := mapping.NewID()
	b.do("PUT", "/store/items", `{"namespace":["p"],"key":"`+mark+`","value":{"mark":"`+mark+`"}}`).is(http.StatusNoContent)
	for _, prefix := range []string{``, `"namespace_prefix":null,`, `"namespace_prefix":[],`} {
		got := b.post("/store/items/search", `{`+prefix+`"filter":{"mark":"`+mark+`"}}`).ok()
		if diff := cmp.Diff([]any{mark}, pluck(got.list("items"), "key")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", prefix, diff)
		}
	}
}

// checkTwoViews: one table of agents; either id finds an agent in both.
func checkTwoViews(t *testing.T, b *bridge, _ flavour) {
	uuid := mapping.AssistantID("agent")
	for _, id := range []string{"agent", uuid} {
		if got := b.get("/agents/" + id).ok(); got.at("agent_id") != "agent" || got.at("name") != "agent" {
			t.Errorf("agent: %s", got.body)
		}
		if got := b.get("/assistants/" + id).ok(); got.at("assistant_id") != uuid || got.at("graph_id") != "agent" {
			t.Errorf("assistant: %s", got.body)
		}
		for _, key := range []string{"agent_id", "assistant_id"} {
			got := b.post("/runs", `{"`+key+`":"`+id+`","after_seconds":600,`+saysHi+`}`).ok()
			if got.at("assistant_id") != uuid || got.at("agent_id") != "agent" {
				t.Errorf("a run by %s %s: %s", key, id, got.body)
			}
		}
	}
}

// checkErrorBodies: {code, message, detail} in JSON, whatever was wrong.
func checkErrorBodies(t *testing.T, b *bridge, f flavour) {
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/threads/" + noneID, "", 404, "thread_not_found"},
		{"GET", "/runs/" + noneID, "", 404, "run_not_found"},
		{"GET", "/assistants/nobody", "", 404, "agent_not_found"},
		{"GET", "/threads/nonsense", "", 422, "invalid_request"},
		{"POST", "/runs/wait", `{`, 422, "invalid_request"},
		{"POST", "/runs/wait", `{` + f.agent + `"input":`, 422, "invalid_request"},
		{"POST", "/runs", `{"assistant_id":"nobody"}`, 404, "agent_not_found"},
		{"POST", "/runs", `{"agent_id":"nobody"}`, 404, "agent_not_found"},
		{"GET", "/threads/" + noneID + "/nothing", "", 404, "route_not_found"},
		{"GET", "/runs/" + noneID + "/a/b/c", "", 404, "route_not_found"},
		{"GET", "/assistants/agent/nothing", "", 404, "route_not_found"},
		{"GET", "/store/nothing", "", 404, "route_not_found"},
		{"PUT", "/threads", "{}", 405, "method_not_allowed"},
		{"DELETE", "/runs/wait", "", 405, "method_not_allowed"},
		{"PATCH", "/threads/" + noneID + "/state", "{}", 404, "not_supported"},
		{"GET", "/nothing", "", 404, "route_not_found"},
		{"POST", "/", "{}", 404, "route_not_found"},
	} {
		got := b.do(c.method, c.path, c.body).is(c.status)
		if got.header.Get("Content-Type") != "application/json" || got.at("code") != c.code || got.at("message") == "" || keysOf(t, got.at("")) != "code detail message" {
			t.Errorf("%s %s: %s %s", c.method, c.path, got.header.Get("Content-Type"), strings.TrimSpace(string(got.body)))
		}
	}
}
