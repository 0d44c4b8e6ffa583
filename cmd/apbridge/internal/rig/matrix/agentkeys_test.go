package matrix

import (
	"maps"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// oneTenant has two keys of one tenant. The second may only use agent b.
var oneTenant = strings.Replace(rig.TwoKeys, "tenant: other$ONLY", "tenant: acme, agents: [b]", 1) + "\n  b: {url: $A}"

// shared reports whether a route is shared by a tenant's keys, as is its long-term store.
func shared(m rig.Route) bool { return strings.Contains(m.Path, "/store/") }

// TestKeysNeverMeetOtherAgents requests objects of agent a on every route with a key of the same tenant that may only
// use agent b, and checks that they are not found. A key that may use both agents sends the same requests, to show that
// they are valid. The path names each of the agents once, since b exists for the key.
func TestKeysNeverMeetOtherAgents(t *testing.T) {
	t.Parallel()
	e := newEstate(t, oneTenant)
	routes := inOrder(rig.Routes(t))
	for _, agent := range []string{"a", "b"} {
		b := e.naming(agent)
		for _, m := range routes {
			if !shared(m) {
				b.asB(t, m)
			}
		}
	}
	e.outOfSight(t)
	for _, m := range routes {
		e.asA(t, m)
	}
}

// naming returns the belongings for a caller that uses b and names this agent in paths.
func (e *belongings) naming(agent string) *belongings {
	ids := maps.Clone(e.ids)
	ids["agent"], ids["agent_id"], ids["mine"] = agent, agent, "b"
	return &belongings{e.Bridge, ids}
}

// outOfSight checks that agent a's objects are unchanged, not counted, and not returned for ids that a key of agent b
// knows.
func (e *belongings) outOfSight(t *testing.T) {
	t.Helper()
	thread := e.ids["thread_id"]
	got := e.as(rig.KeyA, "GET", "/threads/"+thread+"/state", "").Want(t, 200, secretOfA)
	if strings.Contains(got.String(), `"k":1`) {
		t.Errorf("B changed A's state: %s", got.String())
	}
	e.as(rig.KeyA, "GET", "/ap/v1/agent/tasks/"+e.ids["task"]+"/artifacts/"+e.ids["artifact"], "").Want(t, 200, secretOfA)
	ofA := `{"metadata":{"graph_id":"a"}}`
	if n := e.as(rig.KeyB, "POST", "/threads/count", ofA).Want(t, 200).String(); strings.TrimSpace(n) != "0" {
		t.Errorf("B's count has %s threads of agent a", n)
	}
	e.as(rig.KeyB, "POST", "/threads", `{"thread_id":"`+thread+`","if_exists":"do_nothing"}`).Want(t, 409, "thread_exists")
	e.as(rig.KeyB, "POST", "/threads", ofA).Want(t, 404, "agent_not_found")
	e.as(rig.KeyB, "POST", "/threads/"+thread+"/runs", `{"assistant_id":"b","input":"x","if_not_exists":"create"}`).Want(t, 404, "thread_not_found")
	e.repeated(t, "/runs", `{"assistant_id":"a","input":"x"}`, "run_id", 404)
	e.repeated(t, "/threads", `{"metadata":{"k":1}}`, "thread_id", 422)
	e.repeated(t, "/runs/crons", `{"assistant_id":"a","schedule":"0 0 1 1 *"}`, "cron_id", 404)
	e.repeated(t, "/ap/v1/agent/tasks", `{"input":"x"}`, "task_id", 404)
	e.repeated(t, "/ap/v2/topics", `{"name":"x"}`, "topic_id", 404)
}

// repeated checks that the Idempotency-Key of A's request does not return the created object to B.
func (e *belongings) repeated(t *testing.T, path, body, id string, refused int) {
	t.Helper()
	made := e.as(rig.KeyA, "POST", path, body, "Idempotency-Key", "same").Member(id)
	got := e.as(rig.KeyB, "POST", path, body, "Idempotency-Key", "same").Want(t, refused)
	if made == "" || strings.Contains(got.String(), made) {
		t.Errorf("an idempotency key of A's gave B %s %q: %s", id, made, got.String())
	}
}
