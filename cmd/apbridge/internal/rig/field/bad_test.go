package field

import (
	"net/url"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// wrongValues lists, for each type, values in a body that no field of the type accepts.
var wrongValues = map[string][]string{
	"any":     nil,
	"object":  {`[1]`, `"x"`, `7`, `true`},
	"list":    {`{}`, `"x"`, `7`, `false`},
	"uuid":    {`"x"`, `7`, `{}`, `""`},
	"uuids":   {`"x"`, `["x"]`, `[1]`, `{}`},
	"limit":   {`0`, `1001`, `-1`, `1.5`, `"5"`, `{}`},
	"offset":  {`-1`, `1.5`, `"5"`, `[]`, `99999999999`},
	"enum":    {`"nonsense"`, `7`, `[]`, `""`},
	"names":   {`["nonsense"]`, `"x"`, `[1]`},
	"texts":   {`"x"`, `[1]`, `{}`, `true`},
	"text":    {`7`, `{}`, `[]`, `true`},
	"name":    {`7`, `{}`, `""`, `[]`},
	"bool":    {`"yes"`, `1`, `[]`, `{}`},
	"number":  {`"x"`, `-1`, `1.5`, `{}`, `99999999999`},
	"minutes": {`"x"`, `-1`, `0`, `{}`, `true`},
	"ttl":     {`"x"`, `-1`, `0`, `1e300`, `{"ttl":0}`, `{"ttl":1,"strategy":"burn"}`},
	"nodes":   {`7`, `{}`, `[1]`},
	"modes":   {`"nonsense"`, `["nonsense"]`, `7`, `[1]`, `{}`},
	"url":     {`"ftp://x/y"`, `7`, `"nothing"`, `"http://"`},
	"time":    {`"soon"`, `7`, `{}`},
	"before":  {`[]`, `"x"`, `7`, `{"checkpoint_id":"x"}`, `{"configurable":{"checkpoint_id":7}}`},
	"index":   {`true`, `"x"`, `{}`, `[1]`},
}

// wrongQuery is the same for values in the query.
var wrongQuery = map[string][]string{
	"hint": nil, "labels": nil, "label": {""},
	"uuid": {"x"}, "limit": {"0", "1001", "-1", "1.5", "x"}, "offset": {"-1", "x", "99999999999"}, "enum": {"nonsense"},
	"names": {"nonsense", "[1]", `["nonsense"]`}, "bool": {"perhaps", "2"}, "modes": {"nonsense", `["nonsense"]`, "[1]"}, "depth": {"deep", "-1", "101", "1.5"},
}

// malformed lists bodies that no route accepts. Routes that only accept an object also refuse a list.
var malformed = []string{`{"a":`, `nothing`, `"text"`, `7`, `{} {}`, `{"x":1,"x":2}`, "{\"x\":\"caf\xe9\"}", `{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`}

// snapshot returns the content of the bridge as its owner sees it, by request.
func (w *fixture) snapshot() map[string]string {
	w.T.Helper()
	all := map[string]string{}
	for _, op := range []string{
		`POST /threads/search {"limit":1000}`, `POST /runs/search {"limit":1000}`, `POST /runs/crons/search {"limit":1000}`, `POST /assistants/search {"limit":1000}`,
		`POST /store/items/search {"limit":1000}`, `POST /store/namespaces {}`, `GET /threads/{thread_id}/history?limit=1000`, `GET /threads/{thread one}/history?limit=1000`,
		`POST /assistants/{assistant_id}/versions {"limit":1000}`,
	} {
		method, rest := split(fill(w.ids, op))
		path, body, _ := strings.Cut(rest, " ")
		all[op] = string(w.Do(method, path, body).OK().Body)
	}
	return all
}

// badRequests lists invalid requests of an operation. A query may precede the body.
func badRequests(op string, o operation) (list []string) {
	query, body := strings.HasPrefix(o.base, "?"), strings.HasPrefix(o.base, "{") || strings.HasPrefix(o.base, "[")
	if body {
		list = append(list, malformed...)
		if strings.HasPrefix(o.base, "{") {
			list = append(list, `[]`, `[{}]`)
		} else {
			list = append(list, `{}`, `[]`, `[1]`, `[{"assistant_id":7}]`, `[{"assistant_id":"agent"},{"metadata":7}]`)
		}
	}
	if o.mandatory {
		list = append(list, "", " \n")
	}
	for _, f := range o.list() {
		values := wrongValues[f.kind]
		if f.query {
			values = wrongQuery[f.kind]
		}
		for _, v := range values {
			switch {
			case f.query && query:
				list = append(list, o.base+"&"+f.name+"="+url.QueryEscape(v))
			case f.query:
				list = append(list, "?"+f.name+"="+url.QueryEscape(v)+" "+o.base)
			default:
				list = append(list, merge(o.base, `{"`+f.name+`":`+v+`}`))
			}
		}
	}
	return list
}

// TestBadInputOnEveryThreadRunRoute checks that invalid input is refused with 422 and an object that describes the
// mistake, and that nothing is written. The routes come from the router, so a new one needs a row.
func TestBadInputOnEveryThreadRunRoute(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	before := w.snapshot()
	sent := 0
	for _, m := range rig.Routes(t) {
		op := m.Method + " " + m.Path
		if name, _ := rig.Documented(m); name != "threadrun" || refusedOperations[op] != "" || protocolOperations[op] {
			continue
		}
		o, ok := operations[op]
		if !ok {
			t.Errorf("%s has no row", op)
			continue
		}
		for _, f := range o.list() {
			if _, known := wrongValues[f.kind]; !f.query && !known {
				t.Errorf("%s: no wrong values for a %s", op, f.kind)
			}
			if _, known := wrongQuery[f.kind]; f.query && !known {
				t.Errorf("%s: no wrong values for a %s in a query", op, f.kind)
			}
		}
		for _, request := range badRequests(op, o) {
			sent++
			w.wantRefused(t, 422, m.Method, fill(w.ids, m.Path), fill(w.ids, request))
		}
		for name := range w.ids {
			if !strings.Contains(m.Path, "{"+name+"}") || name == "namespace" {
				continue
			}
			ids := map[string]string{name: "nonsense"}
			status := 422
			if name == "assistant_id" || name == "agent_id" {
				status = 404
			}
			sent++
			request := o.base
			if strings.HasPrefix(request, "?") {
				request = ""
			}
			w.wantRefused(t, status, m.Method, fill(w.ids, fill(ids, m.Path)), fill(w.ids, request))
		}
	}
	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
	if sent < 900 {
		t.Errorf("only %d requests were sent", sent)
	}
}

// wantRefused sends a request. A query may precede the body.
func (w *fixture) wantRefused(t *testing.T, status int, method, path, request string) {
	t.Helper()
	if strings.HasPrefix(request, "?") {
		query, body, _ := strings.Cut(request, " ")
		path, request = path+query, body
	}
	got := w.Do(method, path, request)
	fields, _ := got.At("").(map[string]any)
	_, detail := fields["detail"]
	if got.Status != status || rig.TextOf(fields["code"]) == "" || rig.TextOf(fields["message"]) == "" || !detail || len(fields) != 3 {
		t.Errorf("%s %s %.200s: %d, want %d: %.300s", method, path, request, got.Status, status, got.Body)
	}
}

// If one run of a batch is refused, none is started.
func TestBatchStartsAllRunsOrNone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	before := w.snapshot()
	for more, status := range map[string]int{
		`"assistant_id":"nobody"`: 404, `"command":{"goto":"x"}`: 422, `"webhook":"http://user:word@example.com/x"`: 422, `"checkpoint_id":"` + rig.NoneID + `"`: 404, `"thread_id":"` + rig.NoneID + `"`: 404,
	} {
		w.wantRefused(t, status, "POST", "/runs/batch", `[{"assistant_id":"agent","input":"hi"},{"input":"hi",`+more+`}]`)
	}
	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
	const fromSDK = `{"assistantId":"graph","assistant_id":"graph","input":"hi","streamMode":"values","onCompletion":"delete","multitaskStrategy":"reject"}` // JavaScript, createBatch
	if list := w.Post("/runs/batch", `[{"assistant_id":"agent","input":"hi"},`+fromSDK+`]`).OK().List(""); len(list) != 2 {
		t.Errorf("%v", list)
	}
}

// TestEveryRouteAcceptsNullsAndUnknownKeys checks that null and unknown keys are accepted. Python clients send null for
// missing values, and all kinds of clients send additional keys.
func TestEveryRouteAcceptsNullsAndUnknownKeys(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for op, o := range operations {
		if !strings.HasPrefix(o.base, "{") {
			continue
		}
		var nulls []string
		for _, f := range o.list() {
			if !f.query && !strings.Contains(o.base, `"`+f.name+`"`) {
				nulls = append(nulls, `"`+f.name+`":null`)
			}
		}
		requests := map[string]string{
			"nulls": merge(o.base, `{`+strings.Join(nulls, ",")+`}`), "unknown keys": merge(o.base, `{"someday":{"x":[1,{"y":null}]},"eval_id":7}`),
		}
		if !o.mandatory {
			requests["no body"] = ""
		}
		for name, body := range requests {
			ids := w.ids
			if family(op) == "RUN" {
				ids = map[string]string{"thread_id": strings.TrimPrefix(w.Thread(), "/threads/")}
			}
			method, path := split(op)
			if got := w.Do(method, fill(ids, path), fill(ids, body)); got.Status/100 != 2 {
				t.Errorf("%s, %s: %d %.300s", op, name, got.Status, got.Body)
			} else if ignored := got.Header.Get("X-Apbridge-Ignored"); name == "unknown keys" && ignored != "eval_id, someday" || name != "unknown keys" && ignored != "" {
				t.Errorf("%s, %s: X-Apbridge-Ignored is %q", op, name, ignored)
			}
		}
	}
}
