package adapter

import (
	"context"
	"encoding/json"
	"io"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// Assignment is everything that a backend gets for one run. It holds facts, which the backend writes in the words of
// its protocol.
type Assignment struct {
	// Run and Thread are the caller's: a backend does not change them.
	Run    *mapping.Run
	Thread *mapping.Thread
	// TaskID is the lineage; ids of steps and messages are made from it.
	TaskID string
	// Link is what the agent calls the thread or task; zero at first contact.
	Link mapping.Link
	// Input is the run's input; zero for a resume.
	Input rule.Input
	// Memory is what the agent gets of the long-term store.
	Memory AgentMemory
	// Resume: this run answers a question. See TaskAssignment.Answer and, for a stateful agent, Run.Options.Resume.
	Resume bool
	// State is the local state at the start.
	State *state.Fold
	// After is what this run has logged already, when it is picked up again or tried again: a started event with an
	// Attempt above 1 begins a new attempt, and what precedes it is of failed ones, to be left alone. Done is the
	// number of steps logged for the whole task. Open: a call may have been sent whose result was never logged: ask the
	// agent before sending it again.
	After   []mapping.Event
	Done    int
	InDoubt bool
	// OneStep: stop after one step with Outcome.Parked unless the run ended. Say is the client's words for that step,
	// verbatim; nil: no body.
	OneStep  bool
	StepText *string
	// Files are those of the state the run stands on, and the thread's uploads.
	Files Files

	// Task is for opaque agents only, Graph for stateful ones only; see Traits.
	Task  TaskAssignment
	Graph GraphAssignment
}

// TaskAssignment is the part of an assignment for agents whose state the bridge keeps.
type TaskAssignment struct {
	// Prompt is the input of a new upstream task as text. It has the parts of the conversation and of the long-term
	// store that the agent is to be told in its prompt.
	Prompt string
	// FullPrompt is the prompt for an agent that has lost Link.Topic, and with it the conversation; "" if Link.Topic is
	// not set.
	FullPrompt string
	// Messages are the earlier messages that a new upstream task is to be given as data, in neutral form, the oldest
	// first. Their contents name their files and tool calls. They are not bounded by memory.max_bytes.
	Messages []json.RawMessage
	// Additional is an object with what the client of the task gave the agent besides the input, as it came; nil for
	// none.
	Additional json.RawMessage
	// Answer is the meaning of the answer that the run was resumed with.
	Answer rule.Answer
	// Uploaded marks the uploads that the upstream task has been given; those after it are due.
	Uploaded mapping.UploadCursor
	// PendingToolCall is the id of the tool call, of a logged step of the task, that waits for its result; see
	// rule.OpenCall.
	PendingToolCall string
}

// GraphAssignment is the part of an assignment for agents that keep a state.
type GraphAssignment struct {
	// Values is the full local state, to be seeded into a fresh upstream thread before the run; nil: send only what is
	// new. Fork is a point of the linked upstream thread to fork from instead; where the agent does not have it, or has
	// another state there, Values count.
	Values json.RawMessage
	Fork   *Fork
	// AsNode is the node that the client named as the author of Values, for a graph to go on after it; "": it named
	// none.
	AsNode string
	// Update is laid over the agent's state before the step of OneStep, as by a state update; nil for none.
	Update json.RawMessage
}

// AgentMemory is what an agent gets of the long-term store as data. Items that are in a prompt are not repeated here.
type AgentMemory struct {
	Items []MemoryItem
	Store *StoreAccess // how the agent may use the store by itself; nil: not at all
}

// MemoryItem is an item of the long-term store as an agent is given it.
type MemoryItem struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// StoreAccess is how an agent may use the long-term store by itself. URL and Token are "" if it can only ask the bridge
// to write, by its steps.
type StoreAccess struct {
	URL        string     `json:"url,omitempty"`
	Token      string     `json:"token,omitempty"`
	Namespaces [][]string `json:"namespaces"`
	Writes     bool       `json:"writes"`
}

// Files gives a backend the files of its run. Bytes are streamed. Not for use by several goroutines.
type Files interface {
	// List returns what an agent that starts a new task should be given.
	List(ctx context.Context) ([]mapping.Artifact, error)
	// Open returns the bytes; the caller closes.
	Open(ctx context.Context, artifactID string) (io.ReadCloser, error)
	// Save writes an agent-made file under its path (see rule.ArtifactPath); the same path keeps its artifact id. The
	// bytes become visible with the next event that names the id in Head.Artifacts.
	Save(ctx context.Context, path, remoteID string, body io.Reader) (mapping.Artifact, error)
	// Path is where clients of the bridge find the bytes, on the bridge itself; "" where no face serves any.
	Path(artifactID string) string
}
