package render

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file writes the dialect's objects. If an object differs between the Agent Protocol and LangGraph Server, it has
// the keys of both; clients ignore the keys that they do not know. Keys of Agent Protocol objects are never null,
// because the schemas do not allow it.

// The flavours of the dialect, as stored with runs.
const (
	FlavourLangGraph     mapping.Flavour = "langgraph"
	FlavourAgentProtocol mapping.Flavour = "agentprotocol"
)

// The strategies of a time to live (LangGraph, "How to add TTLs to your application").
const (
	TTLDelete     = "delete"
	TTLKeepLatest = "keep_latest"
)

// TimeLayout is the dialect's format of times: UTC with milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// RunStatus returns the status of a run. ap is true for the Agent Protocol, which has no "running" (schema RunStatus).
func RunStatus(st mapping.RunStatus, ap bool) string {
	if ap && st == mapping.RunRunning {
		return string(mapping.RunPending)
	}
	return string(st)
}

// Run writes a run. ap is true in responses of Agent Protocol routes.
func Run(e *rawjson.Writer, run *mapping.Run, ap bool) {
	e.Open('{')
	runMembers(e, run, ap)
	e.Close('}')
}

func runMembers(e *rawjson.Writer, run *mapping.Run, ap bool) {
	e.Key("run_id").Text(run.ID).Key("thread_id").Text(run.ThreadID)
	e.Key("assistant_id").Text(run.AssistantID).Key("agent_id").Text(run.Agent)
	e.Key("metadata").Raw(runMetadata(run), "{}")
	e.Key("status").Text(RunStatus(run.Status, ap))
	e.Key("kwargs").Raw(run.Kwargs, "{}")
	e.Key("multitask_strategy").Text(strategyOf(run))
	e.Key("created_at").Time(run.CreatedAt, TimeLayout).Key("updated_at").Time(run.UpdatedAt, TimeLayout)
	if run.Fault != nil {
		e.Key("error").Text(run.Fault.Message).Key("error_code").Text(run.Fault.Code)
		if run.Fault.Name != "" {
			e.Key("error_name").Text(run.Fault.Name)
		}
	}
	if run.CancelReason != "" && run.Status == mapping.RunInterrupted {
		e.Key("cancel_reason").Text(run.CancelReason)
	}
	if run.Flavour == FlavourAgentProtocol {
		requestMembers(e, run.Kwargs)
	}
}

// runMetadata adds the number of attempts of a retried run under the name used by LangGraph's servers.
func runMetadata(run *mapping.Run) json.RawMessage {
	if run.Attempt <= 1 {
		return run.Metadata
	}
	counted, err := rule.MergeMetadata(run.Metadata, json.RawMessage(fmt.Sprintf(`{"run_attempt":%d}`, run.Attempt)))
	if err != nil {
		return run.Metadata
	}
	return counted
}

func strategyOf(run *mapping.Run) string {
	if run.Multitask == "" {
		return string(mapping.StrategyReject)
	}
	return string(run.Multitask)
}

// requestMembers repeats the request of an Agent Protocol client: its Run includes its RunCreate.
func requestMembers(e *rawjson.Writer, kwargs json.RawMessage) {
	_ = rawjson.EachMember(kwargs, func(name rawjson.Quoted, value json.RawMessage) {
		switch name.Text() {
		case "input", "messages", "config":
			if rawjson.Kind(value) != 'n' {
				e.Spliced(name).Raw(value, "null")
			}
		}
	})
}

// timeToLive writes the ttl of a thread in the format of LangGraph Server.
func timeToLive(e *rawjson.Writer, t mapping.Thread) {
	strategy := TTLDelete
	if t.KeepLatest {
		strategy = TTLKeepLatest
	}
	e.Key("ttl").Open('{').Key("strategy").Text(strategy)
	if t.TTL > 0 {
		e.Key("ttl_minutes").Encode(t.TTL.Minutes())
	}
	e.Key("expires_at").Time(t.Expires, TimeLayout).Close('}')
}

// ThreadParts selects the optional members of a thread.
type ThreadParts struct {
	// Messages adds messages at the top, as in the Agent Protocol. LangGraph clients look for them in values. A list of
	// long threads should not contain both.
	Messages bool
	// TTL adds the time to live. LangGraph Server only sends it on request (Get Thread: "Only present when ?include=ttl
	// is passed").
	TTL bool
	// Fault is the failure of the last run, or nil if it did not fail.
	Fault *mapping.Fault
}

// Thread writes a thread.
func Thread(e *rawjson.Writer, t mapping.Thread, parts ThreadParts) error {
	e.Open('{')
	e.Key("thread_id").Text(t.ID)
	e.Key("created_at").Time(t.CreatedAt, TimeLayout).Key("updated_at").Time(t.UpdatedAt, TimeLayout)
	e.Key("state_updated_at").Time(stateTime(t), TimeLayout)
	e.Key("metadata").Raw(t.Metadata, "{}").Key("status").Text(string(t.Status))
	e.Key("config").Raw(t.Config, "{}").Key("values").Raw(t.Values, "{}")
	e.Key("interrupts")
	interruptMap(e, t.Interrupts, t.Head)
	if parts.Fault != nil {
		e.Key("error").Text(parts.Fault.Message)
	}
	if parts.TTL && !t.Expires.IsZero() {
		timeToLive(e, t)
	}
	if parts.Messages {
		if err := messagesMember(e, t.Values); err != nil {
			return err
		}
	}
	e.Close('}')
	return nil
}

// stateTime returns the creation time of the newest state, derived from its id. It is never before the creation of the
// thread.
func stateTime(t mapping.Thread) time.Time {
	if made := rule.MessageTime(t.Head); made.After(t.CreatedAt) {
		return made
	}
	return t.CreatedAt
}

func messagesMember(e *rawjson.Writer, values json.RawMessage) error {
	fold, err := state.NewFold(values)
	if err != nil {
		return err
	}
	messages := fold.Messages()
	if messages == nil && fold.Get("messages") == nil {
		return nil
	}
	e.Key("messages").Open('[')
	for _, m := range messages {
		rule.WriteRoleMessage(e, m)
	}
	e.Close(']')
	return nil
}

// interruptMap writes {task id: [interrupt]}.
func interruptMap(e *rawjson.Writer, list []mapping.Interrupt, head string) {
	e.Open('{')
	done := map[string]bool{}
	for _, i := range list {
		task := taskOf(i, head)
		if done[task] {
			continue
		}
		done[task] = true
		e.Name(task).Open('[')
		for _, j := range list {
			if taskOf(j, head) == task {
				rule.WriteInterrupt(e, j)
			}
		}
		e.Close(']')
	}
	e.Close('}')
}

func taskOf(i mapping.Interrupt, head string) string {
	if i.Task != "" {
		return i.Task
	}
	return mapping.StateTaskID(head)
}

// InterruptObject returns {"__interrupt__": [...]}, which is the data of frames with questions and the whole response
// to a wait that ended with a question.
func InterruptObject(list []mapping.Interrupt) []byte {
	var e rawjson.Writer
	e.Open('{').Key("__interrupt__")
	rule.WriteInterrupts(&e, list)
	e.Close('}')
	return e.Bytes
}

// State writes a thread's state at a checkpoint.
func State(e *rawjson.Writer, st adapter.ThreadState) {
	e.Open('{').Key("values").Raw(st.Values, "{}").Key("next").Texts(st.Next)
	e.Key("tasks").Raw(st.Tasks, "[]").Key("metadata").Raw(st.Metadata, "{}")
	e.Key("created_at").Time(st.CreatedAt, TimeLayout)
	e.Key("checkpoint")
	checkpoint(e, st.ThreadID, st.Checkpoint)
	e.Key("parent_checkpoint")
	checkpoint(e, st.ThreadID, st.Parent)
	e.Key("interrupts").Array(interruptsOf(st.Tasks))
	e.Close('}')
}

// interruptsOf returns the questions of a state's tasks as one list. The type ThreadState of the SDKs has both.
func interruptsOf(tasks json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{}
	for _, task := range rawjson.ElementsOf(tasks) {
		list = append(list, rawjson.ElementsOf(rawjson.Get(task, "interrupts"))...)
	}
	return list
}

func checkpoint(e *rawjson.Writer, thread, id string) {
	if id == "" {
		e.Literal("null")
		return
	}
	e.Open('{').Key("thread_id").Text(thread).Key("checkpoint_ns").Text("")
	e.Key("checkpoint_id").Text(id).Key("checkpoint_map").Literal("null").Close('}')
}

// Assistant writes an agent in LangGraph's form.
func Assistant(e *rawjson.Writer, a mapping.Assistant) {
	e.Open('{').Key("assistant_id").Text(a.ID).Key("graph_id").Text(a.Graph)
	e.Key("name").Text(a.Name).Key("description").OrNull(a.Description)
	e.Key("config").Raw(a.Config, "{}").Key("context").Raw(a.Context, "{}")
	e.Key("metadata").Raw(a.Metadata, "{}").Key("version").Int(int64(max(a.Version, 1)))
	e.Key("created_at").Time(a.CreatedAt, TimeLayout).Key("updated_at").Time(a.UpdatedAt, TimeLayout).Close('}')
}

// Agent writes an agent in the Agent Protocol's form (schema Agent). Configured agents have their name as id.
func Agent(e *rawjson.Writer, a mapping.Assistant) {
	e.Open('{').Key("agent_id").Text(AgentID(a)).Key("name").Text(a.Name)
	if a.Description != "" {
		e.Key("description").Text(a.Description)
	}
	e.Key("metadata").Raw(a.Metadata, "{}")
	e.Key("capabilities").Literal(`{"ap.io.messages":true,"ap.io.streaming":true}`).Close('}')
}

// AgentID returns the id of an agent in the Agent Protocol, which is the name if the agent is configured.
func AgentID(a mapping.Assistant) string {
	if a.Configured || a.ID == "" {
		return a.Graph
	}
	return a.ID
}

// Item writes an item of the store, with its score if a search assigned one.
func Item(e *rawjson.Writer, it mapping.Item) {
	e.Open('{').Key("namespace").Texts(it.Namespace).Key("key").Text(it.Key)
	e.Key("value").Raw(it.Value, "{}")
	e.Key("created_at").Time(it.CreatedAt, TimeLayout).Key("updated_at").Time(it.UpdatedAt, TimeLayout)
	if it.Score != nil {
		e.Key("score").Encode(*it.Score)
	}
	e.Close('}')
}
