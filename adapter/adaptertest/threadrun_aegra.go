package adaptertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// This file contains the differences between Aegra, a LangGraph server in Python, and LangGraph's own server. Aegra
// refuses some requests (its models RunCreate, AssistantSearchRequest and the validation of metadata, version 0.10.4),
// and its runs do not include their metadata.

// aegraLimit is the maximum page size of a search.
const aegraLimit = 100

// aegraRefuses returns the error for a request that Aegra refuses, or "".
func aegraRefuses(route string, query url.Values, body []byte) string {
	switch route {
	case "POST /assistants/search":
		return tooMany(body)
	case "GET /threads/{t}/runs":
		if n, err := strconv.Atoi(query.Get("limit")); err == nil && n > aegraLimit {
			return fmt.Sprintf("Input should be less than or equal to %d", aegraLimit)
		}
	case "POST /threads/{t}/runs/stream":
		return badRun(body)
	}
	return ""
}

func tooMany(body []byte) string {
	var req struct {
		Limit int `json:"limit"`
	}
	if json.Unmarshal(body, &req) == nil && req.Limit > aegraLimit {
		return fmt.Sprintf("Input should be less than or equal to %d", aegraLimit)
	}
	return ""
}

func badRun(body []byte) string {
	var req struct {
		Input      json.RawMessage            `json:"input"`
		Command    json.RawMessage            `json:"command"`
		Checkpoint json.RawMessage            `json:"checkpoint"`
		Metadata   map[string]json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err.Error()
	}
	for key, value := range req.Metadata {
		if kind := nested(value); kind != "" {
			return fmt.Sprintf("Value error, metadata value for key '%s' must be str/int/float/bool, got %s", key, kind)
		}
	}
	input, command := given(req.Input), given(req.Command)
	switch {
	case input && command:
		return "Value error, Cannot specify both 'input' and 'command' - they are mutually exclusive"
	case !input && !command && !given(req.Checkpoint):
		return "Value error, Must specify at least one of 'input', 'command', or 'checkpoint'"
	}
	return ""
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func nested(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "dict"
	case '[':
		return "list"
	case 'n':
		return "NoneType"
	}
	return ""
}

// refuseAegra writes FastAPI's response to a body that does not match its model.
func refuseAegra(w http.ResponseWriter, message string) {
	detail, _ := json.Marshal(map[string]any{"detail": []any{map[string]any{"type": "value_error", "loc": []string{"body"}, "msg": message}}})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = w.Write(detail)
}
