package backend

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// streamModes are asked for in every run: values and checkpoints are the state, updates the steps, messages-tuple the
// tokens, and tasks proves early that more work comes.
var streamModes = []string{"values", "updates", "messages-tuple", "custom", "tasks", "checkpoints"}

// furtherModes are passed on when the client asked for them. The mode messages is not: the face makes it from the
// tokens.
var furtherModes = []string{"events", "debug", "tools"}

// ownKeys are entries of config.configurable that are the bridge's to say, or name things of the bridge; the agent's
// server has its own values for those.
var ownKeys = []string{rule.BridgeMember, "thread_id", "run_id", "graph_id", "assistant_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "thread_ts"}

// requests writes the bodies of the requests for a run.
type requests struct{ *job }

// first is the body that starts the run upstream.
func (r requests) first() runCreate {
	body := r.common(false)
	if r.origin == threadComesWithRun {
		body.IfNotExists = "create"
	}
	if r.t.Graph.Fork != nil {
		body.at(r.t.Graph.Fork.Checkpoint)
	}
	r.fill(&body)
	return body
}

// nextStep is the body that asks for the run's next step.
func (r requests) nextStep() runCreate {
	body := r.common(true)
	r.goOn(&body)
	return body
}

// common is what first and next say alike. It is the server's default to go on when the connection breaks and to keep
// the frames only if asked; both are said, since getting back to a broken stream rests on them.
func (r requests) common(next bool) runCreate {
	o := &r.t.Run.Options
	durability, _ := rawjson.Lookup(r.t.Run.Kwargs, "durability")
	body := runCreate{
		Assistant: r.target.id, Config: r.config(next), Metadata: r.metadata(),
		Context: r.context(), StreamMode: modes(o.StreamModes, r.target.lacks), Subgraphs: o.Subgraphs || rule.InnerTokens(o),
		Resumable: true, OnDisconnect: "continue", Multitask: "reject",
		InterruptBefore: nodes(o.InterruptBefore), InterruptAfter: nodes(o.InterruptAfter),
		Durability: durability,
	}
	if r.t.OneStep || (o.Approval == mapping.ApprovalStep && len(o.InterruptAfter) == 0) {
		body.InterruptAfter = nodes([]string{"*"})
	}
	return body
}

// fill puts what the client said into the first request of a run: an answer, an update, a node to go on with, or an
// input.
func (r requests) fill(body *runCreate) {
	o := &r.t.Run.Options
	switch {
	case r.t.Resume && (set(o.Resume) != nil || r.questionOpen()):
		body.Command = &commandWire{Resume: r.answer(), Update: set(o.Update), Goto: set(o.Goto)}
	case set(o.Update) != nil || set(o.Goto) != nil:
		body.Command = &commandWire{Update: set(o.Update), Goto: set(o.Goto)}
	default:
		body.Input = orNull(r.t.Input.Raw)
	}
}

// answer is the client's answer, without an id that the agent did not give. One that JavaScript takes for nothing is
// put under the questions' ids: by itself the server refuses it as an empty command.
func (r requests) answer() json.RawMessage {
	open := r.t.Run.Options.Asked
	value := orNull(toNameless(r.t.Run.Options.Resume, open))
	switch string(bytes.TrimSpace(value)) {
	case "null", "false", "0", `""`:
	default:
		return value
	}
	byID := make([]rawjson.Member, 0, len(open))
	for _, q := range named(open) {
		byID = append(byID, rawjson.Member{Name: q.ID, Value: value})
	}
	if len(byID) == 0 {
		return value
	}
	return objectOf(byID)
}

// goOn asks for the next step of a run that was stopped after one. What is to be in the state before it is put there on
// the way: an input would start the graph from its beginning.
func (r requests) goOn(body *runCreate) {
	update := object(r.t.Graph.Update)
	if words := r.words(); words != nil {
		if update == nil {
			update = map[string]json.RawMessage{}
		}
		update["messages"] = words
	}
	body.Input = orNull(nil)
	if raw, err := json.Marshal(update); err == nil && len(update) > 0 {
		body.Input, body.Command = nil, &commandWire{Update: raw}
	}
}

// words are what the client said with the step, as messages; nil when it only said to go on.
func (r requests) words() json.RawMessage {
	if r.t.StepText == nil {
		return nil
	}
	say := strings.TrimSpace(*r.t.StepText)
	if say == "" || strings.EqualFold(say, "y") || say == strings.TrimSpace(r.t.Input.Text) {
		return nil
	}
	raw, err := json.Marshal([]any{map[string]string{"type": "human", "content": *r.t.StepText}})
	if err != nil {
		return nil
	}
	return raw
}

// questionOpen reports whether the thread waited for an answer, not just for leave to go on after a stop before or
// after a node.
func (r requests) questionOpen() bool {
	return len(r.t.Run.Options.Asked) > 0 || r.t.State != nil && len(r.t.State.Interrupts()) > 0
}

// config is the client's config without names of ours. The smallest limit that was set is its recursion_limit. Without
// one the agent keeps its own: graphs may be bound to one, and servers have defaults.
func (r requests) config(next bool) json.RawMessage {
	given := r.t.Run.Options.Config
	if rawjson.Kind(given) != '{' {
		given = nil
	}
	var set []rawjson.Member
	if limit := r.recursionLimit(); limit > 0 {
		set = append(set, rawjson.Member{Name: "recursion_limit", Value: json.RawMessage(strconv.Itoa(limit))})
	}
	if configurable := r.configurable(rawjson.Get(given, "configurable"), next); configurable != nil {
		set = append(set, rawjson.Member{Name: "configurable", Value: configurable})
	}
	config, _ := rawjson.WithMembers(given, set...) // it was checked when it came in
	return config
}

// recursionLimit is what the agent is told of the run's limit; 0 for nothing. One that clients do not know of is a step
// higher, so that the bridge's own guard is met first and names it (mayMake).
func (r requests) recursionLimit() int {
	switch o := &r.t.Run.Options; {
	case o.MaxSteps == 0 || o.LimitedBy == mapping.LimitedByRequest || o.LimitedBy == mapping.LimitedByAssistant:
		return o.MaxSteps
	default:
		return o.MaxSteps + 1
	}
}

// configurable is that of the client without names of ours; nil for none.
func (r requests) configurable(given json.RawMessage, next bool) json.RawMessage {
	made, memory := r.configured(given, next), r.memory()
	if memory == nil || r.inContext() {
		return made
	}
	made, _ = rawjson.WithMembers(made, rawjson.Member{Name: rule.BridgeMember, Value: memory}) // it is an object, or nil
	return made
}

// memory returns an object with the agent's part of the long-term store; nil if there is nothing to tell. A graph
// cannot ask the bridge to write, so access to the store without a token is of no use to it.
func (r requests) memory() json.RawMessage {
	given := r.t.Memory
	if given.Store != nil && given.Store.Token == "" {
		given.Store = nil
	}
	if given.Store == nil && len(given.Items) == 0 {
		return nil
	}
	object, err := json.Marshal(struct {
		Memory []adapter.MemoryItem `json:"memory"`
		Store  *adapter.StoreAccess `json:"store,omitempty"`
	}{append([]adapter.MemoryItem{}, given.Items...), given.Store})
	if err != nil {
		return nil // a value that is not JSON; the store has none
	}
	return object
}

// inContext reports whether memory is told in the run's context: servers refuse a run with both a context and
// config.configurable, where neither is empty (langgraph-api 0.4).
func (r requests) inContext() bool {
	return rawjson.Kind(r.t.Run.Options.Context) == '{' && rawjson.CountMembers(r.t.Run.Options.Context) > 0
}

// context is that of the client, with what the agent is told of the store.
func (r requests) context() json.RawMessage {
	given, memory := set(r.t.Run.Options.Context), r.memory()
	if !r.inContext() || memory == nil && rawjson.Get(given, rule.BridgeMember) == nil {
		return given
	}
	made, _ := rawjson.WithMembers(given, rawjson.Member{Name: rule.BridgeMember, Value: memory}) // it was checked when it came in
	return made
}

// configured is configurable without what the bridge tells.
func (r requests) configured(given json.RawMessage, next bool) json.RawMessage {
	var set []rawjson.Member
	for _, key := range ownKeys {
		set = append(set, rawjson.Member{Name: key})
	}
	if r.link.Profile == profileForked && (next || r.t.Graph.Fork == nil) {
		i := slices.Index(ownKeys, "checkpoint_id")
		set[i].Value = orNull(nil)
	} else if rawjson.Kind(given) != '{' {
		return nil
	}
	if rawjson.Kind(given) != '{' {
		given = nil
	}
	made, _ := rawjson.WithMembers(given, set...) // it was checked when it came in
	return made
}

// originKey is the member of metadata in which the bridge, and earlier versions of this backend, say where a thread
// comes from.
const originKey = "apbridge"

// Keys of the bridge's own in the metadata of upstream threads and runs.
const (
	runKey    = "apbridge_run_id"       // of a run: the bridge's run
	threadKey = "apbridge_thread_id"    // the bridge's thread
	firstKey  = "apbridge_first_run_id" // of a thread that was made by a run's request: that run
)

// bridgeKeys are what the bridge says in a run's metadata about its own agent.
var bridgeKeys = []string{"graph_id", "assistant_id", "created_by"}

// metadata is the run's, without what the bridge says there about its own agent, and by what a lost request is found
// again.
func (r requests) metadata() json.RawMessage {
	given := r.t.Run.Metadata
	if rawjson.Kind(given) != '{' {
		given = nil
	}
	var set []rawjson.Member
	for _, key := range bridgeKeys {
		set = append(set, rawjson.Member{Name: key})
	}
	set = append(set, flat(rawjson.Get(given, originKey))...)
	run := quoted(r.t.Run.ID)
	set = append(set, rawjson.Member{Name: runKey, Value: run})
	if r.origin == threadComesWithRun {
		set = append(set, rawjson.Member{Name: threadKey, Value: quoted(r.t.Thread.ID)}, rawjson.Member{Name: firstKey, Value: run})
	}
	meta, _ := rawjson.WithMembers(given, set...) // it was checked when it came in
	return meta
}

// originMost is how many members the nested object of the bridge has at the most; one with more is a client's own.
const originMost = 16

// flat replaces the nested object of the bridge by flat members: servers may refuse a nested value in the metadata of a
// run (Aegra does).
func flat(origin json.RawMessage) []rawjson.Member {
	if rawjson.Kind(origin) != '{' || rawjson.CountMembers(origin) > originMost {
		return nil
	}
	set := []rawjson.Member{{Name: originKey}}
	_ = rawjson.EachMember(origin, func(name rawjson.Quoted, value json.RawMessage) {
		if key := originKey + "_" + name.Text(); key != runKey && key != threadKey && key != firstKey {
			set = append(set, rawjson.Member{Name: key, Value: slices.Clip(value)})
		}
	})
	return set
}

// newestMode is a stream mode that older servers do not know.
const newestMode = "tools"

// modes are the stream modes of a run, without one that the server lacks.
func modes(asked []string, lacks string) []string {
	list := slices.Clone(streamModes)
	for _, mode := range furtherModes {
		if mode != lacks && slices.Contains(asked, mode) {
			list = append(list, mode)
		}
	}
	return list
}

// nodes is a list of node names; all of them is the string "*", since servers take a list ["*"] for a node of that
// name.
func nodes(names []string) json.RawMessage {
	if len(names) == 0 {
		return nil
	}
	if slices.Contains(names, "*") {
		return json.RawMessage(`"*"`)
	}
	raw, _ := json.Marshal(names)
	return raw
}

// set is raw, or nil for an absent value.
func set(raw json.RawMessage) json.RawMessage {
	if rawjson.IsNull(raw) {
		return nil
	}
	return raw
}

// orNull is raw, or null for an absent value.
func orNull(raw json.RawMessage) json.RawMessage {
	if rawjson.IsNull(raw) {
		return json.RawMessage("null")
	}
	return raw
}
