package adapter

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
)

// InnerPoint is a checkpoint of a graph within an agent's graph, which only the agent stores.
type InnerPoint struct {
	// NS is the graph's namespace in the form of LangGraph's checkpoint_ns: "node:task" for each outer graph and for
	// itself, joined by "|".
	NS         string
	Checkpoint string // the agent's own id; "" means the newest
}

// Copy identifies an agent's copy of a thread, with the ids of both sides.
type Copy struct {
	Link                         mapping.Link
	ThreadID, Agent, AssistantID string
	Checkpoint                   string // the requested one; "" means none of the thread's
}

// CopyReader is a backend that can read its agent's copy of a thread, for data that the bridge does not log. Thread,
// assistant and runs in its results have the bridge's ids. It fails with not_supported if the agent cannot be queried,
// and with upstream_state_lost if it has no such copy or checkpoint. Optional.
type CopyReader interface {
	// Tasks returns the state tasks at a checkpoint. If deep is true, they include the states of inner graphs.
	Tasks(ctx context.Context, c Copy, at Fork, deep bool) (json.RawMessage, error)
	// TaskHistory returns up to limit checkpoints with their tasks, newest first. It starts before the given
	// checkpoint, or with the newest if before is nil. If run (the agent's id) is set, only checkpoints of that run are
	// returned.
	TaskHistory(ctx context.Context, c Copy, before *Fork, run string, limit int) ([]TasksAt, error)
	// Inner returns the state of a graph within the agent's graph in the form of LangGraph's thread state, or nil if
	// there is none. If deep is true, its tasks include the states of inner graphs.
	Inner(ctx context.Context, c Copy, at InnerPoint, deep bool) (json.RawMessage, error)
	// InnerHistory returns such states, newest first. It ignores the query's At.
	InnerHistory(ctx context.Context, c Copy, at InnerPoint, q HistoryQuery) ([]json.RawMessage, error)
	// UpdateInner changes the state of such a graph and returns the agent's new checkpoint.
	UpdateInner(ctx context.Context, c Copy, at InnerPoint, u StateUpdate) (json.RawMessage, error)
}

// TasksAt holds the state tasks at a checkpoint of an agent's copy of a thread.
type TasksAt struct {
	Checkpoint string // the agent's id
	Run        string // the bridge's run that created it, or else the agent's; "" if unknown
	Step       int
	Source     string // as in mapping.Checkpoint
	Tasks      json.RawMessage
}
