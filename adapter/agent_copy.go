package adapter

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
)

// InnerPoint is a checkpoint of a graph within an agent's graph, which the agent alone keeps.
type InnerPoint struct {
	// NS is the graph's namespace, as LangGraph's checkpoint_ns has it: "node:task" for each graph around it and
	// itself, joined by "|".
	NS         string
	Checkpoint string // the agent's own id of it; "": the newest
}

// Copy is what an agent has of a thread, and what the bridge calls that.
type Copy struct {
	Link                         mapping.Link
	ThreadID, Agent, AssistantID string
	Checkpoint                   string // that is asked for; "": none of the thread's is
}

// CopyReader is a backend that can be asked for its agent's copy of a thread: for what the bridge does not log of it.
// The thread, the assistant and the runs in its answers have the bridge's ids. It fails with not_supported where the
// agent cannot be asked, and with upstream_state_lost where it has no such copy or no such checkpoint of it. Optional.
type CopyReader interface {
	// Tasks returns the state tasks at a checkpoint. If deep is true, they include the states of inner graphs.
	Tasks(ctx context.Context, c Copy, at Fork, deep bool) (json.RawMessage, error)
	// TaskHistory returns up to limit checkpoints with their tasks, the newest first: those before a checkpoint, or nil
	// for the newest.
	TaskHistory(ctx context.Context, c Copy, before *Fork, limit int) ([]TasksAt, error)
	// Inner returns the state of a graph within the agent's graph, as LangGraph's thread state; nil where the agent has
	// none. With deep the tasks have the states of the graphs that they are.
	Inner(ctx context.Context, c Copy, at InnerPoint, deep bool) (json.RawMessage, error)
	// InnerHistory returns such states, the newest first. Of the query's At nothing counts.
	InnerHistory(ctx context.Context, c Copy, at InnerPoint, q HistoryQuery) ([]json.RawMessage, error)
	// UpdateInner changes the state of such a graph, and returns the checkpoint that the agent made of it.
	UpdateInner(ctx context.Context, c Copy, at InnerPoint, u StateUpdate) (json.RawMessage, error)
}

// TasksAt are the state tasks at a checkpoint of an agent's copy of a thread.
type TasksAt struct {
	Checkpoint string // the agent's id of it
	Run        string // the bridge's run that made it, else the agent's; "" if the agent names none
	Step       int
	Source     string // as mapping.Checkpoint has it
	Tasks      json.RawMessage
}
