package face

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// This file writes the dialect's objects. Where the Agent Protocol and
// LangGraph Server differ in the same place, what is written is the union of
// both: either client finds its keys and ignores the rest. No key of an Agent
// Protocol object is null, since its schemas allow that nowhere.

// runStatus is the status as a flavour knows it: the Agent Protocol has no
// "running" (schema RunStatus).
func runStatus(st mapping.RunStatus, ap bool) string {
	if ap && st == mapping.RunRunning {
		return string(mapping.RunPending)
	}
	return string(st)
}

// encodeRun writes a run. ap says that an Agent Protocol route answers.
func encodeRun(e *enc, run mapping.Run, ap bool) {
	e.open('{')
	runMembers(e, run, ap)
	e.close('}')
}

func runMembers(e *enc, run mapping.Run, ap bool) {
	e.key("run_id").str(run.ID).key("thread_id").str(run.ThreadID)
	e.key("assistant_id").str(run.AssistantID).key("agent_id").str(run.Agent)
	e.key("metadata").raw(runMetadata(run), "{}")
	e.key("status").str(runStatus(run.Status, ap))
	e.key("kwargs").raw(run.Kwargs, "{}")
	e.key("multitask_strategy").str(strategyOf(run))
	e.key("created_at").time(run.CreatedAt).key("updated_at").time(run.UpdatedAt)
	if run.Fault != nil {
		e.key("error").str(run.Fault.Message).key("error_code").str(run.Fault.Code)
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
	counted, err := mapping.MergeMetadata(run.Metadata, json.RawMessage(fmt.Sprintf(`{"run_attempt":%d}`, run.Attempt)))
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
func requestMembers(e *enc, kwargs json.RawMessage) {
	members, _ := splitObject(kwargs)
	for _, m := range members {
		switch m.Name {
		case "input", "messages", "config":
			if kindOf(m.Value) != 'n' {
				e.key(m.Name).raw(m.Value, "null")
			}
		}
	}
}

// encodeThread writes a thread. messages stand in values, where LangGraph
// clients look for them, and at the top in the Agent Protocol's form.
func encodeThread(e *enc, t mapping.Thread) error {
	e.open('{').key("thread_id").str(t.ID)
	e.key("created_at").time(t.CreatedAt).key("updated_at").time(t.UpdatedAt)
	e.key("metadata").raw(t.Metadata, "{}").key("status").str(string(t.Status))
	e.key("config").raw(t.Config, "{}").key("values").raw(t.Values, "{}")
	e.key("interrupts")
	encodeInterruptMap(e, t.Interrupts, t.Head)
	if !t.Expires.IsZero() {
		strategy := ttlDelete
		if t.KeepLatest {
			strategy = ttlKeepLatest
		}
		e.key("ttl").open('{').key("strategy").str(strategy).key("expires_at").time(t.Expires).close('}')
	}
	if err := messagesMember(e, t.Values); err != nil {
		return err
	}
	e.close('}')
	return nil
}

func messagesMember(e *enc, values json.RawMessage) error {
	fold, err := mapping.NewFold(values)
	if err != nil {
		return err
	}
	messages := fold.Messages()
	if messages == nil && fold.Get("messages") == nil {
		return nil
	}
	e.key("messages").raws(mapping.AgentProtocolMessages(messages))
	return nil
}

// encodeInterruptMap writes {task id: [interrupt]}.
func encodeInterruptMap(e *enc, list []mapping.Interrupt, head string) {
	e.open('{')
	done := map[string]bool{}
	for _, i := range list {
		task := taskOf(i, head)
		if done[task] {
			continue
		}
		done[task] = true
		e.anyKey(task).open('[')
		for _, j := range list {
			if taskOf(j, head) == task {
				encodeInterrupt(e, j)
			}
		}
		e.close(']')
	}
	e.close('}')
}

func taskOf(i mapping.Interrupt, head string) string {
	if i.Task != "" {
		return i.Task
	}
	return mapping.StateTaskID(head)
}

func encodeInterrupt(e *enc, i mapping.Interrupt) {
	e.open('{').key("id").str(i.ID).key("value").raw(i.Value, "null")
	if i.When != "" {
		e.key("when").str(i.When)
	}
	if len(i.NS) > 0 {
		e.key("ns").strs(i.NS)
	}
	e.close('}')
}

func encodeInterrupts(e *enc, list []mapping.Interrupt) {
	e.open('[')
	for _, i := range list {
		encodeInterrupt(e, i)
	}
	e.close(']')
}

// interruptObject is {"__interrupt__": [...]}: the data of an interrupt's
// frames, and the whole answer of a wait that ended in a question.
func interruptObject(list []mapping.Interrupt) []byte {
	var e enc
	e.open('{').key("__interrupt__")
	encodeInterrupts(&e, list)
	e.close('}')
	return e.b
}

// encodeState writes a thread's state at a checkpoint.
func encodeState(e *enc, st adapter.ThreadState) {
	e.open('{').key("values").raw(st.Values, "{}").key("next").strs(st.Next)
	e.key("tasks").raw(st.Tasks, "[]").key("metadata").raw(st.Metadata, "{}")
	e.key("created_at").time(st.CreatedAt)
	e.key("checkpoint")
	encodeCheckpoint(e, st.ThreadID, st.Checkpoint)
	e.key("parent_checkpoint")
	encodeCheckpoint(e, st.ThreadID, st.Parent)
	e.key("interrupts").raws(interruptsOf(st.Tasks))
	e.close('}')
}

// interruptsOf are the questions of a state's tasks, one list: the SDKs' type
// ThreadState has them beside the tasks.
func interruptsOf(tasks json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{}
	for _, task := range splitList(tasks) {
		list = append(list, splitList(memberOf(task, "interrupts"))...)
	}
	return list
}

func encodeCheckpoint(e *enc, thread, id string) {
	if id == "" {
		e.lit("null")
		return
	}
	e.open('{').key("thread_id").str(thread).key("checkpoint_ns").str("")
	e.key("checkpoint_id").str(id).key("checkpoint_map").lit("null").close('}')
}

// encodeAssistant writes an agent as LangGraph shows it.
func encodeAssistant(e *enc, a mapping.Agent) {
	e.open('{').key("assistant_id").str(a.ID).key("graph_id").str(a.Graph)
	e.key("name").str(a.Name).key("description")
	if a.Description == "" {
		e.lit("null")
	} else {
		e.str(a.Description)
	}
	e.key("config").raw(a.Config, "{}").key("context").raw(a.Context, "{}")
	e.key("metadata").raw(a.Metadata, "{}").key("version").int(max(a.Version, 1))
	e.key("created_at").time(a.CreatedAt).key("updated_at").time(a.UpdatedAt).close('}')
}

// encodeAgent writes an agent as the Agent Protocol shows it (schema Agent).
// Configured agents are known by their name, others by their id.
func encodeAgent(e *enc, a mapping.Agent) {
	e.open('{').key("agent_id").str(agentID(a)).key("name").str(a.Name)
	if a.Description != "" {
		e.key("description").str(a.Description)
	}
	e.key("metadata").raw(a.Metadata, "{}")
	e.key("capabilities").lit(`{"ap.io.messages":true,"ap.io.streaming":true}`).close('}')
}

func agentID(a mapping.Agent) string {
	if a.Configured || a.ID == "" {
		return a.Graph
	}
	return a.ID
}

// encodeItem writes an item of the store; score only where a search gave one.
func encodeItem(e *enc, it mapping.Item) {
	e.open('{').key("namespace").strs(it.Namespace).key("key").str(it.Key)
	e.key("value").raw(it.Value, "{}")
	e.key("created_at").time(it.CreatedAt).key("updated_at").time(it.UpdatedAt)
	if it.Score != nil {
		score, _ := json.Marshal(*it.Score)
		e.key("score").raw(score, "null")
	}
	e.close('}')
}

// Webhook is the body of a completion hook: the run, when it ran, and what
// came of it. Both flavours get the same.
func Webhook(run mapping.Run, out mapping.Outcome, values json.RawMessage) ([]byte, error) {
	run.Status = out.Status
	if out.Fault != nil {
		run.Fault = out.Fault
	}
	var e enc
	e.open('{')
	runMembers(&e, run, false)
	e.key("run_started_at").time(run.StartedAt).key("run_ended_at").time(run.EndedAt)
	e.key("webhook_sent_at").time(latest(run.EndedAt, run.UpdatedAt))
	e.key("values").raw(values, "{}")
	if len(out.Interrupts) > 0 {
		e.key("interrupts")
		encodeInterrupts(&e, out.Interrupts)
	}
	e.close('}')
	return e.b, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
