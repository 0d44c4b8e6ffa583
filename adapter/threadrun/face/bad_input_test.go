package face

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	aThread = "/threads/00000000-0000-7000-8000-000000000500"
	aRun    = "/runs/00000000-0000-7000-8000-000000000600"
)

type badInput struct {
	name, method, path, body string
	status                   int
	says                     string // part of the message
}

func badRunInputs(path string) []badInput {
	list := []badInput{
		{"empty", "POST", path, ``, 422, "empty"},
		{"blank", "POST", path, " \n", 422, "empty"},
		{"no JSON", "POST", path, `{"a":`, 422, "not valid JSON"},
		{"two values", "POST", path, `{} {}`, 422, "more than one"},
		{"a list", "POST", path, `[]`, 422, "must be a JSON object"},
		{"one key twice", "POST", path, `{"input":1,"input":2}`, 422, "twice"},
		{"one key twice, within", "POST", path, `{"input":{"a":1,"a":2}}`, 422, "twice"},
		{"no UTF-8", "POST", path, "{\"input\":\"\xff\"}", 422, "not valid JSON"},
		{"too deep", "POST", path, `{"input":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`, 422, "deeper than 50"},
		{"too long", "POST", path, `{"input":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "longer than"},
		{"assistant_id", "POST", path, `{"assistant_id":1}`, 422, "assistant_id must be a string, not a number"},
		{"empty assistant_id", "POST", path, `{"assistant_id":""}`, 422, "assistant_id must not be empty"},
		{"agent_id", "POST", path, `{"agent_id":{}}`, 422, "agent_id must be a string"},
		{"assistant_id with U+0000", "POST", path, `{"assistant_id":"a\u0000"}`, 422, "assistant_id must be UTF-8 without U+0000"},
		{"interrupt_before with U+0000", "POST", path, `{"interrupt_before":["\u0000"]}`, 422, "interrupt_before.0 must be UTF-8 without U+0000"},
		{"messages", "POST", path, `{"messages":{}}`, 422, "messages must be a list"},
		{"metadata", "POST", path, `{"metadata":[]}`, 422, "metadata must be an object, not a list"},
		{"context", "POST", path, `{"context":"x"}`, 422, "context must be an object"},
		{"config", "POST", path, `{"config":true}`, 422, "config must be an object"},
		{"config.tags", "POST", path, `{"config":{"tags":[1]}}`, 422, "config.tags.0 must be a string"},
		{"config.recursion_limit", "POST", path, `{"config":{"recursion_limit":0}}`, 422, "config.recursion_limit must be a whole number"},
		{"config.configurable", "POST", path, `{"config":{"configurable":[]}}`, 422, "config.configurable must be an object"},
		{"command", "POST", path, `{"command":"go"}`, 422, "command must be an object"},
		{"command.update", "POST", path, `{"command":{"update":3}}`, 422, "command.update must be an object"},
		{"a misspelt field", "POST", path, `{"assistant_id":"a","inptu":"x"}`, 422, "inptu is not a field of this request. Did you mean input?"},
		{"a field in camel case", "POST", path, `{"assistantId":"a"}`, 422, "assistantId is not a field of this request. Did you mean assistant_id?"},
		{"command.goto", "POST", path, `{"command":{"resume":1,"goto":5}}`, 422, "command.goto must be the name of a node"},
		{"command.goto with a list", "POST", path, `{"command":{"resume":1,"goto":["act",5]}}`, 422, "command.goto must be the name of a node"},
		{"command.goto without a node", "POST", path, `{"command":{"resume":1,"goto":{"input":{}}}}`, 422, "command.goto must be the name of a node"},
		{"a misspelt command", "POST", path, `{"command":{"resum":true}}`, 422, "command.resum is not a field of this request. Did you mean command.resume?"},
		{"stream_mode", "POST", path, `{"assistant_id":"a","stream_mode":"loud"}`, 422, `unknown mode "loud". The modes are values, updates, messages, messages-tuple,`},
		{"stream_mode's type", "POST", path, `{"stream_mode":{}}`, 422, "stream_mode must be a string or a list"},
		{"stream_mode's elements", "POST", path, `{"stream_mode":[1]}`, 422, "stream_mode.0 must be a string"},
		{"stream_subgraphs", "POST", path, `{"stream_subgraphs":"yes"}`, 422, "stream_subgraphs must be true or false"},
		{"stream_resumable", "POST", path, `{"stream_resumable":1}`, 422, "stream_resumable must be true or false"},
		{"feedback_keys", "POST", path, `{"feedback_keys":"x"}`, 422, "feedback_keys must be a list"},
		{"interrupt_before", "POST", path, `{"interrupt_before":3}`, 422, "or a list of nodes' names"},
		{"interrupt_before with a name", "POST", path, `{"interrupt_before":"plan"}`, 422, "or a list of nodes' names"},
		{"interrupt_after", "POST", path, `{"interrupt_after":{"a":1}}`, 422, "or a list of nodes' names"},
		{"checkpoint", "POST", path, `{"checkpoint":"x"}`, 422, "checkpoint must be an object"},
		{"checkpoint.checkpoint_id", "POST", path, `{"checkpoint":{"checkpoint_id":"x"}}`, 422, "checkpoint.checkpoint_id must be a UUID"},
		{"checkpoint of a subgraph", "POST", path, `{"checkpoint":{"checkpoint_ns":"sub:1"}}`, 422, "checkpoint.checkpoint_ns must be empty"},
		{"checkpoint_id", "POST", path, `{"checkpoint_id":"x"}`, 422, "checkpoint_id must be a UUID"},
		{"webhook", "POST", path, `{"webhook":"file:///etc/passwd"}`, 422, "webhook must be an http or https URL"},
		{"multitask_strategy", "POST", path, `{"multitask_strategy":"fight"}`, 422, "multitask_strategy must be one of"},
		{"on_completion", "POST", path, `{"on_completion":"explode"}`, 422, "on_completion must be one of"},
		{"on_disconnect", "POST", path, `{"on_disconnect":1}`, 422, "on_disconnect must be a string"},
		{"after_seconds", "POST", path, `{"after_seconds":-1}`, 422, "after_seconds must be a whole number"},
		{"if_not_exists", "POST", path, `{"if_not_exists":"maybe"}`, 422, "if_not_exists must be one of"},
		{"durability", "POST", path, `{"durability":"rock"}`, 422, "durability must be one of"},
		{"langsmith_tracer", "POST", path, `{"langsmith_tracer":1}`, 422, "langsmith_tracer must be an object"},
		{"thread_id", "POST", path, `{"thread_id":"x"}`, 422, "thread_id must be a UUID"},
	}
	if strings.HasPrefix(path, "/threads") {
		list = append(list, badInput{"deleting a thread that was named", "POST", path, `{"on_completion":"delete"}`, 422, "on_completion can only be delete for"})
	} else {
		list = append(list, badInput{"a mode of the other flavour", "POST", path, `{"agent_id":"a","stream_mode":"messages-tuple"}`, 422, `unknown mode "messages-tuple". The modes are values, messages, updates, custom.`})
	}
	return list
}

func otherBadInputs() []badInput {
	return []badInput{
		{"thread id in the path", "GET", "/threads/x", ``, 422, "thread_id must be a UUID"},
		{"thread id of a run", "POST", "/threads/x/runs", `{}`, 422, "thread_id must be a UUID"},
		{"run id in the path", "GET", aThread + "/runs/x", ``, 422, "run_id must be a UUID"},
		{"run id, agent protocol", "GET", "/runs/x", ``, 422, "run_id must be a UUID"},
		{"fixed path, wrong method", "GET", "/threads/search", ``, 405, "This route accepts POST."},
		{"fixed path of runs, wrong method", "DELETE", "/runs/wait", ``, 405, "This route accepts POST."},
		{"a query with a broken escape", "GET", aThread + "/runs?limit=%zz", ``, 422, "query"},
		{"a query with a semicolon", "GET", "/store/items?namespace=n;key=k", ``, 422, "query"},
		{"a query that a route does not read", "POST", "/threads?a=%", `{}`, 422, "query"},
		{"create: thread_id", "POST", "/threads", `{"thread_id":"x"}`, 422, "thread_id must be a UUID"},
		{"create: empty thread_id", "POST", "/threads", `{"thread_id":""}`, 422, "thread_id must be a UUID"},
		{"create: metadata", "POST", "/threads", `{"metadata":1}`, 422, "metadata must be an object"},
		{"create: if_exists", "POST", "/threads", `{"if_exists":"x"}`, 422, "if_exists must be one of"},
		{"create: ttl", "POST", "/threads", `{"ttl":{"ttl":-1}}`, 422, "ttl.ttl must be a number of minutes"},
		{"create: ttl strategy", "POST", "/threads", `{"ttl":{"ttl":1,"strategy":"burn"}}`, 422, "ttl.strategy must be one of"},
		{"create: supersteps", "POST", "/threads", `{"supersteps":[1]}`, 422, "supersteps.0 must be an object"},
		{"create: superstep values", "POST", "/threads", `{"supersteps":[{"updates":[{"values":[1]}]}]}`, 422, "values.0 must be an object"},
		{"create: ttl without a time", "POST", "/threads", `{"ttl":{"strategy":"keep_latest"}}`, 422, "ttl.ttl is required with a strategy"},
		{"create: a byte order mark", "POST", "/threads", "\xef\xbb\xbf{}", 422, "byte order mark"},
		{"create: UTF-16", "POST", "/threads", "\xff\xfe{\x00}\x00", 422, "byte order mark"},
		{"create: bad JSON", "POST", "/threads", `{`, 422, "not valid JSON"},
		{"patch: empty", "PATCH", aThread, ``, 422, "empty"},
		{"patch: values", "PATCH", aThread, `{"values":[]}`, 422, "values must be an object"},
		{"patch: messages", "PATCH", aThread, `{"messages":{}}`, 422, "messages must be a list"},
		{"patch: a message without content", "PATCH", aThread, `{"messages":[{"role":"user"}]}`, 422, "content"},
		{"patch: checkpoint", "PATCH", aThread, `{"checkpoint":{"checkpoint_id":3}}`, 422, "checkpoint.checkpoint_id must be a string"},
		{"search: status", "POST", "/threads/search", `{"status":"asleep"}`, 422, "status must be one of"},
		{"search: limit 0", "POST", "/threads/search", `{"limit":0}`, 422, "limit must be a whole number from 1 to 1000"},
		{"search: limit 1001", "POST", "/threads/search", `{"limit":1001}`, 422, "limit must be a whole number from 1 to 1000"},
		{"search: half a limit", "POST", "/threads/search", `{"limit":1.5}`, 422, "limit must be a whole number"},
		{"search: limit as text", "POST", "/threads/search", `{"limit":"5"}`, 422, "limit must be a number, not a string"},
		{"search: offset", "POST", "/threads/search", `{"offset":-1}`, 422, "offset must be a whole number"},
		{"store search: sort_by", "POST", "/store/items/search", `{"sort_by":"value"}`, 422, "sort_by must be one of"},
		{"store search: search_by", "POST", "/store/items/search", `{"query":"q","search_by":"luck"}`, 422, "search_by must be one of meaning, words"},
		{"store search: search_by without a query", "POST", "/store/items/search", `{"search_by":"words"}`, 422, "search_by needs a query"},
		{"store search: sort_by score", "POST", "/store/items/search", `{"sort_by":"score"}`, 422, "sort_by can only be score with a query"},
		{"search: sort_by", "POST", "/threads/search", `{"sort_by":"mood"}`, 422, "sort_by must be one of"},
		{"search: sort_order", "POST", "/threads/search", `{"sort_order":"up"}`, 422, "sort_order must be one of"},
		{"search: ids", "POST", "/threads/search", `{"ids":["x"]}`, 422, "ids must be a list of UUIDs"},
		{"search: select context", "POST", "/threads/search", `{"select":["context"]}`, 422, `unknown field "context"`},
		{"search: select", "POST", "/threads/search", `{"select":["soul"]}`, 422, `unknown field "soul"`},
		{"search: extract", "POST", "/threads/search", `{"extract":{"a":"soul.b"}}`, 422, "extract.a must be a path"},
		{"count: values", "POST", "/threads/count", `{"values":1}`, 422, "values must be an object"},
		{"prune: nothing", "POST", "/threads/prune", `{}`, 422, "thread_ids is required"},
		{"state: checkpoint", "GET", aThread + "/state/x", ``, 422, "checkpoint_id must be a UUID"},
		{"state: subgraphs", "GET", aThread + "/state?subgraphs=perhaps", ``, 422, "subgraphs must be true or false"},
		{"state update: empty", "POST", aThread + "/state", ``, 422, "empty"},
		{"state update: values", "POST", aThread + "/state", `{"values":"x"}`, 422, "values must be an object"},
		{"state update: a list of values", "POST", aThread + "/state", `{"values":[{"a":1},7]}`, 422, "values.1 must be an object"},
		{"state update: as_node", "POST", aThread + "/state", `{"as_node":1}`, 422, "as_node must be a string"},
		{"history: limit", "GET", aThread + "/history?limit=x", ``, 422, "limit must be a whole number"},
		{"history: before", "GET", aThread + "/history?before=x", ``, 422, "before must be a checkpoint's UUID"},
		{"history: before in the body", "POST", aThread + "/history", `{"before":[]}`, 422, "before must be a checkpoint or its id"},
		{"history: before within", "POST", aThread + "/history", `{"before":{"configurable":{"checkpoint_id":"x"}}}`, 422, "before.configurable.checkpoint_id must be a UUID"},
		{"runs: status", "GET", aThread + "/runs?status=odd", ``, 422, "status must be one of"},
		{"runs: limit", "GET", aThread + "/runs?limit=5000", ``, 422, "limit must be a whole number"},
		{"runs: agent protocol has no running", "POST", "/runs/search", `{"status":"running"}`, 422, "status must be one of"},
		{"runs: thread", "POST", "/runs/search", `{"thread_id":"x"}`, 422, "thread_id must be a UUID"},
		{"batch: no list", "POST", "/runs/batch", `{}`, 422, "batch must be a list"},
		{"batch: empty list", "POST", "/runs/batch", `[]`, 422, "a list of 1 to"},
		{"batch: empty body", "POST", "/runs/batch", ``, 422, "a list of 1 to"},
		{"batch: one of two", "POST", "/runs/batch", `[{"assistant_id":"legacy"},{"assistant_id":1}]`, 422, "batch.1.assistant_id must be a string"},
		{"batch: break-out", "POST", "/runs/batch", `[]},{"x":[]`, 422, ""},
		{"batch: more than a list", "POST", "/runs/batch", `[{"assistant_id":"legacy"}],"x":1`, 422, "a list of 1 to"},
		{"join: mode", "GET", aThread + aRun + "/stream?stream_mode=loud", ``, 422, `unknown mode "loud". The modes are values, updates, messages, messages-tuple,`},
		{"join: JSON modes", "GET", aThread + aRun + "/stream?stream_mode=%5B1%5D", ``, 422, "stream_mode must be a list of strings"},
		{"join: unknown run", "GET", aThread + "/runs/00000000-0000-7000-8000-000000000699/join", ``, 404, "no such run"},
		{"cancel: action", "POST", aThread + aRun + "/cancel?action=shout", ``, 422, "action must be one of"},
		{"cancel: wait", "POST", aThread + aRun + "/cancel?wait=2", ``, 422, "wait must be true or false"},
		{"cancel many: nothing named", "POST", "/runs/cancel", `{}`, 422, "run_ids and thread_id are required"},
		{"cancel many: named, and by a status", "POST", "/runs/cancel", `{"status":"all","thread_id":"00000000-0000-7000-8000-000000000050","run_ids":["00000000-0000-7000-8000-000000000060"]}`, 422, "status cannot be combined with run_ids"},
		{"assistants: limit", "POST", "/assistants/search", `{"limit":0}`, 422, "limit must be a whole number"},
		{"assistants: unknown", "GET", "/assistants/00000000-0000-7000-8000-000000000699", ``, 404, "no such agent"},
		{"latest: no version", "POST", "/assistants/legacy/latest", `{}`, 422, "version is required"},
		{"agents: name", "POST", "/agents/search", `{"name":1}`, 422, "name must be a string"},
		{"put: nothing", "PUT", "/store/items", `{}`, 422, "namespace is required"},
		{"put: root", "PUT", "/store/items", `{"namespace":[],"key":"k","value":{}}`, 422, "namespace must have at least one label"},
		{"put: dot", "PUT", "/store/items", `{"namespace":["a.b"],"key":"k","value":{}}`, 422, "non-empty labels without dots"},
		{"put: empty label", "PUT", "/store/items", `{"namespace":[""],"key":"k","value":{}}`, 422, "non-empty labels without dots"},
		{"put: empty key", "PUT", "/store/items", `{"namespace":["a"],"key":"","value":{}}`, 422, "key must not be empty"},
		{"put: value", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":[1]}`, 422, "value must be an object, not a list"},
		{"put: null value", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":null}`, 422, "value is required"},
		{"put: index", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{},"index":true}`, 422, "index must be false or a list"},
		{"put: ttl", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{},"ttl":"x"}`, 422, "ttl must be a number of minutes"},
		{"put: a key with U+0000", "PUT", "/store/items", `{"namespace":["a"],"key":"k\u0000","value":{}}`, 422, "key must be UTF-8 without U+0000"},
		{"put: a label with U+0000", "PUT", "/store/items", `{"namespace":["a","\u0000"],"key":"k","value":{}}`, 422, "namespace.1 must be UTF-8 without U+0000"},
		{"put: a broken surrogate", "PUT", "/store/items", `{"namespace":["a"],"key":"\ud800","value":{}}`, 422, "not valid JSON"},
		{"get: a key with U+0000", "GET", "/store/items?namespace=a&key=%00", ``, 422, "key must be UTF-8 without U+0000"},
		{"get: a namespace that is no UTF-8", "GET", "/store/items?namespace=a&namespace=%ff&key=k", ``, 422, "namespace must be UTF-8 without U+0000"},
		{"search: a prefix with U+0000", "POST", "/store/items/search", `{"namespace_prefix":["\u0000"]}`, 422, "namespace_prefix.0 must be UTF-8 without U+0000"},
		{"assistant with U+0000", "POST", "/assistants", `{"graph_id":"legacy","name":"\u0000"}`, 422, "name must be UTF-8 without U+0000"},
		{"state update: as_node with U+0000", "POST", aThread + "/state", `{"values":{},"as_node":"\u0000"}`, 422, "as_node must be UTF-8 without U+0000"},
		{"get: no key", "GET", "/store/items?namespace=a", ``, 422, "key is required"},
		{"delete: no key", "DELETE", "/store/items", `{"namespace":["a"]}`, 422, "key is required"},
		{"search: filter", "POST", "/store/items/search", `{"filter":[]}`, 422, "filter must be an object"},
		{"search: prefix", "POST", "/store/items/search", `{"namespace_prefix":"a"}`, 422, "namespace_prefix must be a list"},
		{"namespaces: depth", "POST", "/store/namespaces", `{"max_depth":0}`, 422, "max_depth must be a whole number"},
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	list := otherBadInputs()
	for _, path := range []string{"/runs", "/runs/wait", "/runs/stream", aThread + "/runs", aThread + "/runs/wait", aThread + "/runs/stream"} {
		for _, b := range badRunInputs(path) {
			if b.name == "thread_id" && strings.HasPrefix(path, "/threads") {
				continue
			}
			b.name = path + ": " + b.name
			list = append(list, b)
		}
	}
	f := newFake()
	f.prepare("thread: {}\nrun: legacy")
	srv := f.serve(t)
	for _, b := range list {
		checkRefusal(t, f, srv.URL, b)
	}
}

func checkRefusal(t *testing.T, f *fake, base string, b badInput) {
	t.Helper()
	req, _ := http.NewRequest(b.method, base+b.path, strings.NewReader(b.body))
	if b.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", b.name, err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	var e struct {
		Code, Message *string
		Detail        *json.RawMessage
	}
	if json.Unmarshal(body, &e) != nil || e.Code == nil || e.Message == nil || !strings.Contains(string(body), `"detail":`) {
		t.Errorf("%s: no error object: %s", b.name, body)
		return
	}
	if res.StatusCode != b.status || !strings.Contains(*e.Message, b.says) {
		t.Errorf("%s: %d %s, want %d %q", b.name, res.StatusCode, body, b.status, b.says)
	}
	if strings.HasSuffix(*e.Message, "?.") || strings.HasSuffix(*e.Message, "..") {
		t.Errorf("%s: the message ends with two full stops: %s", b.name, *e.Message)
	}
	if len(f.written) > 0 {
		t.Errorf("%s: something was written: %v", b.name, f.written)
		f.written = nil
	}
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, encoding string
		status                int
	}{
		{"application/json", "", 200},
		{"application/json; charset=utf-8", "", 200},
		{"application/vnd.api+json", "", 200},
		{"text/plain;charset=UTF-8", "", 200},
		{"", "", 200},
		{"application/x-www-form-urlencoded", "", 415},
		{"multipart/form-data; boundary=x", "", 415},
		{"text/html", "", 415},
		{"application/json; charset=latin1", "", 415},
		{"text/plain; charset=utf-16", "", 415},
		{"application/json", "gzip", 415},
	} {
		srv := newFake().serve(t)
		req, _ := http.NewRequest("POST", srv.URL+"/threads", strings.NewReader(`{}`))
		req.Header["Content-Type"] = nil
		if c.contentType != "" {
			req.Header.Set("Content-Type", c.contentType)
		}
		if c.encoding != "" {
			req.Header.Set("Content-Encoding", c.encoding)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%q %q: %d, want %d", c.contentType, c.encoding, res.StatusCode, c.status)
		}
	}
}

// Python clients send null for missing values. All kinds of clients send extra keys.
func TestNullsAndExtraKeys(t *testing.T) {
	t.Parallel()
	var nulls []string
	for _, name := range runFields {
		nulls = append(nulls, `"`+name+`":null`)
	}
	body := `{` + strings.Join(nulls, ",") + `,"someday":{"x":[1]},"assistantId":7}`
	for _, path := range []string{"/runs", "/runs/wait", "/runs/stream", aThread + "/runs", aThread + "/runs/wait"} {
		f := newFake()
		res, err := http.Post(f.serve(t).URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 || f.lastRun.HasInput || f.lastRun.Command != nil {
			t.Errorf("%s: %d, %+v", path, res.StatusCode, f.lastRun)
		}
	}
}
