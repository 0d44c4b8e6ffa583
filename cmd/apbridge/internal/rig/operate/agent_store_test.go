package operate

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// storing starts a bridge that uses its agent's store.
func storing(t *testing.T, change ...func(*config.Config)) (*rig.Bridge, *adaptertest.ThreadAgent) {
	t.Helper()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL)})
	cfg.Store.Agent = "agent"
	for _, f := range change {
		f(cfg)
	}
	return rig.StartBridge(t, cfg), agent
}

// TestItemsInTheAgentsStore checks that the agent's graph finds a client's items, and a client the graph's items.
// Without the setting the two stores are separate.
func TestItemsInTheAgentsStore(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"the agent's": false, "the bridge's own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, agent := storing(t, func(c *config.Config) {
				if own {
					c.Store.Agent = ""
				}
			})
			agent.Keep("tea", `{"text":"green"}`, "users", "ada")
			b.Do("PUT", "/store/items", `{"namespace":["users","bob"],"key":"tea","value":{"text":"black"}}`).Is(204)
			if got := agent.Kept("tea", "users", "bob"); (got != "") == own {
				t.Errorf("the agent has %q", got)
			}
			if got := b.Get("/store/items?namespace=users.ada&key=tea").OK(); (got.At("value.text") == "green") == own {
				t.Errorf("the client reads %s", got.Body)
			}
			want := []any{"ada", "bob"}
			if own {
				want = want[1:]
			}
			found := b.Post("/store/items/search", `{"namespace_prefix":["users"]}`).OK()
			if diff := cmp.Diff(want, rig.Pluck(found.List("items"), "namespace.1")); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			if got := b.Post("/store/namespaces", `{"limit":10,"offset":0}`).OK().List("namespaces"); len(got) != len(want) {
				t.Errorf("namespaces: %v", got)
			}
			b.Do("DELETE", "/store/items", `{"namespace":["users","bob"],"key":"tea"}`).Is(204)
			if got := b.Get("/store/items?namespace=users.bob&key=tea").OK(); got.String() != "null" || agent.Kept("tea", "users", "bob") != "" {
				t.Errorf("the deleted item still exists: %s", got.Body)
			}
			status := 422
			if own {
				status = 200
			}
			b.Post("/store/items/search", `{"namespace_prefix":["users"],"sort_by":"key"}`).Is(status)
		})
	}
}

// TestAccessToTheAgentsStore checks access with keys that are limited to namespaces, rights or agents.
func TestAccessToTheAgentsStore(t *testing.T) {
	t.Parallel()
	b, agent := storing(t, func(c *config.Config) {
		c.Agents["other"] = c.Agents["agent"]
		c.Auth.Keys = []config.Key{
			{ID: "all", Key: "the key of all items"},
			{ID: "ada", Key: "the key of one user", Namespaces: []string{"users/ada"}},
			{ID: "two", Key: "the key of two users", Namespaces: []string{"users/ada", "users/bob"}},
			{ID: "own", Key: "the key of a guest", Scope: "own"},
			{ID: "reader", Key: "the key of a reader", Rights: []string{mapping.RightRead}},
			{ID: "apart", Key: "the key of another agent", Agents: []string{"other"}},
		}
	})
	agent.Keep("tea", `{}`, "users", "ada")
	agent.Keep("tea", `{}`, "users", "bob")
	agent.Keep("tea", `{}`, "staff", "eve")
	keys := map[string]string{"all": "the key of all items", "ada": "the key of one user", "two": "the key of two users", "own": "the key of a guest", "reader": "the key of a reader", "apart": "the key of another agent"}
	do := func(who, method, path, body string) rig.Answer {
		return b.Do(method, path, body, "x-api-key", keys[who])
	}
	for who, want := range map[string]struct {
		read, write, bob int // statuses
		found, named     int // number of items; -1: refused
		below            int
	}{
		"all":    {200, 204, 200, 3, 3, 2},
		"ada":    {200, 204, 403, 1, 1, 1},
		"two":    {200, 204, 200, -1, -1, -1},
		"own":    {403, 403, 403, 0, 0, 0},
		"reader": {200, 403, 200, 3, 3, 2},
		"apart":  {403, 403, 403, -1, -1, -1},
	} {
		if got := do(who, "GET", "/store/items?namespace=users.ada&key=tea", ""); got.Status != want.read {
			t.Errorf("%s reads: %d %s", who, got.Status, got.Body)
		}
		if got := do(who, "GET", "/store/items?namespace=users.bob&key=tea", ""); got.Status != want.bob {
			t.Errorf("%s reads bob's item: %d %s", who, got.Status, got.Body)
		}
		if got := do(who, "PUT", "/store/items", `{"namespace":["users","ada"],"key":"tea","value":{}}`); got.Status != want.write {
			t.Errorf("%s writes: %d %s", who, got.Status, got.Body)
		}
		if got := do(who, "DELETE", "/store/items", `{"namespace":["users","ada"],"key":"nothing"}`); got.Status != want.write {
			t.Errorf("%s deletes: %d %s", who, got.Status, got.Body)
		}
		count := func(got rig.Answer, list string) int {
			if got.Status == 403 {
				return -1
			}
			return len(got.OK().List(list))
		}
		if got := count(do(who, "POST", "/store/items/search", `{"namespace_prefix":[]}`), "items"); got != want.found {
			t.Errorf("%s finds %d items", who, got)
		}
		if got := count(do(who, "POST", "/store/items/search", `{"namespace_prefix":["users"]}`), "items"); got != want.below {
			t.Errorf("%s finds %d items below users", who, got)
		}
		if got := count(do(who, "POST", "/store/namespaces", `{"limit":10,"offset":0}`), "namespaces"); got != want.named {
			t.Errorf("%s sees %d namespaces", who, got)
		}
	}
	if got := do("two", "POST", "/store/items/search", `{"namespace_prefix":["users","bob"]}`).OK().List("items"); len(got) != 1 {
		t.Errorf("first page: %v", got)
	}
	if got := do("ada", "POST", "/store/namespaces", `{"prefix":["*","bob"],"limit":10,"offset":0}`).OK().List("namespaces"); len(got) != 0 {
		t.Errorf("pattern: %v", got)
	}
}

// TestAgentWithoutStore checks that requests to the store name the agent in their error if the agent is unavailable or
// uses tasks and steps.
func TestAgentWithoutStore(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct {
		status int
		code   string
	}{
		adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL: {422, mapping.CodeNotSupported},
		"http://127.0.0.1:9": {502, mapping.CodeUpstreamUnreachable},
	} {
		cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(url)})
		cfg.Store.Agent = "agent"
		b := rig.StartBridge(t, cfg)
		b.Do("PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{}}`).Want(t, want.status, want.code)
		b.Get("/store/items?namespace=a&key=k").Want(t, want.status, want.code)
		b.Do("DELETE", "/store/items", `{"namespace":["a"],"key":"k"}`).Want(t, want.status, want.code)
		b.Post("/store/items/search", `{"namespace_prefix":["a"]}`).Want(t, want.status, want.code)
		b.Post("/store/namespaces", `{}`).Want(t, want.status, want.code)
	}
}
