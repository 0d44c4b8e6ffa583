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

// streamModes are requested in every run. The state is in values and checkpoints, the steps in updates, the tokens in
// messages-tuple. The mode tasks shows early that more work follows.
var streamModes = []string{"values", "updates", "messages-tuple", "custom", "tasks", "checkpoints"}

// furtherModes are passed on if the client requested them. The mode messages is not, because the face derives it from
// the tokens.
var furtherModes = []string{"events", "debug", "tools"}

// ownKeys lists the entries of config.configurable that the bridge sets or that name the bridge's objects. The agent's
// server has its own values for those.
var ownKeys = []string{rule.BridgeMember, "thread_id", "run_id", "graph_id", "assistant_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "thread_ts"}

// requests builds the bodies of the requests for a run.
type requests struct{ *job }

// first returns the body that starts the run upstream.
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

// nextStep returns the body that requests the run's next step.
func (r requests) nextStep() runCreate {
	body := r.common(true)
	r.goOn(&body)
	return body
}

// common returns the common part of first and nextStep. A broken stream can only be resumed if the run continues after
// a disconnect, which is the default, and if the server keeps the frames, which must be requested.
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

// fill adds the client's part to the first request of a run: an answer, an update, a node to continue with, or an
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

// answer returns the client's answer, without an id that the agent did not give. A bare answer that is falsy in
// JavaScript would be refused as an empty command, so it is sent by question id.
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

// goOn adds the request for the next step of a run that stopped after a step. Additions to the state are sent as an
// update, because an input would restart the graph.
func (r requests) goOn(body *runCreate) {
	update := object(r.t.Graph.Update)
	if words := r.stepMessages(); words != nil {
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

// stepMessages returns the client's text for the step as messages, or nil if the client only asked to continue.
func (r requests) stepMessages() json.RawMessage {
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

// questionOpen reports whether the thread waited for an answer, and not only for permission to continue at a node.
func (r requests) questionOpen() bool {
	return len(r.t.Run.Options.Asked) > 0 || r.t.State != nil && len(r.t.State.Interrupts()) > 0
}

// config returns the client's config without the bridge's names. recursion_limit is the smallest limit that was set. If
// none was set, the agent uses its own: graphs may be bound to a limit, and servers have defaults.
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

// recursionLimit returns the limit that is sent to the agent, or 0 for none. If the limit is not known to clients, the
// value is one step higher, so that the bridge's own limit is reached first and named in the error (mayMake).
func (r requests) recursionLimit() int {
	switch o := &r.t.Run.Options; {
	case o.MaxSteps == 0 || o.LimitedBy == mapping.LimitedByRequest || o.LimitedBy == mapping.LimitedByAssistant:
		return o.MaxSteps
	default:
		return o.MaxSteps + 1
	}
}

// configurable returns the client's entries without the bridge's names, or nil.
func (r requests) configurable(given json.RawMessage, next bool) json.RawMessage {
	made, memory := r.configured(given, next), r.memory()
	if memory == nil || r.inContext() {
		return made
	}
	made, _ = rawjson.WithMembers(made, rawjson.Member{Name: rule.BridgeMember, Value: memory}) // made is an object or nil
	return made
}

// memory returns an object with the agent's part of the long-term store, or nil if there is none. A graph needs a token
// to use the store, because it cannot ask the bridge to write.
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
		return nil // not reached: the store only contains JSON
	}
	return object
}

// inContext reports whether memory is sent in the run's context. Servers refuse a run with both a non-empty context and
// a non-empty config.configurable (langgraph-api 0.4).
func (r requests) inContext() bool {
	return rawjson.Kind(r.t.Run.Options.Context) == '{' && rawjson.CountMembers(r.t.Run.Options.Context) > 0
}

// context returns the client's context with the agent's part of the store.
func (r requests) context() json.RawMessage {
	given, memory := set(r.t.Run.Options.Context), r.memory()
	if !r.inContext() || memory == nil && rawjson.Get(given, rule.BridgeMember) == nil {
		return given
	}
	made, _ := rawjson.WithMembers(given, rawjson.Member{Name: rule.BridgeMember, Value: memory}) // it was checked when it came in
	return made
}

// configured returns configurable without the bridge's entries.
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

// originKey is the metadata member in which the bridge records the origin of a thread (rule.MadeForTask).
const originKey = "apbridge"

// The bridge's keys in the metadata of upstream threads and runs.
const (
	runKey    = "apbridge_run_id"       // of a run: the id of the bridge's run
	threadKey = "apbridge_thread_id"    // the id of the bridge's thread
	firstKey  = "apbridge_first_run_id" // of a thread created by a run's request: the id of that run
)

// bridgeKeys lists the members of a run's metadata that describe the bridge's own agent.
var bridgeKeys = []string{"graph_id", "assistant_id", "created_by"}

// metadata returns the run's metadata without bridgeKeys and with the mark by which a lost request is found.
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

// originMost is the maximum number of members of the bridge's nested object. An object with more belongs to a client.
const originMost = 16

// flat replaces the bridge's nested object with flat members, because servers may refuse nested values in the metadata
// of a run (Aegra does).
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

// modes returns the stream modes of a run, without the mode that the server lacks.
func modes(asked []string, lacks string) []string {
	list := slices.Clone(streamModes)
	for _, mode := range furtherModes {
		if mode != lacks && slices.Contains(asked, mode) {
			list = append(list, mode)
		}
	}
	return list
}

// nodes returns a list of node names. All nodes are written as the string "*", because servers read ["*"] as a node of
// that name.
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

// set returns raw, or nil for an absent value.
func set(raw json.RawMessage) json.RawMessage {
	if rawjson.IsNull(raw) {
		return nil
	}
	return raw
}

// orNull returns raw, or null for an absent value.
func orNull(raw json.RawMessage) json.RawMessage {
	if rawjson.IsNull(raw) {
		return json.RawMessage("null")
	}
	return raw
}
