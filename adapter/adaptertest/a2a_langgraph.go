package adaptertest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// This file makes an A2AAgent answer as LangGraph Server's own endpoint does, according to LangChain's page "A2A endpoint
// in Agent Server" and its list "What Agent Server currently fails". The server for JavaScript does not have the endpoint.

// LangGraphPath is the path of the endpoint of an assistant.
const LangGraphPath = "/a2a/6f2f0c1e-5f0a-4b6e-9a43-0d6f6f0f6a01"

// atLangGraph cuts the path of the endpoint, or responds that there is nothing.
func (a *A2AAgent) atLangGraph(w http.ResponseWriter, r *http.Request) bool {
	rest, found := strings.CutPrefix(r.URL.Path, LangGraphPath)
	if !found && (r.URL.Path != "/.well-known/agent-card.json" || r.URL.Query().Get("assistant_id") == "") {
		w.WriteHeader(http.StatusNotFound)
		return false
	}
	if found {
		r.URL.Path = rest
	}
	return true
}

// langGraphRefuses returns why the server refuses a message, or "". The id of a context is that of a thread, a UUID.
func (a *A2AAgent) langGraphRefuses(message, params map[string]any) string {
	if !a.LangGraph {
		return ""
	}
	if id, ok := message["contextId"].(string); ok && uuid.Validate(id) != nil {
		return "Failed to create run: Invalid thread ID"
	}
	configuration, _ := params["configuration"].(map[string]any)
	return a.tooMuchHistory(configuration)
}

// tooMuchHistory returns why the server refuses a request for so many messages, or "".
func (a *A2AAgent) tooMuchHistory(params map[string]any) string {
	if n, _ := params["historyLength"].(float64); a.LangGraph && n > 10 {
		return "historyLength cannot exceed 10"
	}
	return ""
}

// langGraphQuestion returns the parts of the one artifact with the questions.
func langGraphQuestion(text string) []any {
	return []any{map[string]any{"data": map[string]any{
		"interrupt_id": "0123456789abcdef0123456789abcdef", "value": text, "response_schema": map[string]any{"type": "string"},
	}}}
}

// langGraphShape returns a value with the members of 0.3: kinds, file objects, a zone of +00:00. The history of a task is
// that of its whole context.
func (a *A2AAgent) langGraphShape(v any) any {
	raw, _ := json.Marshal(v)
	var own any
	_ = json.Unmarshal(raw, &own)
	return a.reshape(own)
}

func (a *A2AAgent) reshape(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = a.reshape(v[i])
		}
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			v[name] = a.reshape(v[name])
		}
		switch {
		case v["messageId"] != nil:
			v["kind"] = "message"
		case v["state"] != nil:
			v["timestamp"] = "2026-11-28T10:30:00.123456+00:00"
		case v["id"] != nil && v["status"] != nil:
			v["kind"], v["history"] = "task", a.reshape(a.historyOf(v["contextId"]))
			n := strings.TrimPrefix(v["id"].(string), "task-")
			v["status"].(map[string]any)["timestamp"] = "2026-11-28T10:30:0" + n + ".123456+00:00"
		case v["raw"] != nil:
			return map[string]any{"kind": "file", "file": map[string]any{"bytes": v["raw"], "mimeType": v["mediaType"], "name": v["filename"]}}
		case v["text"] != nil:
			v["kind"] = "text"
		case v["data"] != nil && len(v) == 1:
			v["kind"] = "data"
		}
	}
	return v
}

func (a *A2AAgent) historyOf(context any) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := []any{}
	for _, t := range a.tasks {
		if t.context == context {
			all = append(all, t.history...)
		}
	}
	raw, _ := json.Marshal(all)
	var own any
	_ = json.Unmarshal(raw, &own)
	return own
}
