package face

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// runRequest is a parsed request for a run.
type runRequest struct {
	adapter.RunRequest
	stateless bool // on a route without a thread
	cancel    bool // on_disconnect: cancel
}

// take returns the run to start and drops the references to the request body. Otherwise the body would stay in memory
// while a client waits for the run.
func (q *runRequest) take() *adapter.RunRequest {
	n := q.RunRequest
	q.Input, q.Messages, q.Kwargs, q.Command = nil, nil, nil, nil
	q.Metadata, q.Config, q.Context = nil, nil, nil
	return &n
}

func (q *runRequest) ap() bool { return q.Flavour == render.FlavourAgentProtocol }

// keptFields lists the members that a run repeats in its kwargs, as they were sent.
var keptFields = []string{
	"input", "messages", "command", "config", "context", "stream_mode", "interrupt_before", "interrupt_after",
	"checkpoint", "checkpoint_id", "durability",
}

// Stream modes of each flavour.
var (
	langGraphModes = []string{"values", "updates", "messages", "messages-tuple", "custom", "events", "debug", "tasks", "checkpoints", "tools"}
	protocolModes  = []string{"values", "messages", "updates", "custom"}
)

// readRun reads the body of a request for a run. thread is the thread in the path, or "".
func (s *server) readRun(w http.ResponseWriter, r *http.Request, thread string) (*runRequest, error) {
	o, err := s.request(w, r, true)
	if err != nil {
		return nil, err
	}
	q := readRunBody(o, thread)
	q.IdempotencyKey = r.Header.Get(adapter.IdempotencyKeyHeader)
	q.Subgraphs = q.Subgraphs || slices.ContainsFunc(namespaces(r), func(ns string) bool { return ns != "" })
	q.Retries, q.RetriesSet = retriesOf(o, r.Header)
	return q, o.Err()
}

func retriesOf(o *request.Fields, h http.Header) (n int, said bool) {
	n, said, err := adapter.Retries(h.Values(adapter.RetriesHeader))
	if err != nil {
		o.Blame(adapter.RetriesHeader, err.Error())
	}
	return n, said
}

func readRunBody(o *request.Fields, thread string) *runRequest {
	q := &runRequest{stateless: thread == ""}
	q.ThreadID = thread
	q.Agent, q.Flavour = agentOf(o, thread != "")
	q.Kwargs, q.Fields = keptMembers(o), documentedMembers(o)
	q.Input, q.Messages = o.Get("input"), o.List("messages")
	q.HasInput = q.Input != nil || q.Messages != nil
	q.Command = commandOf(o)
	q.StrictResume = o.Flag("strict_resume", false)
	q.Metadata, q.Context = o.Object("metadata"), contextOf(o)
	q.Config = configOf(o)
	q.ParentAnswers = parentAnswers(q.Config)
	readStreaming(o, q)
	readScheduling(o, q)
	readCompletion(o, q)
	checkHints(o)
	return q
}

// agentOf returns the agent and the flavour of the request. LangGraph's clients send assistant_id and those of the
// Agent Protocol agent_id. If both are missing, it returns the default agent, and LangGraph's flavour on a thread or
// else the Agent Protocol's.
func agentOf(o *request.Fields, onThread bool) (string, mapping.Flavour) {
	assistant, agent := o.Name("assistant_id"), o.Name("agent_id")
	if assistant != "" {
		return assistant, render.FlavourLangGraph
	}
	if agent != "" {
		return agent, render.FlavourAgentProtocol
	}
	if onThread {
		return "", render.FlavourLangGraph
	}
	return "", render.FlavourAgentProtocol
}

// keptMembers returns an object of the members that a run repeats, in the order in which they were sent. It also
// changes the fields' values to slices of that object, so that nothing refers to the request body.
func keptMembers(o *request.Fields) json.RawMessage {
	size := 2
	for _, m := range o.Members() {
		if slices.Contains(keptFields, m.Name) {
			size += len(m.Name) + len(m.Value) + 4
		}
	}
	e := rawjson.Writer{Bytes: make([]byte, 0, size)}
	e.Open('{')
	for i := range o.Members() {
		m := &o.Members()[i]
		if slices.Contains(keptFields, m.Name) {
			e.Key(m.Name).Raw(m.Value, "null")
			m.Value = e.Bytes[len(e.Bytes)-len(m.Value) : len(e.Bytes) : len(e.Bytes)]
		}
	}
	return e.Close('}').Bytes
}

func documentedMembers(o *request.Fields) []string {
	var out []string
	for _, m := range o.Members() {
		if slices.Contains(runFields, m.Name) {
			out = append(out, m.Name)
		}
	}
	return out
}

// commandOf reads {resume, update, goto}. RemoteGraph sends every member of LangGraph's Command, even empty ones: graph
// null, update null, goto [] or "".
func commandOf(o *request.Fields) *adapter.Command {
	c := o.Sub("command")
	if c == nil {
		return nil
	}
	cmd := &adapter.Command{Resume: c.Sent("resume"), Update: c.Get("update"), Goto: jumpOf(c)}
	cmd.HasResume = cmd.Resume != nil
	if request.UnlessEmpty(c.Get("graph")) != nil {
		c.Refuse("graph", "is not supported: a run can only command its own graph")
	}
	c.CheckUnknown()
	if k := rawjson.Kind(cmd.Update); k != 0 && k != '{' && k != '[' {
		c.Refuse("update", "must be an object, not %s", request.KindName(cmd.Update))
	}
	return cmd
}

// configOf reads {tags, recursion_limit, configurable}. Other members are passed on unchecked.
func configOf(o *request.Fields) json.RawMessage {
	raw := o.Object("config")
	if c := o.Within("config", raw); c != nil {
		c.Texts("tags")
		c.Object("configurable")
		c.Whole("recursion_limit", 0, 1, 1<<30)
	}
	if rawjson.Get(rawjson.Get(raw, "configurable"), rule.BridgeMember) != nil {
		o.Ignore("config.configurable." + rule.BridgeMember)
	}
	return raw
}

func contextOf(o *request.Fields) json.RawMessage {
	raw := o.Object("context")
	if rawjson.Get(raw, rule.BridgeMember) != nil {
		o.Ignore("context." + rule.BridgeMember)
	}
	return raw
}

// LangGraph uses these members of config.configurable to mark calls of inner graphs whose parent was resumed.
// RemoteGraph sends them if it is a node of a graph (langgraph, pregel/remote.py).
const (
	resumingKey  = "__pregel_resuming"
	resumeMapKey = "__pregel_resume_map"
)

// parentAnswers returns the answers of a resumed parent graph, or nil if the request does not come from one.
func parentAnswers(config json.RawMessage) map[string]json.RawMessage {
	if !bytes.Contains(config, []byte(resumingKey)) {
		return nil
	}
	configurable := rawjson.Get(config, "configurable")
	if string(rawjson.Get(configurable, resumingKey)) != "true" {
		return nil
	}
	answers := map[string]json.RawMessage{}
	_ = rawjson.EachMember(rawjson.Get(configurable, resumeMapKey), func(name rawjson.Quoted, value json.RawMessage) {
		answers[name.Text()] = slices.Clip(value)
	})
	return answers
}

func readStreaming(o *request.Fields, q *runRequest) {
	allowed := langGraphModes
	if q.ap() {
		allowed = protocolModes
	}
	q.StreamModes = o.TextOrTexts("stream_mode", allowed)
	q.Subgraphs = o.Flag("stream_subgraphs", false)
	q.InterruptBefore = o.Nodes("interrupt_before")
	q.InterruptAfter = o.Nodes("interrupt_after")
}

func readScheduling(o *request.Fields, q *runRequest) {
	q.Multitask = mapping.Strategy(o.Enum("multitask_strategy", "reject", "enqueue", "interrupt", "rollback", "concurrent"))
	q.IfNotExists = o.Enum("if_not_exists", "reject", "create")
	q.RunAfter = time.Duration(o.Whole("after_seconds", 0, 0, 366*24*3600)) * time.Second
	q.CheckpointID = cmp.Or(checkpointOf(o), configuredCheckpoint(o))
	if id := o.UUID("thread_id"); id != "" && q.stateless {
		q.ThreadID = id
	}
}

// configuredCheckpoint returns the checkpoint in LangGraph's config, as it appears in an earlier state. It ignores one
// of an inner graph (checkpoint_ns), which is not a checkpoint of the thread.
func configuredCheckpoint(o *request.Fields) string {
	configurable := rawjson.Get(o.Get("config"), "configurable") // not split, because it may have any number of keys
	id := rawjson.Get(configurable, "checkpoint_id")
	if rawjson.TextOf(id) == "" || rawjson.GetText(configurable, "checkpoint_ns") != "" {
		return ""
	}
	return o.Apart("config.configurable.", rawjson.Member{Name: "checkpoint_id", Value: id}).UUID("checkpoint_id")
}

func readCompletion(o *request.Fields, q *runRequest) {
	q.Webhook = webhookOf(o)
	onCompletion := o.Enum("on_completion", "delete", "keep")
	onDisconnect := o.Enum("on_disconnect", "cancel", "continue")
	q.cancel = onDisconnect == "cancel" || onDisconnect == "" && q.ap()
	if onCompletion == "delete" && !q.stateless {
		o.Refuse("on_completion", "can only be delete for runs without a thread in their path")
	}
	q.DeleteAfter = onCompletion == "delete"
	q.Temporary = onCompletion == "" && q.stateless && q.ThreadID == ""
}

// webhookOf reads a URL. Its host is checked when it is called.
func webhookOf(o *request.Fields) string {
	s := o.Text("webhook")
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || len(s) > 65536 {
		o.Refuse("webhook", "must be an http or https URL")
		return ""
	}
	return s
}

// checkHints checks the types of fields that do not affect the result.
func checkHints(o *request.Fields) {
	o.Flag("stream_resumable", false)
	o.Flag("checkpoint_during", false)
	o.Texts("feedback_keys")
	o.Enum("durability", "sync", "async", "exit")
	o.Object("langsmith_tracer")
}

// jumpOf reads a command's goto: the name of a node, a Send {node, …}, or a list of both. Anything else is refused
// here, because an agent would only refuse it after it has consumed the answer and closed the question.
func jumpOf(c *request.Fields) json.RawMessage {
	to := request.UnlessEmpty(c.Get("goto"))
	list := []json.RawMessage{to}
	if rawjson.Kind(to) == '[' {
		list = rawjson.ElementsOf(to)
	}
	if to != nil && slices.ContainsFunc(list, func(one json.RawMessage) bool { return !leads(one) }) {
		c.Refuse("goto", "must be the name of a node, a Send {node, …}, or a list of these")
		return nil
	}
	return to
}

// leads reports whether one member of a goto names a node.
func leads(to json.RawMessage) bool {
	if rawjson.Kind(to) == '{' {
		to = rawjson.Get(to, "node")
	}
	node, ok := rawjson.Text(to)
	return ok && node != ""
}
