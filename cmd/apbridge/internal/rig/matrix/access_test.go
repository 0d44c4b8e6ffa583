package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/coder/websocket"
)

const (
	keyOfCarol = "carol-0123456789abcdef" // of A's tenant, and sees its own
	keyOfDave  = "dave--0123456789abcdef" // of A's tenant, may only use agent b
	keyOfErin  = "erin--0123456789abcdef" // of A's tenant, and expired
)

// keysOfEachKind has keys of each kind. For each right there is a key with all other rights, and for each set of rights
// that a route needs there is a key with exactly those.
func keysOfEachKind(needs map[rig.Route][]string) string {
	var b strings.Builder
	b.WriteString(`
default_agent: a
trusted_proxies: [127.0.0.1]
auth:
  keys:
    - {id: alice, key: 'env:KEY_A', tenant: acme}
    - {id: bob, key: 'env:KEY_B', tenant: other}
    - {id: carol, key: ` + keyOfCarol + `, tenant: acme, scope: own}
    - {id: dave, key: ` + keyOfDave + `, tenant: acme, agents: [b]}
    - {id: erin, key: ` + keyOfErin + `, tenant: acme, expires: 2020-01-01T00:00:00Z}
`)
	line := func(key string, rights []string) {
		b.WriteString("    - {id: " + key + ", key: " + key + ", tenant: acme, rights: [" + strings.Join(rights, ", ") + "]}\n")
	}
	for _, right := range mapping.Rights() {
		line(without(right), slices.DeleteFunc(mapping.Rights(), func(r string) bool { return r == right }))
	}
	done := map[string]bool{}
	for _, rights := range append(slices.Collect(maps.Values(needs)), forMetrics, toCancelByReading) {
		if key := with(rights); len(rights) > 0 && !done[key] {
			done[key] = true
			line(key, rights)
		}
	}
	return b.String() + "agents:\n  a: {url: $A, passthrough: true}\n  b: {url: $A}"
}

// Rights that no route needs, but a path or a part of a request does.
var (
	forMetrics        = []string{"metrics"}
	toCancelByReading = []string{"read", "run"}
)

func without(right string) string { return "without-0123456789-" + right }
func with(rights []string) string { return "with-0123456789-" + strings.Join(rights, "-") }

// guarded adds access to the database.
type guarded struct {
	*belongings
	database string
}

func newGuarded(t *testing.T, needs map[rig.Route][]string) *guarded {
	t.Helper()
	database := storetest.DSN(t)
	e := newEstate(t, "database: "+database+"\ninspector: {capture: all}"+keysOfEachKind(needs))
	e.looked()
	return &guarded{e, database}
}

// dump returns an export of the database.
func (e *guarded) dump() string {
	e.T.Helper()
	var b bytes.Buffer
	if _, err := archive.Export(e.T.Context(), e.database, nil, &b, func(int64) {}); err != nil {
		e.T.Fatal(err)
	}
	return b.String()
}

// TestEveryOperationChecksTheCaller calls every operation of every dialect and of the inspector without a key, with a
// wrong and an expired key, with a key of another tenant, of another owner and for another agent, and with every right
// except the one that it needs. It checks that the request is refused and that the database is unchanged. Then it calls
// the operation with keys that only have the required right.
func TestEveryOperationChecksTheCaller(t *testing.T) {
	t.Parallel()
	needs := rig.Needs(t)
	e := newGuarded(t, needs)
	routes := inOrder(slices.Concat(rig.Routes(t), rig.Pages(t)))
	for _, c := range []struct {
		name  string
		ask   func(t *testing.T, m rig.Route)
		makes bool // of its own
	}{
		{"no key", e.refused(""), false},
		{"a wrong key", e.refused("wrong"), false},
		{"an expired key", e.refused(keyOfErin), false},
		{"a right missing", func(t *testing.T, m rig.Route) { e.lacking(t, m, needs[m]) }, false},
		{"another tenant", func(t *testing.T, m rig.Route) { e.unseen(t, rig.KeyB, m) }, true},
		{"another owner", func(t *testing.T, m rig.Route) { e.unseen(t, keyOfCarol, m) }, true},
		{"another agent", func(t *testing.T, m rig.Route) {
			if !shared(m) {
				e.naming("b").unseen(t, keyOfDave, m)
			}
		}, true},
	} {
		before := e.dump()
		for _, m := range routes {
			c.ask(t, m)
		}
		e.unchanged(t, c.name, before, c.makes)
	}
	for _, m := range routes {
		if rights := needs[m]; len(rights) > 0 {
			e.seen(t, with(rights), m)
		}
	}
}

// unchanged checks that no row has changed, except for new objects of keys that may create their own.
func (e *guarded) unchanged(t *testing.T, by, before string, makes bool) {
	t.Helper()
	after := e.dump()
	if !makes && before != after {
		t.Errorf("%s: the database has changed:\n%s", by, difference(before, after))
	}
	if lost := difference(before, after); strings.Contains(lost, "\n-") {
		t.Errorf("%s: rows were removed or changed:\n%s", by, lost)
	}
}

// difference returns the lines that are only in one text.
func difference(before, after string) string {
	count := map[string]int{}
	for line := range strings.Lines(after) {
		count[line]++
	}
	var b strings.Builder
	b.WriteString("\n")
	for line := range strings.Lines(before) {
		if count[line]--; count[line] < 0 && !isFrame(line) {
			b.WriteString("-" + line)
		}
	}
	for line, n := range count {
		if n > 0 && !isFrame(line) {
			b.WriteString("+" + line)
		}
	}
	return b.String()
}

// isFrame reports whether a line of an export is about the export itself.
func isFrame(line string) bool { return !strings.HasPrefix(line, `{"table"`) }

// open reports whether a route is public.
func open(m rig.Route) bool { return m.Path == "/ok" || strings.Contains(m.Path, "/.well-known/") }

// isRPC reports whether the right depends on the body (TestPartsOfRequestsNeedRights).
func isRPC(m rig.Route) bool {
	return strings.TrimSuffix(m.Path, "/") == "/a2a/{agent}" || strings.HasSuffix(m.Path, "/commands")
}

// isForbidden reports whether a response is a refusal in the form of the path's dialect.
func isForbidden(m rig.Route, got string) bool {
	return strings.Contains(got, "forbidden") || strings.HasPrefix(m.Path, "/a2a/") && strings.Contains(got, "PERMISSION_DENIED")
}

// refused sends each request from another address, because the bridge stops checking the keys of an address after many
// wrong ones.
func (e *belongings) refused(key string) func(*testing.T, rig.Route) {
	n := 0
	return func(t *testing.T, m rig.Route) {
		t.Helper()
		if open(m) {
			return
		}
		path, a := e.fill(t, m)
		n++
		a.headers = append(a.headers, "X-Forwarded-For", fmt.Sprintf("10.0.%d.%d", n/250, n%250))
		if got := e.put(key, m.Method, path, a); got.Status != 401 {
			t.Errorf("%s %s with key %q: %d %s, want 401", m.Method, path, key, got.Status, got.String())
		}
	}
}

// lacking sends the request with all rights except one of those that the route needs.
func (e *belongings) lacking(t *testing.T, m rig.Route, needs []string) {
	t.Helper()
	path, a := e.fill(t, m)
	for _, right := range needs {
		if got := e.put(without(right), m.Method, path, a); got.Status != 403 || !a.endless && !isForbidden(m, got.String()) {
			t.Errorf("%s %s without the right to %s: %d %s", m.Method, path, right, got.Status, got.String())
		}
	}
	if len(needs) == 0 && !open(m) && !strings.HasSuffix(m.Path, "/heartbeat") && !isRPC(m) && !isRefused(m) {
		t.Errorf("%s %s needs no right and is not public", m.Method, m.Path)
	}
}

// isRefused reports whether a route is always refused, for every caller.
func isRefused(m rig.Route) bool {
	return m.Method == "PATCH" && strings.HasSuffix(m.Path, "/state") || strings.HasPrefix(m.Path, "/ui/")
}

// TestPartsOfRequestsNeedRights checks the rights that are needed because of a body, a query, a frame or a path below
// an agent.
func TestPartsOfRequestsNeedRights(t *testing.T) {
	t.Parallel()
	e := newGuarded(t, rig.Needs(t))
	thread := "/threads/" + e.ids["thread_id"]
	before := e.dump()
	for _, x := range []struct{ right, method, path, body string }{
		{"run", "POST", thread + "/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"a","input":"x"}}`},
		{"run", "POST", thread + "/commands", `{"id":1,"method":"input.respond","params":{}}`},
		{"run", "POST", thread + "/commands", `{"id":1,"method":"input.inject","params":{}}`},
		{"run", "POST", thread + "/commands", `{"id":1,"method":"state.fork","params":{}}`},
		{"read", "POST", thread + "/commands", `{"id":1,"method":"state.get"}`},
		{"read", "POST", thread + "/commands", `{"id":1,"method":"state.listCheckpoints"}`},
		{"read", "POST", thread + "/commands", `{"id":1,"method":"agent.getTree"}`},
		{"read", "POST", thread + "/commands", `{"id":1,"method":"none.such"}`},
		{"run", "GET", thread + "/runs/" + e.ids["run_id"] + "/stream?cancel_on_disconnect=true", ""},
		{"run", "GET", thread + "/runs/" + e.ids["run_id"] + "/join?cancel_on_disconnect=true", ""},
		{"run", "POST", thread + "/runs/" + e.ids["run_id"] + "/stream", `{"cancel_on_disconnect":true}`},
		{"run", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}}`},
		{"run", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{}}`},
		{"run", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{}}`},
		{"run", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{}}`},
		{"run", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/delete","params":{}}`},
		{"read", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}`},
		{"read", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`},
		{"read", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"tasks/resubscribe","params":{}}`},
		{"read", "POST", "/a2a/a", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard","params":{}}`},
		{"admin", "GET", "/agents/a/upstream/ap/v1/agent/tasks", ""},
		{"admin", "POST", "/agents/a/upstream/ap/v1/agent/tasks", `{"input":"x"}`},
		{"metrics", "GET", "/metrics", ""},
	} {
		word := "forbidden"
		if strings.HasPrefix(x.path, "/a2a/") {
			word = "no right to " + x.right
		}
		e.as(without(x.right), x.method, x.path, x.body).Want(t, 403, word)
		if x.method == "GET" {
			rights := []string{x.right}
			if x.right == "run" {
				rights = toCancelByReading
			}
			if got := e.as(with(rights), x.method, x.path, x.body).Status; got == 401 || got == 403 {
				t.Errorf("%s %s is refused with %d although the key has the rights %v", x.method, x.path, got, rights)
			}
		}
	}
	e.as(without("admin"), "GET", "/metrics", "").Want(t, 200, "apbridge_")
	e.as(without("run"), "GET", "/no/such/path", "").Want(t, 404)
	e.overSocket(t, thread)
	e.unchanged(t, "parts of requests", before, false)
}

// overSocket starts a run over a WebSocket with a key that may only read.
func (e *belongings) overSocket(t *testing.T, thread string) {
	t.Helper()
	conn, res, err := websocket.Dial(t.Context(), e.URL+thread+"/stream/events", &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {with([]string{"read"})}}})
	if err != nil {
		t.Fatal(err, res)
	}
	defer conn.CloseNow()
	for _, x := range []struct{ command, want string }{
		{`{"id":7,"method":"run.start","params":{"assistant_id":"a","input":"x"}}`, "no right to run"},
		{`{"id":7,"method":"state.get","params":{}}`, secretOfA},
	} {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(x.command)); err != nil {
			t.Fatal(err)
		}
		_, got, err := conn.Read(t.Context())
		if err != nil || !json.Valid(got) || !strings.Contains(string(got), x.want) || !strings.Contains(string(got), `"id":7`) {
			t.Errorf("response to %s: %s, %v", x.command, got, err)
		}
	}
}
