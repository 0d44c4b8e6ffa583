package adapter

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Runs starts, follows, cancels and lists runs.
type Runs interface {
	// StartRun makes a run durable and starts it if its thread is free. It takes ownership of the contents of n, which
	// may be large: n must not be used afterwards.
	StartRun(ctx context.Context, n *RunRequest) (*Started, error)
	// StartRuns is StartRun for several runs. If one is refused, none is created.
	StartRuns(ctx context.Context, list []RunRequest) ([]*Started, error)
	// FindRepeatedRun returns the run that an earlier request with the same IdempotencyKey created on the thread, or
	// nil. A different request with the same key is Invalid.
	FindRepeatedRun(ctx context.Context, n *RunRequest) (*Started, error)
	// GetRun returns a run. ThreadID may be empty.
	GetRun(ctx context.Context, ref RunRef) (*mapping.Run, error)
	// ListRuns yields runs, newest first, and holds only a few megabytes at a time. Each run is read when it is
	// yielded; runs deleted before that are omitted. An error ends the list, possibly after some runs.
	ListRuns(ctx context.Context, q mapping.RunQuery) iter.Seq2[mapping.Run, error]
	// RunActivity returns the runs that ended since a time, newest first, and counts the unfinished ones. It reads a
	// bounded number of runs.
	RunActivity(ctx context.Context, since time.Time) (mapping.Activity, error)
	// CancelRun ends the run as interrupted. With opt.Wait it returns only when the run has ended. Cancelling an ended
	// run is Conflict.
	CancelRun(ctx context.Context, ref RunRef, opt CancelOptions) error
	// DeleteRun removes an ended run with its events and checkpoints. An active one is cancelled first.
	DeleteRun(ctx context.Context, ref RunRef) error
	// RunEvents yields the run's entries after the cursor, then follows it live up to its end event. If the run is
	// deleted, the iterator ends with NotFound. idle, which may be nil, is called by the iterator before each wait for
	// more.
	RunEvents(ctx context.Context, ref RunRef, after Cursor, idle func()) iter.Seq2[*state.Entry, error]

	// ExplainRun returns why a run waits or how it ended. ThreadID may be empty. The reason may have passed by the time
	// it is read.
	ExplainRun(ctx context.Context, ref RunRef) (Explanation, error)
	// ListCalls returns the kept calls that a run made of its agent, oldest first, without their bodies.
	ListCalls(ctx context.Context, ref RunRef) (KeptCalls, error)
	// GetCall returns one call with its bodies, without credentials (credential.Set.Hide). A call that is not kept is
	// NotFound.
	GetCall(ctx context.Context, ref RunRef, n int64) (AgentCall, error)
}

// RunRef names a run. An empty ThreadID matches any thread.
type RunRef struct{ ThreadID, RunID string }

// Cursor is a position in a run: the event Seq and the frame K within it. A reader gets everything after it. If K >= 0,
// the reader starts with the event at Seq, which may have more frames, and skips the frames up to K.
type Cursor struct {
	Seq   int64
	K     int  // -1 means that the whole event was read
	Start bool // from the start of the run, or of the thread
	Live  bool // only new events; an ended run ends at once
	End   bool // only the end event, for callers that only wait
	// Native, together with End, also returns the updates of the run that have a Head.Native, before the end event and
	// without data and states.
	Native bool
	// Checkpoint is a position in a run instead of Seq: after the event that made the checkpoint, or the start of the
	// run if the checkpoint does not belong to the run.
	Checkpoint string
}

// RunRequest is a request for a run in any dialect.
type RunRequest struct {
	ThreadID string // "" means the thread of TaskID, or else a new thread for a stateless run
	// ThreadName is a client's own name for the thread, in place of ThreadID: 1 to 255 characters. The run is on the
	// caller's thread with this name for the agent, which is created if missing.
	ThreadName string `json:",omitempty"`
	// TaskID is the task that the run continues or whose question it answers. Multitask applies to the task's other
	// runs. A task that has ended, is on another thread or belongs to another agent is refused. If TaskID is "", an
	// answer belongs to the task that asked, and any other run begins a new task.
	TaskID   string `json:",omitempty"`
	Agent    string // config name or UUID of an agent or assistant; "" means TaskID's, or else the default agent
	Flavour  mapping.Flavour
	Kwargs   json.RawMessage // the request to store with the run, without the run's ids; nil for none
	Input    json.RawMessage
	Messages json.RawMessage // Agent Protocol
	HasInput bool            // input or messages were sent and are not null
	// If InputAnswers is set, the last human message of the input answers the thread's open question of any kind.
	// Otherwise it only answers a question that an agent asks its user.
	InputAnswers bool `json:"-"`
	// OnlyAnswers is like InputAnswers, but the request is refused if there is no question to answer. An empty text is an
	// answer, too.
	OnlyAnswers bool `json:"-"`
	ByClock     bool `json:"-"` // created by a cron, so no client can answer
	// NewTask makes the input begin a new task even if the agent asks its user something on the thread. The agent's tasks
	// that wait for an answer there are cancelled in the same transaction (StartRun only).
	NewTask bool `json:"-"`
	Command *Command
	// ParentAnswers is set if the caller is a graph that was resumed and calls the agent again from one of its nodes.
	// It holds the answers that the graph received, by question id.
	ParentAnswers map[string]json.RawMessage `json:"-"`
	Metadata      json.RawMessage
	Config        json.RawMessage
	Context       json.RawMessage
	StreamModes   []string
	Subgraphs     bool
	Multitask     mapping.Strategy // "" means the default of the agent, or else of the flavour
	IfNotExists   string           // reject (default) | create
	RunAfter      time.Duration
	Temporary     bool           // the thread is created for this run and deleted some time after it (stateless runs)
	DeleteAfter   bool           // the thread is deleted soon after the run (on_completion: delete)
	Webhook       string         // a URL that is notified of the end of the run
	Hooks         []mapping.Hook `json:",omitempty"` // added to the run's task (Tasks.CreateHook)
	CheckpointID  string
	// InterruptBefore and InterruptAfter are node names, or "*".
	InterruptBefore []string
	InterruptAfter  []string
	Repeats         string `json:",omitempty"` // the run that it repeats, if known (mapping.RunOptions.Repeats)
	Retries         int    // how often a failed run is retried
	RetriesSet      bool   // the client specified Retries; otherwise the agent's configuration applies
	StrictResume    bool   // refuse answers that do not exactly match open questions; see rule.CheckStrictly
	IdempotencyKey  string
	// Request is the request that the IdempotencyKey stands for, if the other fields were derived from it and from the
	// thread's state. If it is nil, the key stands for the other fields.
	Request json.RawMessage `json:"-"`
	Batch   string          // "i/n": run i of n that were requested together under one key
	// Fields are the names of all documented fields that the client sent, for the loss header.
	Fields []string
	// Means are further capabilities that the client used, for callers that do not know field names.
	Means []mapping.Capability `json:",omitempty"`
}

// Command is LangGraph's command object.
type Command struct {
	Resume    json.RawMessage
	HasResume bool // resume was sent, null included
	Update    json.RawMessage
	Goto      json.RawMessage
}

// Started is an accepted run.
type Started struct {
	Run      mapping.Run
	Losses   []mapping.Loss
	Repeated bool // an earlier request with the same IdempotencyKey created the run
}

// CancelOptions are the options of a cancellation.
type CancelOptions struct {
	Wait     bool
	Rollback bool   // remove the run and its effects
	Reason   string // for the run's CancelReason; "" means mapping.CancelledByRequest
}
