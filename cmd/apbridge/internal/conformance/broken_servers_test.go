package conformance_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
)

const (
	nobody = "00000000-0000-4000-8000-00000000c0de"
	uuid   = "[0-9a-f]{8}-[0-9a-f-]{27}"
)

// brokenServers break one rule each, by dialect and check.
var brokenServers = map[string][]fault{
	"v1": {
		{"task.create", `^POST /ap/v1/agent/tasks .*checked`, status(201, `{"task_id":"x","artifacts":[]}`)},
		{"task.create.schema", `^POST /ap/v1/agent/tasks .*checked`, swap(`"artifacts":\[\]`, `"artifacts":null`)},
		{"task.create.json", `^POST /ap/v1/agent/tasks {"input":"[^"]*"}$`, typed("text/plain")},
		{"task.create.empty", `^POST /ap/v1/agent/tasks {}$`, status(422, `{}`)},
		{"task.create.invalid", `^POST /ap/v1/agent/tasks {"input":5}`, status(400, `{}`)},
		{"task.get", `^GET /ap/v1/agent/tasks/` + uuid + ` $`, swap(`"task_id":"`, `"task_id":"other`)},
		{"task.get.input", `^GET /ap/v1/agent/tasks/` + uuid + ` $`, swap(`"checked":true`, `"checked":false`)},
		{"task.get.unknown", `^GET /ap/v1/agent/tasks/` + nobody + ` $`, status(404, `{"detail":"no"}`)},
		{"task.list", `^GET /ap/v1/agent/tasks $`, swap(`"total_items":\d+`, `"total_items":"many"`)},
		{"task.list.size", `^GET /ap/v1/agent/tasks\?page_size=1&current_page=1`, swap(`"tasks":\[`, `"tasks":[{"task_id":"x","artifacts":[]},`)},
		{"task.list.next", `^GET /ap/v1/agent/tasks\?page_size=1&current_page=2`, swap(`"current_page":2`, `"current_page":1`)},
		{"task.list.totals", `^GET /ap/v1/agent/tasks\?page_size=1&`, swap(`"total_pages":\d+`, `"total_pages":0`)},
		{"task.list.default", `^GET /ap/v1/agent/tasks $`, swap(`"page_size":10`, `"page_size":20`)},
		{"task.list.zero", `^GET /ap/v1/agent/tasks\?page_size=0`, status(200, `{}`)},
		{"step.execute", `^POST .*/steps $`, notOf(nobody, status(500, `{"error":"no"}`))},
		{"step.execute.schema", `^POST .*/steps $`, swap(`"artifacts":\[`, `"files":[`)},
		{"step.task", `^POST .*/steps $`, swap(`"task_id":"`, `"task_id":"other`)},
		{"step.ids", `^POST .*/steps $`, sameID()},
		{"step.completed", `^POST .*/steps $`, swap(`"status":"completed"`, `"status":"running"`)},
		{"step.input", `^POST .*/steps {"input":"`, status(422, `{}`)},
		{"step.invalid", `^POST .*/steps {"input":\[`, status(200, `{}`)},
		{"step.unknown-task", `^POST .*/` + nobody + `/steps`, status(500, `{"message":"no"}`)},
		{"step.list", `^GET .*/steps $`, swap(`"step_id":"`, `"step_id":"other`)},
		{"step.list.size", `^GET .*/steps\?page_size=1`, swap(`"steps":\[`, `"steps":[{},`)},
		{"step.list.unknown", `^GET .*/` + nobody + `/steps`, status(200, `{"steps":[]}`)},
		{"step.get", `^GET .*/steps/` + uuid + ` $`, swap(`"step_id":"`, `"step_id":"other`)},
		{"step.get.unknown", `^GET .*/steps/` + nobody, status(500, ``)},
		{"artifact.upload", `^POST .*/artifacts (?s).*`, notOf(nobody, swap(`"artifact_id"`, `"id"`))},
		{"artifact.upload.name", `^POST .*/artifacts (?s).*`, notOf(nobody, swap(`"agent_created":false`, `"agent_created":true`))},
		{"artifact.upload.path", `^POST .*/artifacts (?s).*`, notOf(nobody, swap(`"relative_path":"[^"]*"`, `"relative_path":null`))},
		{"artifact.upload.unknown", `^POST .*/` + nobody + `/artifacts`, status(200, `{}`)},
		{"artifact.download", `^GET .*/artifacts/` + uuid + ` $`, swap(`checked`, `changed`)},
		{"artifact.download.type", `^GET .*/artifacts/` + uuid + ` $`, typed("text/html")},
		{"artifact.download.unknown", `^GET .*/artifacts/` + nobody, status(500, ``)},
		{"artifact.list", `^GET .*/artifacts $`, swap(`"pagination"`, `"pages"`)},
		{"artifact.made", `^GET .*/artifacts/` + uuid + ` $`, losesFiles},
		{"artifact.list.unknown", `^GET .*/` + nobody + `/artifacts`, status(200, `[]`)},
	},
	"topics": {
		{"create", `^POST /ap/v2/topics {"name":"a check"}`, status(200, `{}`)},
		{"create.id", `^POST /ap/v2/topics {"name":"a check"}`, swap(`"topic_id"`, `"id"`)},
		{"create.invalid", `^POST /ap/v2/topics {"name":$`, status(422, `{}`)},
		{"list", `^GET /ap/v2/topics $`, status(500, `{}`)},
		{"list", `^GET /ap/v2/topics $`, status(200, `<html>`)},
		{"get", `^GET /ap/v2/topics/` + uuid + ` $`, swap(`"topic_id":"`, `"topic_id":"other`)},
		{"get.unknown", `^GET /ap/v2/topics/` + nobody, status(200, `{}`)},
		{"interaction.create", `^POST .*/interactions {"input":"`, status(200, `{}`)},
		{"interaction.create.id", `^POST .*/interactions {"input":"`, swap(`"interaction_id"`, `"id"`)},
		{"interaction.create.invalid", `^POST .*/interactions {"input":$`, status(422, `{}`)},
		{"interaction.list", `^GET .*/interactions $`, status(404, `{}`)},
		{"interaction.get", `^GET .*/interactions/` + uuid + ` $`, swap(`"interaction_id":"`, `"interaction_id":"other`)},
		{"interaction.get.unknown", `^GET .*/interactions/` + nobody, status(200, `{}`)},
		{"task", `^GET /ap/v2/topics/.*/tasks/`, status(404, `{}`)},
	},
	"agentprotocol": {
		{"agents.search", `^POST /agents/search {}`, swap(`"capabilities"`, `"able"`)},
		{"agents.search.limit", `^POST /agents/search {"limit":1}`, swap(`^\[`, `[{},`)},
		{"agents.get", `^GET /agents/agent $`, swap(`"capabilities"`, `"able"`)},
		{"agents.get.unknown", `^GET /agents/` + uuid + ` $`, status(200, `{}`)},
		{"agents.schemas", `^GET /agents/.*/schemas`, swap(`"output_schema"`, `"output"`)},
		{"threads.create", `^POST /threads {"metadata"`, swap(`"status":"idle"`, `"status":"new"`)},
		{"threads.create.id", `^POST /threads {"thread_id":"[^"]*"}`, madeAnother},
		{"threads.create.conflict", `^POST /threads {"thread_id":"[^"]*"}`, only(409, status(200, `{}`))},
		{"threads.create.again", `^POST /threads {"if_exists":"do_nothing"`, status(409, `{}`)},
		{"threads.create.invalid", `^POST /threads {"thread_id":5}`, status(400, `{}`)},
		{"threads.get", `^GET /threads/` + uuid + ` $`, swap(`"status":"idle"`, `"status":"new"`)},
		{"threads.get.unknown", `^GET /threads/` + uuid + ` $`, only(404, status(404, `{"message":5}`))},
		{"threads.search", `^POST /threads/search`, status(200, `[]`)},
		{"threads.search.other", `^POST /threads/search`, emptyAs(`[{}]`)},
		{"threads.patch", `^PATCH /threads/` + uuid + ` {"metadata":{"more"`, status(200, `{}`)},
		{"threads.patch.values", `^GET /threads/` + uuid + ` $`, swap(`"two":"2"`, `"three":"3"`)},
		{"threads.patch.unknown", `^PATCH /threads/.* {"metadata":{}}`, status(200, `{}`)},
		{"threads.history", `^GET /threads/.*/history`, only(200, status(200, `[]`))},
		{"threads.history.unknown", `^GET /threads/.*/history`, only(404, status(200, `[]`))},
		{"threads.copy", `^POST /threads/.*/copy`, only(200, status(202, `{}`))},
		{"threads.copy.unknown", `^POST /threads/.*/copy`, only(404, status(409, `{}`))},
		{"threads.delete", `^DELETE /threads/`, only(204, status(200, `{}`))},
		{"runs.wait", `^POST /runs/wait`, swap(`"status":"success"`, `"status":"done"`)},
		{"runs.wait.run", `^POST /runs/wait`, swap(`"status":"success"`, `"status":"pending"`)},
		{"runs.wait.output", `^POST /runs/wait`, swap(`"(values|messages)":`, `"my_$1":`)},
		{"runs.wait.messages", `^POST /runs/wait`, swap(`"messages":\[`, `"m":[`)},
		{"runs.agent.unknown", `^POST /runs/wait {"agent_id":"[^"]*","input":{}}`, status(422, `{}`)},
		{"runs.thread.unknown", `^POST /runs/wait .*"thread_id"`, status(422, `{}`)},
		{"runs.invalid", `^POST /runs/wait {"agent_id":5}`, status(400, `{}`)},
		{"runs.create", `^POST /runs {`, swap(`"created_at":"[^"]*"`, `"created_at":"now"`)},
		{"runs.join", `^GET /runs/.*/wait`, swap(`"status":"success"`, `"status":"done"`)},
		{"runs.get", `^GET /runs/` + uuid + ` $`, swap(`"run_id"`, `"id"`)},
		{"runs.get.unknown", `^GET /runs/` + uuid + ` $`, only(404, status(404, `[]`))},
		{"runs.search", `^POST /runs/search`, status(200, `[]`)},
		{"runs.cancel", `^POST /runs/.*/cancel`, status(202, `{}`)},
		{"runs.delete", `^DELETE /runs/`, status(200, `{}`)},
		{"runs.stream", `^POST /runs/stream`, typed("text/plain")},
		{"runs.stream.json", `^POST /runs/stream`, swap(`^data: .*`, `data: done`)},
		{"runs.stream.modes", `^POST /runs/stream`, swap(`^event: updates`, `event: changes`)},
		{"runs.join.stream", `^GET /runs/.*/stream`, typed("application/json")},
		{"store.put", `^PUT /store/items .*"size"`, status(200, `{}`)},
		{"store.put.invalid", `^PUT /store/items {"key":"item","namespace":\[[^\]]*\]}`, status(400, `{}`)},
		{"store.put.again", `^GET /store/items\?key=again`, swap(`blue`, `green`)},
		{"store.get", `^GET /store/items\?key=item`, swap(`"created_at"`, `"createdAt"`)},
		{"store.get.unknown", `^GET /store/items\?key=another`, status(200, `null`)},
		{"store.delete", `^GET /store/items\?key=deleted`, status(200, `{}`)},
		{"store.search", `^POST /store/items/search {"namespace`, swap(`"key":"item"`, `"key":"other"`)},
		{"store.search.filter", `^POST /store/items/search {"filter":{"colour":"none"`, emptyAs(`{"items":[{"namespace":[],"key":"","value":{},"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}]}`)},
		{"store.namespaces", `^POST /store/namespaces`, swap(`^(.*)$`, `{"namespaces":$1}`)},
	},
	"langgraph": {
		{"assistants.search", `^POST /assistants/search {}`, swap(`"graph_id"`, `"graph"`)},
		{"assistants.count", `^POST /assistants/count`, status(200, `{"count":1}`)},
		{"assistants.get", `^GET /assistants/` + uuid + ` $`, only(200, swap(`"graph_id"`, `"graph"`))},
		{"assistants.get.unknown", `^GET /assistants/` + uuid + ` $`, only(404, status(500, ``))},
		{"assistants.schemas", `^GET /assistants/.*/schemas`, status(500, ``)},
		{"assistants.graph", `^GET /assistants/.*/graph`, swap(`"edges"`, `"arrows"`)},
		{"threads.create", `^POST /threads {"metadata"`, status(200, `{}`)},
		{"threads.create.again", `^POST /threads {"if_exists":"do_nothing"`, status(409, `{}`)},
		{"threads.get", `^GET /threads/` + uuid + ` $`, swap(`"updated_at"`, `"changed_at"`)},
		{"threads.get.unknown", `^GET /threads/` + uuid + ` $`, firstRefusal()},
		{"threads.search", `^POST /threads/search`, status(200, `[]`)},
		{"threads.count", `^POST /threads/count`, status(404, ``)},
		{"threads.update", `^PATCH /threads/`, status(400, ``)},
		{"threads.delete", `^DELETE /threads/` + uuid + ` $`, status(500, ``)},
		{"threads.state", `^GET /threads/.*/state $`, swap(`"next":\[[^\]]*\]`, `"next":null`)},
		{"threads.state.checkpoint", `^GET /threads/.*/state/`, status(404, ``)},
		{"threads.history", `^POST /threads/.*/history {"limit":10}`, swap(`"checkpoint_id":"[^"]*"`, `"checkpoint_id":"x"`)},
		{"threads.history.limit", `^POST /threads/.*/history {"limit":1}`, swap(`^\[`, `[{},`)},
		{"threads.copy", `^POST /threads/.*/copy`, status(404, ``)},
		{"runs.stream", `^POST /threads/.*/runs/stream`, typed("application/json")},
		{"runs.stream.json", `^POST /threads/.*/runs/stream`, swap(`^data: {"(think|write|finish|step)":.*`, `data: done`)},
		{"runs.stream.metadata", `^POST /threads/.*/runs/stream`, swap(`"run_id"`, `"id"`)},
		{"runs.stream.modes", `^POST /threads/.*/runs/stream`, swap(`^event: updates`, `event: changes`)},
		{"runs.stream.values", `^GET /threads/.*/state $`, swap(`"id":"`, `"id":"other`)},
		{"runs.stream.location", `^POST /threads/.*/runs/stream`, func(res *http.Response) {
			res.Header.Set("Content-Location", res.Header.Get("Content-Location")+"/stream")
		}},
		{"runs.wait", `^POST /threads/.*/runs/wait`, status(200, `[]`)},
		{"runs.wait.stateless", `^POST /runs/wait`, status(404, ``)},
		{"runs.create", `^GET /threads/.*/runs $`, status(200, `[]`)},
		{"runs.get.unknown", `^GET /threads/.*/runs/` + uuid + ` $`, firstRefusal()},
		{"runs.thread.unknown", `^POST /threads/.*/runs .*if_not_exists`, status(500, ``)},
		{"runs.assistant.unknown", `^POST /threads/` + uuid + `/runs {"assistant_id":"[^"]*","input"`, only(404, firstRefusal())},
		{"runs.cancel", `^POST /threads/.*/cancel`, status(500, ``)},
		{"runs.delete", `^DELETE /threads/.*/runs/`, status(500, ``)},
		{"runs.join.stream", `^GET /threads/.*/runs/.*/stream`, typed("text/plain")},
		{"store.put", `^PUT /store/items .*"item"`, status(500, ``)},
		{"store.get", `^GET /store/items\?.*key=item`, swap(`red`, `blue`)},
		{"store.get.unknown", `^GET /store/items\?.*key=another`, status(404, `{}`)},
		{"store.search", `^POST /store/items/search`, swap(`^.*$`, `{"items":[]}`)},
		{"store.namespaces", `^POST /store/namespaces`, swap(`"namespaces"`, `"spaces"`)},
		{"store.delete", `^GET /store/items\?.*key=deleted`, status(200, `{"key":"deleted"}`)},
	},
	"streaming": {
		{"run.start", `^POST .*/commands .*run.start.*input`, swap(`"type":"success"`, `"type":"done"`)},
		{"run.start.names", `^POST .*/commands .*assistantId`, status(200, `{"type":"error","id":7,"error":"invalid_argument","message":"no assistant_id"}`)},
		{"run.start.id", `^POST .*/commands .*run.start.*input`, swap(`"runId"`, `"run"`)},
		{"command.id", `^POST .*/commands .*run.start.*input`, swap(`"id":7`, `"id":8`)},
		{"thread", `^GET /threads/` + uuid + ` $`, status(404, `{}`)},
		{"command.unknown", `^POST .*/commands .*no.such"`, swap(`unknown_command`, `what`)},
		{"command.unknown.code", `^POST .*/commands .*no.such"`, swap(`unknown_command`, `unknown_error`)},
		{"command.invalid", `^POST .*/commands .*run.start","params":{}`, swap(`"type":"error"`, `"type":"success"`)},
		{"command.invalid.code", `^POST .*/commands .*run.start","params":{}`, swap(`invalid_argument`, `unknown_error`)},
		{"command.malformed", `^POST .*/commands {"id":8}`, status(400, `{}`)},
		{"input.unknown", `^POST .*/commands .*input.respond`, swap(`no_such_interrupt`, `invalid_argument`)},
		{"events", `^POST /threads/` + uuid + `/stream .*"tasks"`, status(200, `{}`)},
		{"events.path", `^POST /threads/` + uuid + `/stream`, elsewhere},
		{"events.shape", `^POST .*/stream .*"tasks"`, swap(`"timestamp":\d+`, `"timestamp":"now"`)},
		{"events.seq", `^POST .*/stream .*"tasks"`, swap(`"seq":\d+`, `"seq":1`)},
		{"events.id", `^POST .*/stream .*"tasks"`, swap(`^id: .*`, `id: x`)},
		{"events.names", `^POST .*/stream `, swap(`"eventId"`, `"event_id"`)},
		{"lifecycle", `^POST .*/stream .*"tasks"`, swap(`"event":"(started|running)"`, `"event":"begun"`)},
		{"values", `^POST .*/stream .*"tasks"`, swap(`"method":"values"`, `"method":"value"`)},
		{"messages.start", `^POST .*/stream .*"tasks"`, swap(`"role":"ai"`, `"role":"agent"`)},
		{"messages.order", `^POST .*/stream .*"tasks"`, swap(`"event":"message-finish"`, `"event":"content-block-delta","index":0,"delta":{"type":"text-delta"}`)},
		{"messages.blocks", `^POST .*/stream .*"tasks"`, swap(`"index":\d+`, `"index":"a"`)},
		{"filter", `^POST .*/stream {"channels":\["lifecycle"\]`, swap(`"method":"lifecycle"(.*(started|running))`, `"method":"values"$1`)},
		{"since", `^POST .*/stream .*"since":[1-9]`, swap(`"seq":\d+`, `"seq":1`)},
		{"replay", `^POST .*/stream {"channels":\["values","lifecycle"\]`, swap(`"eventId":"`, `"eventId":"x`)},
		{"events.invalid", `^POST .*/stream {"channels":\[\]}`, status(200, ``)},
		{"state.get", `^POST .*/commands .*state.get`, swap(`"values"`, `"state"`)},
		{"state.checkpoints", `^POST .*/commands .*listCheckpoints`, swap(`"timestamp"`, `"time"`)},
		{"agent.tree", `^POST .*/commands .*getTree`, swap(`"tree"`, `"root"`)},
	},
}

// only applies do to responses with the given status.
func only(code int, do func(*http.Response)) func(*http.Response) {
	return func(res *http.Response) {
		if res.StatusCode == code {
			do(res)
		}
	}
}

// notOf applies do to requests whose path does not contain text.
func notOf(text string, do func(*http.Response)) func(*http.Response) {
	return func(res *http.Response) {
		if !strings.Contains(res.Request.URL.Path, text) {
			do(res)
		}
	}
}

// emptyAs replaces empty results.
func emptyAs(body string) func(*http.Response) {
	return swap(`^(\[\]|\{"items":\[\]\})\s*$`, body)
}

// madeAnother ignores the requested id of a new thread.
func madeAnother(res *http.Response) {
	if res.StatusCode == http.StatusOK {
		swap(`"thread_id":"........`, `"thread_id":"00000000`)(res)
	}
}

// firstRefusal replaces the status of the first refusal by 500.
func firstRefusal() func(*http.Response) {
	done := false
	return func(res *http.Response) {
		if res.StatusCode/100 == 4 && !done {
			done = true
			status(http.StatusInternalServerError, ``)(res)
		}
	}
}

// sameID gives all steps of a task the same id.
func sameID() func(*http.Response) {
	pattern, first := regexp.MustCompile(`"step_id":"[^"]*"`), map[string][]byte{}
	return func(res *http.Response) {
		body, _ := io.ReadAll(res.Body)
		path := res.Request.URL.Path
		if first[path] == nil {
			first[path] = pattern.Find(body)
		}
		replaced(res, pattern.ReplaceAll(body, first[path]))
	}
}

// losesFiles loses all files except uploaded ones.
func losesFiles(res *http.Response) {
	body, _ := io.ReadAll(res.Body)
	if replaced(res, body); !strings.Contains(string(body), "checked") {
		status(http.StatusNotFound, `{"message":"lost"}`)(res)
	}
}

// elsewhere serves the event stream only at the SDKs' path, with the document's names.
func elsewhere(res *http.Response) {
	if strings.HasSuffix(res.Request.URL.Path, "/stream") {
		status(http.StatusNotFound, `{}`)(res)
		return
	}
	swap(`"event_id"`, `"eventId"`)(res)
}
