package protocol

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// ofRuns are the params of a command that starts a run (command.start).
var ofRuns = []string{"config", "metadata", "context", "langsmith_tracer", "interrupt_before", "interrupt_after", "multitask_strategy"}

// taken are the params that commands have. The document allows further ones, which are left alone.
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

// ofFilters are the params of what asks for events (EventStreamRequest, SubscribeParams).
var ofFilters = []string{"channels", "namespaces", "depth", "since"}

// slip refuses a param whose name is nearly that of one which the command lacks: a run that is started without its
// input would go on with the thread, and a stream without its filter would tell everything.
func (p *params) slip(of string, known []string) (err error) {
	if p.object == nil || len(known) == 0 {
		return nil
	}
	_ = rawjson.EachMember(p.object, func(name rawjson.Quoted, _ json.RawMessage) { // it was parsed before
		said := name.Text()
		near := mapping.Misspelt(said, known)
		if err == nil && near != "" && !slices.Contains(known, said) && p.sent(near) == nil {
			err = invalid("%s is no param of %s. Did you mean %s?", said, of, near)
		}
	})
	return err
}
