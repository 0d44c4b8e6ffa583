package backend

import (
	"cmp"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file declares the parts of requests and responses that the backend writes or reads. Field names follow the
// LangGraph Server API (routes /assistants, /threads, /threads/{thread_id}/runs) and the OpenAPI document of the Agent
// Protocol 0.1.6 (routes /agents, /runs).

// assistantWire is an entry of POST /assistants/search.
type assistantWire struct {
	ID       string `json:"assistant_id"`
	Graph    string `json:"graph_id"`
	Name     string `json:"name"`
	Metadata struct {
		CreatedBy string `json:"created_by"`
	} `json:"metadata"`
}

// agentWire is an entry of POST /agents/search (schema Agent).
type agentWire struct {
	ID   string `json:"agent_id"`
	Name string `json:"name"`
}

// threadWire holds the members of a thread that are read.
type threadWire struct {
	ID string `json:"thread_id"`
}

// runWire holds the members of a run that are read. Agent Protocol servers have no status "running". Created is in UTC
// and compared as text. Metadata is nil if the server does not return it (Aegra).
type runWire struct {
	ID       string   `json:"run_id"`
	Thread   string   `json:"thread_id"`
	Status   string   `json:"status"`
	Created  string   `json:"created_at"`
	Error    string   `json:"error"`
	OldError string   `json:"error_message"` // Aegra's name for the error
	Metadata *runMark `json:"metadata"`
}

func (r runWire) active() bool { return r.Status == "pending" || r.Status == "running" }

// ours returns the id of the bridge's run for which the upstream run was created, or "" if it is unknown.
func (r runWire) ours() string {
	if r.Metadata == nil {
		return ""
	}
	return r.Metadata.RunID
}

// runMark holds the bridge's members in the metadata of an upstream run. The values are flat, because some servers
// refuse nested ones (Aegra).
type runMark struct {
	RunID string `json:"apbridge_run_id"`
	First string `json:"apbridge_first_run_id"` // the run whose request created the thread
}

// inherited reports whether the run may have inherited the mark from its thread. Servers copy the metadata of the
// request that created a thread to all runs of the thread.
func (r runWire) inherited() bool {
	m := r.Metadata
	return m != nil && m.RunID != "" && m.RunID == m.First
}

// stateWire is the response to GET /threads/{thread_id}/state.
type stateWire struct {
	Values     json.RawMessage `json:"values"`
	Next       []string        `json:"next"`
	Tasks      json.RawMessage `json:"tasks"`
	Metadata   json.RawMessage `json:"metadata"`
	Checkpoint *struct {
		ID string `json:"checkpoint_id"`
	} `json:"checkpoint"`
}

// head returns the id of the checkpoint, or "" for a thread without any.
func (s stateWire) head() string {
	if s.Checkpoint == nil {
		return ""
	}
	return s.Checkpoint.ID
}

// checkpointWire is the data of a checkpoints frame.
type checkpointWire struct {
	Values   json.RawMessage `json:"values"`
	Metadata json.RawMessage `json:"metadata"`
	Next     []string        `json:"next"`
}

// checkpointMeta holds the members of a checkpoint's metadata that are read.
type checkpointMeta struct {
	Source string `json:"source"`
	Step   int    `json:"step"`
	RunID  string `json:"run_id"`
	Ours   string `json:"apbridge_run_id"` // the id of the bridge's run, from the metadata of the agent's run
}

// taskWire is an entry of a state's tasks, and the data of a tasks frame.
type taskWire struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Interrupts []interruptWire `json:"interrupts"`
	Error      json.RawMessage `json:"error"`
	// In a state, Checkpoint has the namespace of the task's graph if the task is a graph.
	Checkpoint *struct {
		NS string `json:"checkpoint_ns"`
	} `json:"checkpoint"`
}

// within returns the namespace of the task's graph, or "" if the task is not a graph.
func (t taskWire) within() string {
	if t.Checkpoint == nil {
		return ""
	}
	return t.Checkpoint.NS
}

// interruptWire is one question. OldID is the name of the id on older servers.
type interruptWire struct {
	ID    string          `json:"id"`
	OldID string          `json:"interrupt_id"`
	Value json.RawMessage `json:"value"`
	NS    []string        `json:"ns"`
	When  string          `json:"when"`
	// Schema is the JSON schema of the answer. Servers send it from LangGraph 1.2.12 (Python) and 1.4.18 (JavaScript)
	// on.
	Schema json.RawMessage `json:"response_schema"`
}

// id returns "" if the server does not assign ids to questions.
func (w interruptWire) id() string { return cmp.Or(w.ID, w.OldID) }

// question returns the question in neutral form. The state task and the inner graph may be unknown ("").
func (w interruptWire) question(id, task, within string) mapping.Interrupt {
	return mapping.Interrupt{ID: id, Value: orNull(w.Value), Task: task, NS: w.NS, Within: within, When: w.When, Schema: w.Schema, Nameless: w.id() == ""}
}

// errorWire is the data of an error frame.
type errorWire struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// threadCreate is the body of POST /threads.
type threadCreate struct {
	ID       string          `json:"thread_id"`
	IfExists string          `json:"if_exists"`
	Metadata json.RawMessage `json:"metadata"`

	Supersteps []superstepWire `json:"supersteps,omitempty"`
}

// superstepWire is one superstep of a new thread's history.
type superstepWire struct {
	Updates []superstepUpdate `json:"updates"`
}

type superstepUpdate struct {
	Values  json.RawMessage `json:"values,omitempty"`
	Command json.RawMessage `json:"command,omitempty"`
	AsNode  string          `json:"as_node,omitempty"`
}

// plainCreate is the body of POST /runs/stream and /runs/wait of the Agent Protocol (schema RunCreate, and stream_mode
// of RunStream).
type plainCreate struct {
	Agent        string          `json:"agent_id"`
	Thread       string          `json:"thread_id"`
	Input        json.RawMessage `json:"input,omitempty"`
	Config       json.RawMessage `json:"config"`
	Metadata     json.RawMessage `json:"metadata"`
	StreamMode   []string        `json:"stream_mode,omitempty"`
	OnCompletion string          `json:"on_completion"`
	OnDisconnect string          `json:"on_disconnect"`
	IfNotExists  string          `json:"if_not_exists"`
}

// plainResult is RunWaitResponse. Interrupts is an extension of some servers.
type plainResult struct {
	Run        runWire         `json:"run"`
	Values     json.RawMessage `json:"values"`
	Interrupts []interruptWire `json:"interrupts"`
}

// stateUpdate is the body of POST /threads/{thread_id}/state.
type stateUpdate struct {
	Values     json.RawMessage `json:"values"`
	AsNode     string          `json:"as_node,omitempty"`
	Checkpoint *pointWire      `json:"checkpoint,omitempty"`
}

// runCreate is the body of POST /threads/{thread_id}/runs/stream. Input is always written; null means "continue".
type runCreate struct {
	Assistant       string          `json:"assistant_id"`
	Input           json.RawMessage `json:"input,omitempty"`
	Command         *commandWire    `json:"command,omitempty"`
	Config          json.RawMessage `json:"config"`
	Context         json.RawMessage `json:"context,omitempty"`
	Metadata        json.RawMessage `json:"metadata"`
	StreamMode      []string        `json:"stream_mode"`
	Subgraphs       bool            `json:"stream_subgraphs,omitempty"`
	Resumable       bool            `json:"stream_resumable"`
	OnDisconnect    string          `json:"on_disconnect"`
	Multitask       string          `json:"multitask_strategy"`
	InterruptBefore json.RawMessage `json:"interrupt_before,omitempty"`
	InterruptAfter  json.RawMessage `json:"interrupt_after,omitempty"`
	CheckpointID    string          `json:"checkpoint_id,omitempty"`
	Checkpoint      *pointWire      `json:"checkpoint,omitempty"`
	IfNotExists     string          `json:"if_not_exists,omitempty"`
	Durability      json.RawMessage `json:"durability,omitempty"`
}

// pointWire names a checkpoint by its id, or as the newest of its namespace. The root graph's namespace is "".
type pointWire struct {
	ID string `json:"checkpoint_id,omitempty"`
	NS string `json:"checkpoint_ns"`
}

// at sets the checkpoint at which the run begins. LangGraph's API has two fields for it; Aegra only knows the second.
func (r *runCreate) at(checkpoint string) {
	if checkpoint != "" {
		r.CheckpointID, r.Checkpoint = checkpoint, &pointWire{ID: checkpoint}
	}
}

// saysNothing reports whether the request only asks to continue.
func (r *runCreate) saysNothing() bool {
	return rawjson.IsNull(r.Input) && r.Command == nil && r.CheckpointID == ""
}

// commandWire is LangGraph's command object.
type commandWire struct {
	Resume json.RawMessage `json:"resume,omitempty"`
	Update json.RawMessage `json:"update,omitempty"`
	Goto   json.RawMessage `json:"goto,omitempty"`
}
