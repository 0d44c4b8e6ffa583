package adapter

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// States reads and writes the states of threads.
type States interface {
	// GetState returns the state at a checkpoint; "" is the head.
	GetState(ctx context.Context, threadID, checkpointID string) (ThreadState, error)
	// GetStateWithTasks is GetState with the agent's state tasks. If the agent cannot be queried, or takes too long,
	// they are those known to the bridge.
	GetStateWithTasks(ctx context.Context, threadID, checkpointID string) (ThreadState, error)
	// GetDeepState is GetState with the states of inner graphs in the tasks. Only the agent has them, so it fails if
	// there may be some and the agent cannot be queried.
	GetDeepState(ctx context.Context, threadID, checkpointID string) (ThreadState, error)
	// StateHistory yields states, newest first, and holds only a few at a time. An error ends the list, possibly after
	// some states.
	StateHistory(ctx context.Context, threadID string, q HistoryQuery) iter.Seq2[ThreadState, error]
	// ListCheckpoints returns the checkpoints of all lines of the thread without their states, newest first. Limit 0
	// means all. An unknown Before or At is NotFound.
	ListCheckpoints(ctx context.Context, threadID string, q HistoryQuery) ([]mapping.Checkpoint, error)
	// UpdateState merges values into a new checkpoint. It is Conflict while a run is active.
	UpdateState(ctx context.Context, threadID string, u StateUpdate) (mapping.Checkpoint, error)
	// DeleteHistory deletes the checkpoints before the head and returns their number, which is 0 while a run is active.
	// It does not delete runs and their logs.
	DeleteHistory(ctx context.Context, threadID string) (int, error)

	// GetInnerState reads the state of an inner graph from the thread's agent, in the form of LangGraph's thread state.
	// It returns nil if there is none. See CopyReader for deep.
	GetInnerState(ctx context.Context, threadID string, at InnerPoint, deep bool) (json.RawMessage, error)
	// InnerStateHistory reads such states from the agent, newest first.
	InnerStateHistory(ctx context.Context, threadID string, at InnerPoint, q HistoryQuery) ([]json.RawMessage, error)
	// UpdateInnerState makes the agent change such a state and returns the new checkpoint in LangGraph's form. Nothing
	// is logged. It is Conflict while a run is active, and if the agent's copy of the thread is not the newest state.
	UpdateInnerState(ctx context.Context, threadID string, at InnerPoint, u StateUpdate) (json.RawMessage, error)
}

// StateUpdate is a change of a thread's state outside of a run.
type StateUpdate struct {
	Values       json.RawMessage
	Then         []json.RawMessage // further values, reduced in order after Values; all together make one checkpoint
	Command      json.RawMessage   // only in a superstep; it also determines the next nodes, which only a graph supports; Values is its update
	AsNode       string
	CheckpointID string // "" means the head; an older one forks

	IdempotencyKey string
}

// All returns all values in the order in which they are reduced.
func (u StateUpdate) All() []json.RawMessage { return append([]json.RawMessage{u.Values}, u.Then...) }

// HistoryQuery selects checkpoints.
type HistoryQuery struct {
	Limit    int
	Before   string // checkpoint id
	Metadata json.RawMessage
	At       string // only this checkpoint and its ancestors
	// Tasks requests the tasks of the agent's checkpoints, because their results are not logged. If the agent cannot be
	// queried or takes too long, the states have the tasks known to the bridge.
	Tasks bool
}

// ThreadState is a thread's state at a checkpoint, as in LangGraph Server's response to GET /threads/{thread_id}/state.
type ThreadState struct {
	ThreadID   string
	Values     json.RawMessage
	Next       []string
	Tasks      json.RawMessage // a list, never nil
	Metadata   json.RawMessage // an object, never nil
	CreatedAt  time.Time       // zero on an empty thread
	Checkpoint string          // "" on an empty thread
	Parent     string          // "" at the first
	Interrupts []mapping.Interrupt
	StepNumber int // as people count: mapping.Checkpoint.StepNumber
}
