package protocol

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// Spelling is a client's spelling of names with several words. Replies to clients whose spelling is unknown use both.
type Spelling uint8

const (
	Snake Spelling = 1 << iota // as SDKs send them: run_id
	Camel                      // as documented: runId
)

// camelNames maps snake case names to camel case. The code uses snake case.
var camelNames = map[string]string{
	"applied_through_seq":  "appliedThroughSeq",
	"assistant_id":         "assistantId",
	"cache_creation":       "cacheCreation",
	"cache_read":           "cacheRead",
	"checkpoint_id":        "checkpointId",
	"event_id":             "eventId",
	"graph_name":           "graphName",
	"input_token_details":  "inputTokenDetails",
	"input_tokens":         "inputTokens",
	"interrupt_after":      "interruptAfter",
	"interrupt_before":     "interruptBefore",
	"interrupt_id":         "interruptId",
	"interrupt_ids":        "interruptIds",
	"langsmith_tracer":     "langsmithTracer",
	"last_event_id":        "lastEventId",
	"multitask_strategy":   "multitaskStrategy",
	"node_name":            "nodeName",
	"output_token_details": "outputTokenDetails",
	"output_tokens":        "outputTokens",
	"parent_id":            "parentId",
	"replayed_events":      "replayedEvents",
	"response_schema":      "responseSchema",
	"run_id":               "runId",
	"since_event_id":       "sinceEventId",
	"subscription_id":      "subscriptionId",
	"thread_id":            "threadId",
	"tool_call_id":         "toolCallId",
	"tool_name":            "toolName",
	"total_tokens":         "totalTokens",
}

// names returns the spellings of a name: two if both are wanted.
func (s Spelling) names(name string) []string {
	other, differs := camelNames[name]
	switch {
	case !differs || s&Camel == 0:
		return []string{name}
	case s&Snake == 0:
		return []string{other}
	default:
		return []string{name, other}
	}
}

// writer writes objects of the protocol in a client's spelling.
type writer struct {
	rawjson.Writer
	spelling Spelling
}

func (w *writer) open() *writer  { w.Open('{'); return w }
func (w *writer) close() *writer { w.Close('}'); return w }

// object writes a member that is an object.
func (w *writer) object(name string, members func()) *writer {
	for _, n := range w.spelling.names(name) {
		w.Key(n).Open('{')
		members()
		w.Close('}')
	}
	return w
}

func (w *writer) text(name, value string) *writer {
	for _, n := range w.spelling.names(name) {
		w.Key(n).Text(value)
	}
	return w
}

// some writes a string member unless the string is empty.
func (w *writer) some(name, value string) *writer {
	if value == "" {
		return w
	}
	return w.text(name, value)
}

func (w *writer) texts(name string, list []string) *writer {
	for _, n := range w.spelling.names(name) {
		w.Key(n).Texts(list)
	}
	return w
}

func (w *writer) int(name string, value int64) *writer {
	for _, n := range w.spelling.names(name) {
		w.Key(n).Int(value)
	}
	return w
}

// raw writes a JSON member, or null for nil.
func (w *writer) raw(name string, value json.RawMessage) *writer {
	for _, n := range w.spelling.names(name) {
		w.Key(n).Raw(value, "null")
	}
	return w
}

// state writes a state after its key without building a copy of it.
func (w *writer) state(of *state.Fold) {
	for piece := range of.Pieces() {
		w.Bytes = append(w.Bytes, piece...)
	}
}
