package adaptertest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// A2AAgent is an agent that speaks A2A, by default version 1.0 over JSON-RPC. It is written from the specification,
// without the bridge's own reader and writer. The first word of a message selects its behaviour:
//
//   - "ask" asks for a colour and then returns an artifact with the answer.
//   - "fail", "reject" and "cancel" end the task as failed, rejected or canceled.
//   - "hang" works until the task is canceled.
//   - "message" returns a message without a task.
//   - "file" creates a file.
//   - "report" creates two artifacts with names, descriptions, metadata and parts of every kind, the first in two chunks.
//   - "type" reports its progress twice and creates two artifacts in many chunks, the first of them without a last chunk.
//   - "authorize" waits for an authorization until the task is canceled. "authorize once" continues without one.
//   - Any other word creates the three artifacts one, two and three. The second is streamed in chunks.
type A2AAgent struct {
	Version  string // "0.3"; default "1.0"
	HTTP     bool   // HTTP+JSON
	NoStream bool
	NoCard   bool
	CardSays string // a version that the agent does not have
	// LangGraph makes the agent answer as the endpoint /a2a/{assistant_id} of LangGraph Server does, which speaks 1.0 with
	// shapes of 0.3: see a2a_langgraph.go.
	LangGraph bool
	CutAfter  int // the stream of a message breaks off after so many events; 0: never
	// Live makes the task of a stream that was cut continue there: a subscription begins with the task as it was then,
	// and sends the remaining events. It omits the first Lost of them, or sends the last Repeated ones before again, as
	// some servers do.
	Live           bool
	Lost, Repeated int
	Change         func(event map[string]any)

	mu    sync.Mutex
	tasks []*a2aTask
	work  int
	Seen  []map[string]any // the messages that it has received
}

type a2aTask struct {
	id, context string
	history     []any
	artifacts   []any
	state       string
	status      any
	hangs       bool
	events      []map[string]any // those of the newest message
	cut         int              // how many of them were sent before the cut; 0: it was not cut
	canceled    chan struct{}
}

// New returns another agent with the same settings.
func (a *A2AAgent) New() *A2AAgent {
	return &A2AAgent{
		Version: a.Version, HTTP: a.HTTP, NoStream: a.NoStream, NoCard: a.NoCard, CardSays: a.CardSays, LangGraph: a.LangGraph, CutAfter: a.CutAfter, Change: a.Change,
		Live: a.Live, Lost: a.Lost, Repeated: a.Repeated,
	}
}

func (a *A2AAgent) Work() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.work
}

// old reports whether documents have the form of 0.3 over JSON-RPC.
func (a *A2AAgent) old() bool { return a.Version == "0.3" && !a.HTTP }

// oldProto reports whether documents have the form of 0.3 over HTTP+JSON.
func (a *A2AAgent) oldProto() bool { return a.Version == "0.3" && a.HTTP }

func (a *A2AAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.LangGraph && !a.atLangGraph(w, r) {
		return
	}
	if strings.HasPrefix(r.URL.Path, "/.well-known/agent") {
		a.card(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if a.HTTP {
		a.rest(w, r, body)
		return
	}
	var call struct {
		ID     json.RawMessage
		Method string
		Params map[string]any
	}
	if r.Method != http.MethodPost || json.Unmarshal(body, &call) != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	names := map[string]string{"SendMessage": "send", "SendStreamingMessage": "stream", "GetTask": "get", "ListTasks": "list", "CancelTask": "cancel", "SubscribeToTask": "subscribe"}
	if a.old() {
		names = map[string]string{"message/send": "send", "message/stream": "stream", "tasks/get": "get", "tasks/cancel": "cancel", "tasks/resubscribe": "subscribe"}
	}
	a.serve(w, r, names[call.Method], call.Params, call.ID)
}

func (a *A2AAgent) card(w http.ResponseWriter, r *http.Request) {
	if a.NoCard || r.URL.Path != "/.well-known/agent-card.json" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	url, version := "http://inner.invalid:1/", a.Version
	if version == "" {
		version = "1.0"
	}
	if a.CardSays != "" {
		version = a.CardSays
	}
	if a.LangGraph {
		url = "http://inner.invalid:1" + LangGraphPath
	}
	card := map[string]any{
		"name": "test", "description": "an agent for tests", "version": "7", "capabilities": map[string]any{"streaming": !a.NoStream},
		"defaultInputModes": []string{"text/plain"}, "defaultOutputModes": []string{"text/plain"}, "skills": []any{},
	}
	binding := "JSONRPC"
	if a.HTTP {
		binding = "HTTP+JSON"
	}
	if version == "0.3" {
		card["url"], card["preferredTransport"], card["protocolVersion"] = url, binding, "0.3.0"
	} else {
		card["supportedInterfaces"] = []any{map[string]any{"url": url, "protocolBinding": binding, "protocolVersion": version}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(card)
}

// rest handles HTTP+JSON.
func (a *A2AAgent) rest(w http.ResponseWriter, r *http.Request, body []byte) {
	params := map[string]any{}
	_ = json.Unmarshal(body, &params)
	path := strings.TrimPrefix(r.URL.Path, "/")
	if a.oldProto() {
		var ok bool
		if path, ok = strings.CutPrefix(path, "v1/"); !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if message, ok := params["message"].(map[string]any); ok {
			message["parts"] = message["content"]
			delete(message, "content")
		}
	}
	switch {
	case path == "message:send" || path == "message:stream":
		a.serve(w, r, strings.TrimPrefix(path, "message:"), params, nil)
	case path == "tasks":
		a.serve(w, r, "list", map[string]any{"contextId": r.URL.Query().Get("contextId")}, nil)
	case strings.HasPrefix(path, "tasks/"):
		id, action, _ := strings.Cut(strings.TrimPrefix(path, "tasks/"), ":")
		if action == "" {
			action = "get"
		}
		a.serve(w, r, action, map[string]any{"id": id}, nil)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (a *A2AAgent) serve(w http.ResponseWriter, r *http.Request, action string, params map[string]any, id json.RawMessage) {
	message, _ := params["message"].(map[string]any)
	if problem := a.tooMuchHistory(params); problem != "" {
		a.fail(w, id, -32602, "", problem)
		return
	}
	switch action {
	case "send", "stream":
		if action == "stream" && a.NoStream {
			a.fail(w, id, -32004, "UNSUPPORTED_OPERATION", "no streams")
			return
		}
		if problem := a.langGraphRefuses(message, params); problem != "" {
			a.fail(w, id, -32602, "", problem)
			return
		}
		a.receive(w, r, action, message, id)
	case "get", "cancel", "subscribe":
		if a.LangGraph && action == "subscribe" {
			a.fail(w, id, -32601, "", "Method not found: SubscribeToTask")
			return
		}
		a.mu.Lock()
		t := a.find(params["id"])
		if t != nil && action == "cancel" && t.hangs {
			t.hangs, t.state = false, "CANCELED"
			close(t.canceled)
		}
		var task map[string]any
		var rest []map[string]any
		hangs := t != nil && t.hangs
		if action == "subscribe" && t != nil && t.cut > 0 {
			rest = append([]map[string]any{{"task": t.at(t.cut, a.old())}}, t.events[min(t.cut+a.Lost, len(t.events)-1)-min(a.Repeated, t.cut-1):]...)
			t.cut = 0
		}
		if t != nil {
			task = t.json(a.old())
		}
		a.mu.Unlock()
		switch {
		case t == nil:
			a.fail(w, id, -32001, "TASK_NOT_FOUND", "no such task")
		case action == "subscribe" && a.NoStream:
			a.fail(w, id, -32004, "UNSUPPORTED_OPERATION", "no streams")
		case rest != nil:
			a.write(w, rest, id)
		case action == "subscribe" && hangs:
			a.stream(w, r, []map[string]any{{"task": task}}, t.canceled, id)
		case action == "subscribe":
			a.fail(w, id, -32004, "UNSUPPORTED_OPERATION", "the task has ended")
		default:
			a.answer(w, id, task)
		}
	case "list":
		a.mu.Lock()
		list := []any{}
		for _, t := range a.tasks {
			if c, _ := params["contextId"].(string); c == "" || c == t.context {
				list = append(list, t.json(a.old()))
			}
		}
		a.mu.Unlock()
		a.answer(w, id, map[string]any{"tasks": list, "nextPageToken": "", "pageSize": 100, "totalSize": len(list)})
	default:
		a.fail(w, id, -32601, "", "no such method")
	}
}

func (a *A2AAgent) find(id any) *a2aTask {
	for _, t := range a.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

// receive handles a message.
func (a *A2AAgent) receive(w http.ResponseWriter, r *http.Request, action string, message map[string]any, id json.RawMessage) {
	a.mu.Lock()
	a.work++
	a.Seen = append(a.Seen, message)
	events, t, problem := a.play(message)
	var task map[string]any
	var canceled chan struct{} // of a task that hangs
	if t != nil {
		if t.events = events; a.Live && action == "stream" && a.CutAfter < len(events) {
			t.cut = a.CutAfter
		}
		if task = t.json(a.old()); t.hangs {
			canceled = t.canceled
		}
	}
	a.mu.Unlock()
	switch {
	case problem != "":
		a.fail(w, id, -32004, "UNSUPPORTED_OPERATION", problem)
	case action == "stream":
		a.stream(w, r, events, canceled, id)
	case t == nil:
		a.answer(w, id, a.member("message", events[0]["message"]))
	default:
		a.answer(w, id, a.member("task", task))
	}
}

// member returns {name: value}, or in 0.3 the value itself.
func (a *A2AAgent) member(name string, value any) any {
	if a.old() {
		return value
	}
	return map[string]any{name: value}
}

// play executes a message at once and returns its events.
func (a *A2AAgent) play(message map[string]any) (events []map[string]any, t *a2aTask, problem string) {
	text := ""
	parts, _ := message["parts"].([]any)
	for _, p := range parts {
		s, _ := p.(map[string]any)["text"].(string)
		text += s
	}
	word, rest, _ := strings.Cut(text, " ")
	if word == "message" {
		return []map[string]any{{"message": a.message("m-direct", rest)}}, nil, ""
	}
	if named, ok := message["taskId"]; ok {
		if t = a.find(named); t == nil || t.state != "INPUT_REQUIRED" {
			return nil, nil, "the task does not wait for a message"
		}
		word, rest = "answer", text
	} else {
		t = &a2aTask{id: fmt.Sprintf("task-%d", len(a.tasks)+1), canceled: make(chan struct{})}
		switch t.context, _ = message["contextId"].(string); {
		case t.context == "" && a.LangGraph:
			t.context = uuid.NewString()
		case t.context == "":
			t.context = "context-of-" + t.id
		}
		a.tasks = append(a.tasks, t)
	}
	t.history = append(t.history, message)
	status := func(state string, message any) {
		t.state, t.status = state, message
		events = append(events, map[string]any{"statusUpdate": map[string]any{"taskId": t.id, "contextId": t.context, "status": statusJSON(state, message, a.old())}})
	}
	artifact := func(id string, parts []any, more, last bool) {
		if more {
			old := t.artifacts[len(t.artifacts)-1].(map[string]any)
			parts = append(append([]any{}, old["parts"].([]any)...), parts...)
			t.artifacts = t.artifacts[:len(t.artifacts)-1]
			events = append(events, map[string]any{"artifactUpdate": map[string]any{"taskId": t.id, "contextId": t.context, "append": true, "lastChunk": last,
				"artifact": map[string]any{"artifactId": id, "parts": parts[len(old["parts"].([]any)):]}}})
		} else {
			events = append(events, map[string]any{"artifactUpdate": map[string]any{"taskId": t.id, "contextId": t.context, "lastChunk": last,
				"artifact": map[string]any{"artifactId": id, "parts": parts}}})
		}
		t.artifacts = append(t.artifacts, map[string]any{"artifactId": id, "parts": parts})
	}
	t.state = "SUBMITTED"
	events = append(events, map[string]any{"task": t.json(a.old())})
	status("WORKING", nil)
	switch word {
	case "ask":
		artifact("draft", a.text("a draft"), false, true)
		if a.LangGraph {
			artifact("interrupt", langGraphQuestion("Which colour?"), false, true)
			status("INPUT_REQUIRED", nil)
			break
		}
		status("INPUT_REQUIRED", a.message("q-1", "Which colour?"))
	case "answer":
		artifact("painted", a.text("painted "+rest), false, true)
		status("COMPLETED", nil)
	case "fail":
		status("FAILED", a.message("m-failed", "the disk is full"))
	case "reject":
		status("REJECTED", a.message("m-rejected", "not my job"))
	case "cancel":
		status("CANCELED", nil)
	case "hang":
		t.hangs = true
	case "authorize":
		status("AUTH_REQUIRED", a.message("auth-1", "Sign in at the bank."))
		if t.hangs = rest != "once"; !t.hangs {
			status("WORKING", nil)
			artifact("one", a.text("paid"), false, true)
			status("COMPLETED", nil)
		}
	case "type":
		status("WORKING", a.message("s-1", "Thinking"))
		for i, piece := range []string{"A fox", " jumps", " over", " the dog."} {
			artifact("one", a.text(piece), i > 0, false)
		}
		status("WORKING", a.message("s-2", "Writing more"))
		for i, piece := range []string{"A cat ", "ha ", "ha ", "sleeps."} {
			artifact("two", a.text(piece), i > 0, i == 3)
		}
		status("COMPLETED", nil)
	case "report":
		update := func(more, last bool, artifact map[string]any) {
			events = append(events, map[string]any{"artifactUpdate": map[string]any{"taskId": t.id, "contextId": t.context, "append": more, "lastChunk": last, "artifact": artifact}})
		}
		first := map[string]any{
			"artifactId": "plan", "name": "The plan", "description": "Where to go", "metadata": map[string]any{"pages": 2},
			"parts": append([]any{a.data(map[string]any{"km": 1.5})}, a.text("Go ")...),
		}
		rest := append(a.text("north."), a.link("map.png", "https://example.com/map.png"), a.file("note.txt", "aGVsbG8="))
		second := map[string]any{"artifactId": "photo", "name": "A photo", "description": "The view", "parts": []any{a.file("view.txt", "dmlldw==")}}
		update(false, false, first)
		update(true, true, map[string]any{"artifactId": "plan", "parts": rest})
		update(false, true, second)
		whole := maps.Clone(first)
		whole["parts"] = append(slices.Clone(first["parts"].([]any)), rest...)
		t.artifacts = append(t.artifacts, whole, second)
		status("COMPLETED", nil)
	case "file":
		artifact("file", []any{a.file("note.txt", "aGVsbG8=")}, false, true)
		status("COMPLETED", nil)
	default:
		artifact("one", a.text("first"), false, true)
		artifact("two", a.text("sec"), false, false)
		artifact("two", a.text("ond"), true, true)
		artifact("three", a.text("third"), false, true)
		status("COMPLETED", nil)
	}
	return events, t, ""
}

func (a *A2AAgent) text(s string) []any {
	p := map[string]any{"text": s}
	if a.old() {
		p["kind"] = "text"
	}
	return []any{p}
}

func (a *A2AAgent) file(name, base64 string) any {
	if a.old() {
		return map[string]any{"kind": "file", "file": map[string]any{"name": name, "mimeType": "text/plain", "bytes": base64}}
	}
	return map[string]any{"raw": base64, "filename": name, "mediaType": "text/plain"}
}

func (a *A2AAgent) link(name, url string) any {
	if a.old() {
		return map[string]any{"kind": "file", "file": map[string]any{"name": name, "mimeType": "image/png", "uri": url}}
	}
	return map[string]any{"url": url, "filename": name, "mediaType": "image/png"}
}

func (a *A2AAgent) data(value any) any {
	p := map[string]any{"data": value, "metadata": map[string]any{"unit": "km"}}
	if a.old() {
		p["kind"] = "data"
	}
	return p
}

func (a *A2AAgent) message(id, text string) map[string]any {
	m := map[string]any{"messageId": id, "role": "ROLE_AGENT", "parts": a.text(text)}
	if a.old() {
		m["kind"], m["role"] = "message", "agent"
	}
	return m
}

// at returns the task after its first n events.
func (t *a2aTask) at(n int, old bool) map[string]any {
	j := map[string]any{"id": t.id, "contextId": t.context, "status": statusJSON("SUBMITTED", nil, old), "history": t.history}
	if old {
		j["kind"] = "task"
	}
	artifacts := []any{}
	for _, ev := range t.events[:n] {
		if u, ok := ev["statusUpdate"].(map[string]any); ok {
			j["status"] = u["status"]
		}
		u, ok := ev["artifactUpdate"].(map[string]any)
		if !ok {
			continue
		}
		next := u["artifact"].(map[string]any)
		if last := len(artifacts) - 1; u["append"] == true {
			before := artifacts[last].(map[string]any)
			parts := append(append([]any{}, before["parts"].([]any)...), next["parts"].([]any)...)
			artifacts[last] = map[string]any{"artifactId": before["artifactId"], "parts": parts}
		} else {
			artifacts = append(artifacts, next)
		}
	}
	if len(artifacts) > 0 {
		j["artifacts"] = artifacts
	}
	return j
}

func statusJSON(state string, message any, old bool) map[string]any {
	s := map[string]any{"state": "TASK_STATE_" + state}
	if old {
		s["state"] = strings.ToLower(strings.ReplaceAll(state, "_", "-"))
	}
	if message != nil {
		s["message"] = message
	}
	return s
}

func (t *a2aTask) json(old bool) map[string]any {
	j := map[string]any{"id": t.id, "contextId": t.context, "status": statusJSON(t.state, t.status, old), "history": t.history}
	if len(t.artifacts) > 0 {
		j["artifacts"] = append([]any{}, t.artifacts...)
	}
	if old {
		j["kind"] = "task"
	}
	return j
}

func (a *A2AAgent) answer(w http.ResponseWriter, id json.RawMessage, result any) {
	w.Header().Set("Content-Type", "application/json")
	if a.LangGraph {
		result = a.langGraphShape(result)
	}
	if !a.HTTP {
		result = map[string]any{"jsonrpc": "2.0", "id": id, "result": result}
	}
	if a.oldProto() {
		result = protoShape(result)
	}
	_ = json.NewEncoder(w).Encode(result)
}

func (a *A2AAgent) fail(w http.ResponseWriter, id json.RawMessage, code int, reason, text string) {
	info := []any{map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}}
	w.Header().Set("Content-Type", "application/json")
	if a.LangGraph {
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
		return
	}
	if !a.HTTP {
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text, "data": info}})
		return
	}
	status := http.StatusBadRequest
	if code == -32001 || code == -32601 {
		status = http.StatusNotFound
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "message": text, "details": info}})
}

// stream writes events up to the cut. It keeps the stream of a hanging task open until the task is canceled.
func (a *A2AAgent) stream(w http.ResponseWriter, r *http.Request, events []map[string]any, canceled chan struct{}, id json.RawMessage) {
	if a.CutAfter > 0 && a.CutAfter < len(events) {
		events, canceled = events[:a.CutAfter], nil
	}
	a.write(w, events, id)
	if canceled != nil {
		select {
		case <-r.Context().Done():
		case <-canceled:
		}
	}
}

func (a *A2AAgent) write(w http.ResponseWriter, events []map[string]any, id json.RawMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for _, ev := range events {
		if a.Change != nil {
			a.Change(ev)
		}
		var data any = ev
		if a.old() {
			data = flat(ev)
		}
		if a.LangGraph {
			data = a.langGraphShape(flat(ev))
		}
		if a.oldProto() {
			data = protoShape(ev)
		}
		if !a.HTTP {
			data = map[string]any{"jsonrpc": "2.0", "id": id, "result": data}
		}
		raw, _ := json.Marshal(data)
		fmt.Fprintf(w, "data: %s\n\n", raw)
		_ = out.Flush()
	}
}

// protoShape returns a document of 1.0 in the form of 0.3's a2a.proto: messages have their parts as "content", files are
// objects, and canceled has two Ls.
func protoShape(v any) any {
	switch x := v.(type) {
	case []any:
		list := []any{}
		for _, each := range x {
			list = append(list, protoShape(each))
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, value := range x {
			object[name] = protoShape(value)
		}
		if parts, ok := object["parts"]; ok && object["messageId"] != nil {
			object["content"] = parts
			delete(object, "parts")
		}
		if raw, ok := object["raw"]; ok {
			object = map[string]any{"file": map[string]any{"fileWithBytes": raw, "name": object["filename"], "mimeType": object["mediaType"]}}
		}
		if url, ok := object["url"]; ok {
			object = map[string]any{"file": map[string]any{"fileWithUri": url, "name": object["filename"], "mimeType": object["mediaType"]}}
		}
		if data, ok := object["data"]; ok {
			object["data"] = map[string]any{"data": data}
		}
		if object["state"] == "TASK_STATE_CANCELED" {
			object["state"] = "TASK_STATE_CANCELLED"
		}
		return object
	}
	return v
}

// flat returns an event of 1.0 in the form of 0.3.
func flat(ev map[string]any) any {
	for name, value := range ev {
		object := map[string]any{}
		for k, v := range value.(map[string]any) {
			object[k] = v
		}
		switch name {
		case "statusUpdate":
			object["kind"], object["final"] = "status-update", false
		case "artifactUpdate":
			object["kind"] = "artifact-update"
		}
		return object
	}
	return nil
}
