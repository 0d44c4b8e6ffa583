package protocol

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// ofRuns are the params of commands that start a run (command.start).
var ofRuns = []string{"config", "metadata", "context", "langsmith_tracer", "interrupt_before", "interrupt_after", "multitask_strategy"}

// taken lists the known params of commands. The CDDL allows others; they are ignored and named in the reply.
var taken = map[string][]string{
	"run.start":             append([]string{"assistant_id", "input"}, ofRuns...),
	"input.respond":         append([]string{"namespace", "interrupt_id", "response", "responses", "update", "goto"}, ofRuns...),
	"input.inject":          {"namespace", "message"},
	"state.get":             {"namespace", "keys"},
	"state.listCheckpoints": {"namespace", "limit", "before"},
	"state.fork":            append([]string{"checkpoint_id", "input"}, ofRuns...),
	"agent.getTree":         {"run_id"},

	"subscription.subscribe":   ofFilters,
	"subscription.unsubscribe": {"subscription_id"},
	"subscription.reconnect":   {"run_id", "last_event_id", "subscriptions"},
}

// ofFilters are the params of requests for events (EventStreamRequest, SubscribeParams).
var ofFilters = []string{"channels", "namespaces", "depth", "since", "since_event_id"}

// ofCommands are the members of a command's envelope.
var ofCommands = []string{"id", "method", "params"}

// note adds the names of unknown members to ignored, prefixed with a path. It refuses a name that is similar to a known
// member missing in the object, because a run without its misspelt input would continue the thread, and a stream
// without its misspelt filter would contain everything.
func (p *params) note(ignored http.Header, path, of string, known []string) (err error) {
	if p.object == nil || len(known) == 0 {
		return nil
	}
	_ = rawjson.EachMember(p.object, func(name rawjson.Quoted, _ json.RawMessage) { // parsed before
		said := name.Text()
		if err != nil {
			return
		}
		if i := slices.IndexFunc(known, func(k string) bool { return said == k || said == camelNames[k] }); i >= 0 {
			p.sent(known[i]) // so that a refusal uses the spelling of the command
			return
		}
		if near := mapping.Misspelt(said, known); near != "" && p.sent(near) == nil {
			err = invalid("%s is not a param of %s. Did you mean %s?", said, of, near)
			return
		}
		body.Ignored(ignored, path+said)
	})
	return err
}
