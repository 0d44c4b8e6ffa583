package face

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file writes the dialect's objects. Where the Agent Protocol and
// LangGraph Server differ in the same place, what is written is the union of
// both: either client finds its keys and ignores the rest. No key of an Agent
// Protocol object is null, since its schemas allow that nowhere.

// timeLayout is how the dialect writes times: UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// runStatus is the status as a flavour knows it: the Agent Protocol has no
// "running" (schema RunStatus).
func runStatus(st mapping.RunStatus, ap bool) string {
	if ap && st == mapping.RunRunning {
		return string(mapping.RunPending)
	}
	return string(st)
}

// encodeRun writes a run. ap says that an Agent Protocol route answers.
func encodeRun(e *rawjson.Writer, run mapping.Run, ap bool) {
	e.Open('{')
	runMembers(e, run, ap)
	e.Close('}')
}

func runMembers(e *rawjson.Writer, run mapping.Run, ap bool) {
	e.Key("run_id").Text(run.ID).Key("thread_id").Text(run.ThreadID)
	e.Key("assistant_id").Text(run.AssistantID).Key("agent_id").Text(run.Agent)
	e.Key("metadata").Raw(runMetadata(run), "{}")
	e.Key("status").Text(runStatus(run.Status, ap))
	e.Key("kwargs").Raw(run.Kwargs, "{}")
	e.Key("multitask_strategy").Text(strategyOf(run))
	e.Key("created_at").Time(run.CreatedAt, timeLayout).Key("updated_at").Time(run.UpdatedAt, timeLayout)
	if run.Fault != nil {
		e.Key("error").Text(run.Fault.Message).Key("error_code").Text(run.Fault.Code)
	}
	if run.Flavour == FlavourAgentProtocol {
		requestMembers(e, run.Kwargs)
	}
}

// runMetadata counts the attempts of a run that was retried, under the name that
// LangGraph's servers have for it.
func runMetadata(run mapping.Run) json.RawMessage {
	if run.Attempt <= 1 {
		return run.Metadata
	}
	counted, err := rule.MergeMetadata(run.Metadata, json.RawMessage(fmt.Sprintf(`{"run_attempt":%d}`, run.Attempt)))
	if err != nil {
		return run.Metadata
	}
	return counted
}

func strategyOf(run mapping.Run) string {
	if run.Multitask == "" {
		return string(mapping.StrategyReject)
	}
	return string(run.Multitask)
}

// requestMembers repeats what an Agent Protocol client asked for: its Run
// includes its RunCreate.
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

// encodeThread writes a thread. messages stand in values, where LangGraph
// clients look for them, and at the top in the Agent Protocol's form.
func encodeThread(e *rawjson.Writer, t mapping.Thread) error {
	e.Open('{').Key("thread_id").Text(t.ID)
	e.Key("created_at").Time(t.CreatedAt, timeLayout).Key("updated_at").Time(t.UpdatedAt, timeLayout)
	e.Key("metadata").Raw(t.Metadata, "{}").Key("status").Text(string(t.Status))
	e.Key("config").Raw(t.Config, "{}").Key("values").Raw(t.Values, "{}")
	e.Key("interrupts")
	encodeInterruptMap(e, t.Interrupts, t.Head)
	if !t.Expires.IsZero() {
		strategy := ttlDelete
		if t.KeepLatest {
			strategy = ttlKeepLatest
		}
		e.Key("ttl").Open('{').Key("strategy").Text(strategy).Key("expires_at").Time(t.Expires, timeLayout).Close('}')
	}
	if err := messagesMember(e, t.Values); err != nil {
		return err
	}
	e.Close('}')
	return nil
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
		rule.WriteAgentProtocolMessage(e, m)
	}
	e.Close(']')
	return nil
}

// encodeInterruptMap writes {task id: [interrupt]}.
func encodeInterruptMap(e *rawjson.Writer, list []mapping.Interrupt, head string) {
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
				encodeInterrupt(e, j)
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

func encodeInterrupt(e *rawjson.Writer, i mapping.Interrupt) {
	e.Open('{').Key("id").Text(i.ID).Key("value").Raw(i.Value, "null")
	if i.When != "" {
		e.Key("when").Text(i.When)
	}
	if len(i.NS) > 0 {
		e.Key("ns").Texts(i.NS)
	}
	e.Close('}')
}

func encodeInterrupts(e *rawjson.Writer, list []mapping.Interrupt) {
	e.Open('[')
	for _, i := range list {
		encodeInterrupt(e, i)
	}
	e.Close(']')
}

// interruptObject is {"__interrupt__": [...]}: the data of an interrupt's
// frames, and the whole answer of a wait that ended in a question.
func interruptObject(list []mapping.Interrupt) []byte {
	var e rawjson.Writer
	e.Open('{').Key("__interrupt__")
	encodeInterrupts(&e, list)
	e.Close('}')
	return e.Bytes
}

// encodeState writes a thread's state at a checkpoint.
func encodeState(e *rawjson.Writer, st adapter.ThreadState) {
	e.Open('{').Key("values").Raw(st.Values, "{}").Key("next").Texts(st.Next)
	e.Key("tasks").Raw(st.Tasks, "[]").Key("metadata").Raw(st.Metadata, "{}")
	e.Key("created_at").Time(st.CreatedAt, timeLayout)
	e.Key("checkpoint")
	encodeCheckpoint(e, st.ThreadID, st.Checkpoint)
	e.Key("parent_checkpoint")
	encodeCheckpoint(e, st.ThreadID, st.Parent)
	e.Key("interrupts").Array(interruptsOf(st.Tasks))
	e.Close('}')
}

// interruptsOf are the questions of a state's tasks, one list: the SDKs' type
// ThreadState has them beside the tasks.
func interruptsOf(tasks json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{}
	for _, task := range splitList(tasks) {
		list = append(list, splitList(rawjson.Get(task, "interrupts"))...)
	}
	return list
}

func encodeCheckpoint(e *rawjson.Writer, thread, id string) {
	if id == "" {
		e.Literal("null")
		return
	}
	e.Open('{').Key("thread_id").Text(thread).Key("checkpoint_ns").Text("")
	e.Key("checkpoint_id").Text(id).Key("checkpoint_map").Literal("null").Close('}')
}

// encodeAssistant writes an agent as LangGraph shows it.
func encodeAssistant(e *rawjson.Writer, a mapping.Agent) {
	e.Open('{').Key("assistant_id").Text(a.ID).Key("graph_id").Text(a.Graph)
	e.Key("name").Text(a.Name).Key("description").OrNull(a.Description)
	e.Key("config").Raw(a.Config, "{}").Key("context").Raw(a.Context, "{}")
	e.Key("metadata").Raw(a.Metadata, "{}").Key("version").Int(int64(max(a.Version, 1)))
	e.Key("created_at").Time(a.CreatedAt, timeLayout).Key("updated_at").Time(a.UpdatedAt, timeLayout).Close('}')
}

// encodeAgent writes an agent as the Agent Protocol shows it (schema Agent).
// Configured agents are known by their name, others by their id.
func encodeAgent(e *rawjson.Writer, a mapping.Agent) {
	e.Open('{').Key("agent_id").Text(agentID(a)).Key("name").Text(a.Name)
	if a.Description != "" {
		e.Key("description").Text(a.Description)
	}
	e.Key("metadata").Raw(a.Metadata, "{}")
	e.Key("capabilities").Literal(`{"ap.io.messages":true,"ap.io.streaming":true}`).Close('}')
}

func agentID(a mapping.Agent) string {
	if a.Configured || a.ID == "" {
		return a.Graph
	}
	return a.ID
}

// encodeItem writes an item of the store; score only where a search gave one.
func encodeItem(e *rawjson.Writer, it mapping.Item) {
	e.Open('{').Key("namespace").Texts(it.Namespace).Key("key").Text(it.Key)
	e.Key("value").Raw(it.Value, "{}")
	e.Key("created_at").Time(it.CreatedAt, timeLayout).Key("updated_at").Time(it.UpdatedAt, timeLayout)
	if it.Score != nil {
		e.Key("score").Encode(*it.Score)
	}
	e.Close('}')
}
