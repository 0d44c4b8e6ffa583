package operate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// memoryProofs has the proofs of keys about items that agents receive from the store.
var memoryProofs = map[string]func(*testing.T){
	"agents.*.memory.max_bytes": func(t *testing.T) {
		for budget, told := range map[string]bool{"90kB": true, "300": false} {
			r, agent := remembering(t, "namespaces: [shared], max_bytes: "+budget)
			r.item("shared", "old", `{"text":"`+strings.Repeat("o", 280)+`"}`)
			r.item("shared", "new", `{"text":"tea"}`)
			got := r.Wait("hi").Want(t, 200)
			if c := agent.Creates()[0]; strings.Contains(c, "ooo") != told || !strings.Contains(c, "tea") {
				t.Errorf("%s: the agent received %s", budget, c)
			}
			if h := got.Header.Get("X-Apbridge-Unsupported"); strings.Contains(h, "memory.items;approximated") == told {
				t.Errorf("%s: the loss header is %q", budget, h)
			}
		}
		r, agent := remembering(t, "namespaces: [shared], max_bytes: 300")
		for _, item := range [][2]string{{"oldest", "o"}, {"old", strings.Repeat("p", 150)}, {"new", strings.Repeat("n", 150)}, {"huge", strings.Repeat("h", 400)}} {
			r.item("shared", item[0], `{"text":"`+item[1]+`"}`)
		}
		r.Wait("hi").Want(t, 200)
		if c := agent.Creates()[0]; !strings.Contains(c, "shared/new") || strings.Contains(c, "shared/old") || strings.Contains(c, "shared/huge") {
			t.Errorf("other items than the oldest are left out: the agent received %s", c)
		}
		for deliver, lost := range map[string]string{"prompt": "memory.items;approximated", "additional_input": ""} {
			r, agent := remembering(t, "namespaces: [shared], max_bytes: 300, mode: "+deliver)
			r.item("shared", "k", `{"text":"`+strings.Repeat("k", 150)+`"}`)
			got := r.Wait(strings.Repeat("x", 200)).Want(t, 200)
			if h := got.Header.Get("X-Apbridge-Unsupported"); h != lost || strings.Contains(agent.Creates()[0], "kkk") != (lost == "") {
				t.Errorf("%s, with a long request: the loss header is %q, the agent received %s", deliver, h, agent.Creates()[0])
			}
		}
		for budget, lost := range map[string]string{"300": "memory.items;approximated", "500": ""} {
			r, agent := remembering(t, "namespaces: [shared], max_bytes: "+budget)
			r.item("shared", "k", `{"text":"`+strings.Repeat("k", 150)+`"}`)
			asked := `{"input":{"messages":[{"type":"ai","content":"Shall I order ` + strings.Repeat("a", 150) + `?"},{"type":"human","content":"yes"}]}}`
			got := r.Do("POST", "/runs/wait", asked).Want(t, 200)
			told := agent.Creates()[0]
			if h := got.Header.Get("X-Apbridge-Unsupported"); h != lost || !strings.Contains(told, "Shall I order") || strings.Contains(told, "kkk") != (lost == "") {
				t.Errorf("budget %s: an item displaces the answered question: the loss header is %q, the agent received %s", budget, h, told)
			}
		}
	},
	"agents.*.memory.max_items": func(t *testing.T) {
		r, agent := remembering(t, "namespaces: ['users/{user}', shared], max_items: 2")
		for i := range 5 {
			r.item("users/u1", fmt.Sprint("noise", i), `{"text":"trains and planes"}`)
		}
		r.item("users/u1", "drink", `{"text":"green tea, always tea"}`)
		r.item("users/u2", "theirs", `{"text":"black tea"}`)
		r.item("shared", "shop", `{"text":"a shop that sells tea"}`)
		r.Do("POST", "/runs/wait", `{"input":"Which tea?","config":{"configurable":{"user":"u1"}}}`).Want(t, 200)
		var told struct{ Input string }
		if err := json.Unmarshal([]byte(agent.Creates()[0]), &told); err != nil {
			t.Fatal(err)
		}
		want := `users/u1/drink: {"text":"green tea, always tea"}` + "\n" + `shared/shop: {"text":"a shop that sells tea"}` + "\n\nCurrent request:\nWhich tea?"
		if told.Input != want {
			t.Errorf("the agent received %q, want %q", told.Input, want)
		}
		r.Do("POST", "/runs/wait", `{"input":"?!","config":{"configurable":{"user":"u1"}}}`).Want(t, 200)
		if c := agent.Creates()[1]; !strings.Contains(c, "shared/shop") || !strings.Contains(c, "users/u1/drink") || strings.Contains(c, "noise") {
			t.Errorf("for a request without words, the agent received not the newest items but %s", c)
		}
	},
	"agents.*.memory.store_url": rig.ProvenBy("cmd/apbridge", "TestAgentsUseTheStoreWhileTheyRun"),
	"auth.keys[].namespaces": func(t *testing.T) {
		r := rig.Configured(t, confined, rig.Legacy(), rig.KeyEnviron...)
		for _, ns := range []string{"a", "b"} {
			r.Do("PUT", "/store/items", `{"namespace":["users","`+ns+`"],"key":"k","value":{"of":"`+ns+`"}}`, "X-Api-Key", rig.KeyA).Want(t, 204)
		}
		r.Do("GET", "/store/items?namespace=users.b&key=k", "", "X-Api-Key", rig.KeyB).Want(t, 200, `"of":"b"`)
		for _, refused := range [][3]string{
			{"GET", "/store/items?namespace=users.a&key=k", ""}, {"PUT", "/store/items", `{"namespace":["users","a"],"key":"k","value":{}}`},
			{"DELETE", "/store/items", `{"namespace":["users","a"],"key":"k"}`}, {"PUT", "/store/items", `{"namespace":["users"],"key":"k","value":{}}`},
		} {
			r.Do(refused[0], refused[1], refused[2], "X-Api-Key", rig.KeyB).Want(t, 403, "namespace_not_allowed", "users/b")
		}
		for _, prefix := range []string{`[]`, `["users"]`, `["users","b"]`} {
			got := r.Do("POST", "/store/items/search", `{"namespace_prefix":`+prefix+`}`, "X-Api-Key", rig.KeyB).Want(t, 200, `"of":"b"`)
			if strings.Contains(got.String(), `"of":"a"`) {
				t.Errorf("%s: found %s", prefix, got)
			}
		}
		if got := r.Do("POST", "/store/items/search", `{"namespace_prefix":["users","a"]}`, "X-Api-Key", rig.KeyB).Want(t, 200); got.String() != `{"items":[]}` {
			t.Errorf("found %s", got)
		}
		if got := r.Do("POST", "/store/namespaces", `{}`, "X-Api-Key", rig.KeyB).Want(t, 200); got.String() != `[["users","b"]]` {
			t.Errorf("listed %s", got)
		}
		r.Do("GET", "/store/items?namespace=users.a&key=k", "", "X-Api-Key", rig.KeyA).Want(t, 200, `"of":"a"`)
	},
	"agents.*.memory.history": func(t *testing.T) {
		for mode, want := range map[string][2]bool{"full": {true, true}, "last": {false, true}, "none": {false, false}} {
			body := lastPrompt(t, "history: "+mode, "first words", "second words", "third")
			if got := [2]bool{strings.Contains(body, "first words"), strings.Contains(body, "second words")}; got != want {
				t.Errorf("%s: the third task received the first and second turn: %v in %s", mode, got, body)
			}
		}
	},
	"agents.*.memory.mode": func(t *testing.T) {
		for mode, want := range map[string][2]bool{"prompt": {true, false}, "additional_input": {false, true}, "both": {true, true}} {
			body := lastPrompt(t, "mode: "+mode, "first words", "second")
			var task struct {
				Input      string
				Additional json.RawMessage `json:"additional_input"`
			}
			if err := json.Unmarshal([]byte(body), &task); err != nil {
				t.Fatal(err)
			}
			got := [2]bool{strings.Contains(task.Input, "first words"), strings.Contains(string(task.Additional), "first words")}
			if got != want {
				t.Errorf("%s: received in the prompt, in additional_input: %v in %s", mode, got, body)
			}
		}
	},
	"agents.*.memory.namespaces": func(t *testing.T) {
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		r := rig.Configured(t, "agents: {a: {url: $A, memory: {namespaces: ['users/{user}']}}}", map[string]http.Handler{"a": agent})
		r.Do("PUT", "/store/items", `{"namespace":["users","u1"],"key":"k","value":{"likes":"tea"}}`).Want(t, 204)
		r.Do("POST", "/runs/wait", `{"input":"hi","config":{"configurable":{"user":"u1"}}}`).Want(t, 200)
		r.Do("POST", "/runs/wait", `{"input":"hi","config":{"configurable":{"user":"u2"}}}`).Want(t, 200)
		if c := agent.Creates(); len(c) != 2 || !strings.Contains(c[0], "tea") || strings.Contains(c[1], "tea") {
			t.Errorf("the agent received %s", c)
		}
	},
	"agents.*.memory.allow_writes": func(t *testing.T) {
		for writes, status := range map[string]int{"true": 200, "false": 404} {
			agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
				{Output: `"one"`, Additional: `{"memory":[{"namespace":["notes"],"key":"k","value":{"a":1}}]}`, Last: true},
			}}
			r := rig.Configured(t, "agents: {a: {url: $A, memory: {namespaces: [notes], allow_writes: "+writes+"}}}", map[string]http.Handler{"a": agent})
			r.Wait("hi").Want(t, 200)
			r.Do("GET", "/store/items?namespace=notes&key=k&flavour=agentprotocol", "").Want(t, status)
		}
	},
}

// lastPrompt returns the body with which an agent receives the last of several turns.
func lastPrompt(t *testing.T, memory string, turns ...string) string {
	t.Helper()
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"Done"`, Last: true}}}
	r := rig.Configured(t, "agents: {a: {url: $A, memory: {"+memory+"}}}", map[string]http.Handler{"a": agent})
	th := r.Thread()
	for _, words := range turns {
		r.On(th, `{"input":{"messages":[{"type":"human","content":"`+words+`"}]}}`).Want(t, 200)
	}
	c := agent.Creates()
	if len(c) != len(turns) {
		t.Fatalf("%d tasks were created", len(c))
	}
	return c[len(c)-1]
}
