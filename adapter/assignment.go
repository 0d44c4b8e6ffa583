package adapter

import (
	"context"
	"encoding/json"
	"io"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// Assignment is everything that a backend gets for one run. The backend translates it into its protocol.
type Assignment struct {
	// Run and Thread belong to the caller. A backend must not change them.
	Run    *mapping.Run
	Thread *mapping.Thread
	// TaskID is the id of the task that the run belongs to. The ids of steps and messages are derived from it.
	TaskID string
	// Link holds the agent's ids of the thread or task. It is zero at first contact.
	Link mapping.Link
	// Input is the run's input. It is zero for a resume.
	Input rule.Input
	// Memory is the part of the long-term store that the agent gets.
	Memory AgentMemory
	// Resume is true if this run answers a question. See TaskAssignment.Answer and, for a stateful agent,
	// Run.Options.Resume.
	Resume bool
	// State is the local state at the start of the run.
	State *state.Fold
	// After holds the events that this run has already logged, if it is continued or retried. A started event with an
	// Attempt above 1 begins a new attempt. Events before it belong to failed attempts and must be ignored. Done is the
	// number of steps logged for the whole task. InDoubt is true if a call may have been sent but its result was never
	// logged. The backend must then query the agent before it sends the call again.
	After   []mapping.Event
	Done    int
	InDoubt bool
	// OneStep makes the backend stop after one step with Outcome.Parked, unless the run ended. StepText is the client's
	// input for that step, verbatim. It is nil if the request had no body.
	OneStep  bool
	StepText *string
	// Files gives access to the files of the state at the start of the run and to the thread's uploads.
	Files Files

	// Graph is set for agents that report their state, Task for all others. See mapping.Exposure.
	Task  TaskAssignment
	Graph GraphAssignment
}

// TaskAssignment is the part of an assignment for agents whose state is kept by the bridge.
type TaskAssignment struct {
	// Prompt is the text input of a new upstream task. It includes the parts of the conversation and of the long-term
	// store that belong in the prompt.
	Prompt string
	// Extras are the linked files and the data of the request, or of the message that is the answer. The text does not
	// have them. They are only set for an agent with Traits.TakesExtras.
	Extras []rule.Extra
	// FullPrompt is the prompt for an agent that has lost Link.Topic and the conversation with it. It is "" if
	// Link.Topic is not set.
	FullPrompt string
	// Messages are the earlier messages to be passed to a new upstream task as data, in neutral form, oldest first.
	// Their contents name their files and tool calls. memory.max_bytes is not applied to them.
	Messages []json.RawMessage
	// Additional is the object that the task's client sent for the agent in addition to the input, unchanged. It is nil
	// if there is none.
	Additional json.RawMessage
	// Answer is the interpreted answer that the run was resumed with.
	Answer rule.Answer
	// Uploaded marks the uploads that the upstream task already has. Later ones are due.
	Uploaded mapping.UploadCursor
	// PendingToolCall is the id of the tool call from a logged step of the task that still waits for its result. See
	// rule.PendingToolCall.
	PendingToolCall string
}

// GraphAssignment is the part of an assignment for agents that keep a state.
type GraphAssignment struct {
	// Values is the full local state to put into a new upstream thread before the run. If it is nil, only new input is
	// sent. Fork is a point of the linked upstream thread to fork from instead. Values are used if the agent does not
	// have that point, or has another state there.
	Values json.RawMessage
	Fork   *Fork
	// BaseParent is the checkpoint before the one that the run starts from (Run.Base). It is "" if there is none.
	BaseParent string
	// AsNode is the node that the client named as the author of Values. The graph continues after it. It is "" if the
	// client named none.
	AsNode string
	// Update is merged into the agent's state before the step of OneStep, like a state update. It is nil if there is
	// none.
	Update json.RawMessage
}

// AgentMemory is the part of the long-term store that an agent gets as data. Items that are in a prompt are not
// repeated here.
type AgentMemory struct {
	Items []MemoryItem
	Store *StoreAccess // how the agent may use the store itself; nil means not at all
}

// MemoryItem is an item of the long-term store as agents receive it.
type MemoryItem struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// StoreAccess describes how an agent may access the long-term store itself. URL and Token are "" if it can only write,
// through its steps.
type StoreAccess struct {
	URL        string     `json:"url,omitempty"`
	Token      string     `json:"token,omitempty"`
	Namespaces [][]string `json:"namespaces"`
	Writes     bool       `json:"writes"`
}

// Files gives a backend the files of its run. Bytes are streamed. It is not safe for concurrent use.
type Files interface {
	// List returns the files that an agent should get with a new task.
	List(ctx context.Context) ([]mapping.Artifact, error)
	// Open returns the bytes of a file. The caller closes them.
	Open(ctx context.Context, artifactID string) (io.ReadCloser, error)
	// Save writes a file made by the agent under its path (see rule.ArtifactPath). A file with the same path keeps its
	// artifact id. The bytes become visible with the next event that names the id in Head.Artifacts. mediaType is "" if
	// the agent does not say it.
	Save(ctx context.Context, path, remoteID, mediaType string, body io.Reader) (mapping.Artifact, error)
	// Path returns the path on the bridge under which clients find the bytes. It is "" if no face serves files.
	Path(artifactID string) string
}
