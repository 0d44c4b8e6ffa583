package adapter

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Service is what faces answer from. Every method may be called concurrently, is scoped by the principal in ctx, and
// returns *mapping.Error for what the caller is meant to see.
type Service struct {
	Threads   Threads
	Index     ThreadIndex
	States    States
	Past      Past
	Runs      Runs
	ThreadLog ThreadLog
	RunIndex  RunIndex
	Explainer Explainer
	Calls     Calls
	Storage   Storage
	Limits    LimitReport // nil: there are no limits
	Tasks     Tasks
	Steps     Steps
	Items     Items
	Artifacts Artifacts
	Agents    Agents
	// Assistants are what is made over agents.
	Assistants Assistants
	Crons      Crons
	Topics     Topics
	// Interactions are what is said in topics.
	Interactions Interactions
	// Owners are the principals whose data is kept.
	Owners Owners
}

// Threads makes and changes threads.
type Threads interface {
	CreateThread(ctx context.Context, n NewThread) (mapping.Thread, error)
	// Get returns the thread with its Values.
	GetThread(ctx context.Context, id string) (mapping.Thread, error)
	PatchThread(ctx context.Context, id string, p ThreadPatch) (mapping.Thread, error)
	// Delete cancels an active run, then removes thread, runs, tasks, events, checkpoints and artifacts.
	DeleteThread(ctx context.Context, id string) error
	CopyThread(ctx context.Context, id, idempotencyKey string) (mapping.Thread, error)
}

// NewThread is a request for a thread; every field may be zero.
type NewThread struct {
	ID       string // "": a fresh one
	Metadata json.RawMessage
	OrGet    bool // a thread that is there already is answered, instead of refused with 409
	// Supersteps are states to start from: {updates: [{values, as_node}]} each.
	Supersteps []Superstep
	TTL        time.Duration
	KeepLatest bool // when TTL is over its older states are deleted, and not the thread

	IdempotencyKey string
}

// Superstep is one step of a history that is brought along.
type Superstep struct{ Updates []StateUpdate }

// ThreadPatch changes a thread; nil fields stay.
type ThreadPatch struct {
	Metadata   json.RawMessage   // merged key by key
	Values     json.RawMessage   // reduced into a new checkpoint
	Messages   []json.RawMessage // the same, in neutral form (type, content, id)
	Checkpoint string            // with Values or Messages: start from there
	TTL        *time.Duration
	KeepLatest bool // with TTL: as of NewThread
}

// ThreadIndex searches threads.
type ThreadIndex interface {
	// Search finds the threads of a page, and how many match in all. Few megabytes of them are held at a time: they are
	// read, with their values, as they are ranged over, and a thread that has gone by then is left out.
	SearchThreads(ctx context.Context, q ThreadSearch) (threads iter.Seq2[mapping.Thread, error], total int, err error)
	CountThreads(ctx context.Context, q ThreadSearch) (int, error)
}

// ThreadSearch selects threads by their states, too.
type ThreadSearch struct {
	mapping.ThreadQuery
	Values   json.RawMessage // containment
	NoValues bool            // do not fill Values of the threads found
}

// States reads and writes the state of a thread.
type States interface {
	// Get returns the state at a checkpoint; "" is the head.
	GetState(ctx context.Context, threadID, checkpointID string) (ThreadState, error)
	// GetDeep is Get with the states of the graphs within the agent's graph in the tasks. Those are the agent's to tell:
	// it fails where there may be some and the agent cannot be asked.
	GetDeepState(ctx context.Context, threadID, checkpointID string) (ThreadState, error)
	// Inner asks the thread's agent for the state of a graph within its graph, as LangGraph's thread state; nil where
	// there is none. deep is as of CopyReader.
	GetInnerState(ctx context.Context, threadID string, at InnerPoint, deep bool) (json.RawMessage, error)
	// InnerHistory asks the agent for such states, the newest first.
	InnerStateHistory(ctx context.Context, threadID string, at InnerPoint, q HistoryQuery) ([]json.RawMessage, error)
	// UpdateInner has the agent change such a state, and returns the checkpoint it made, as LangGraph's. Nothing of it is
	// logged. 409 while a run is active, and where the agent's copy of the thread is not the newest state.
	UpdateInnerState(ctx context.Context, threadID string, at InnerPoint, u StateUpdate) (json.RawMessage, error)
	// History ranges over states, newest first, of which it holds few at a time. An error ends it, also after the first
	// state.
	StateHistory(ctx context.Context, threadID string, q HistoryQuery) iter.Seq2[ThreadState, error]
	// Update reduces values into a new checkpoint; 409 while a run is active.
	UpdateState(ctx context.Context, threadID string, u StateUpdate) (mapping.Checkpoint, error)
	// Forget drops the checkpoints before the head, and says how many there were: 0 while a run is active. Runs and
	// what they have logged stay.
	DeleteHistory(ctx context.Context, threadID string) (int, error)
}

// StateUpdate is a change of a thread's state from outside of a run.
type StateUpdate struct {
	Values       json.RawMessage
	Then         []json.RawMessage // further values, reduced after those, in order; one checkpoint comes of all
	AsNode       string
	CheckpointID string // "": the head; an older one forks

	IdempotencyKey string
}

// All returns the values in the order in which they are reduced.
func (u StateUpdate) All() []json.RawMessage { return append([]json.RawMessage{u.Values}, u.Then...) }

// HistoryQuery selects checkpoints.
type HistoryQuery struct {
	Limit    int
	Before   string // checkpoint id
	Metadata json.RawMessage
	At       string // only this checkpoint and its ancestors
	// Tasks: the agent is asked for the tasks of its checkpoints, whose results are not logged. Where it cannot be asked,
	// or takes long, the states have the tasks that the bridge knows of.
	Tasks bool
}

// ThreadState is a thread's state at a checkpoint, as LangGraph Server answers GET /threads/{thread_id}/state.
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
}

// Runs starts, follows and stops runs.
type Runs interface {
	// Start makes a run durable and, when its thread is free, begins it. It takes what is in n, which may be long: n
	// must not be used afterwards.
	StartRun(ctx context.Context, n *NewRun) (*Started, error)
	// Again finds the run that a request with the same IdempotencyKey has made on the thread; nil where none has.
	// Another request under the key is Invalid.
	FindRepeatedRun(ctx context.Context, n *NewRun) (*Started, error)
	// StartAll is Start for several runs. What is refused of one refuses all: none is made.
	StartRuns(ctx context.Context, list []NewRun) ([]*Started, error)
	// Get finds a run; ThreadID may be empty.
	GetRun(ctx context.Context, ref RunRef) (*mapping.Run, error)
	// Cancel ends the run as interrupted. With opt.Wait it returns when the run has ended. Cancelling an ended run is
	// Conflict.
	CancelRun(ctx context.Context, ref RunRef, opt CancelOptions) error
	// Delete removes an ended run with its events and checkpoints; an active one is cancelled first.
	DeleteRun(ctx context.Context, ref RunRef) error
	// Events yields the run's entries after the cursor, then follows it live until its end event, which is the last. A
	// run that was deleted meanwhile ends the iterator with NotFound. idle, which may be nil, is called by the iterator
	// before each wait for more.
	RunEvents(ctx context.Context, ref RunRef, after Cursor, idle func()) iter.Seq2[*state.Entry, error]
}

// ThreadLog reads what happens on a thread, whichever run it belongs to.
type ThreadLog interface {
	// Position checks a cursor, and makes one that is Live stand for what is logged by now, so that nothing is missed
	// that happens before Events is read.
	ThreadPosition(ctx context.Context, threadID string, after Cursor) (Cursor, error)
	// Opening is where a reader begins that tells what comes after a Position and needs each run from its start for
	// that. A position from which the log is not kept whole is refused (cursor_expired); the start is that of what is
	// kept.
	ThreadOpening(ctx context.Context, threadID string, after Cursor) (Opening, error)
	// Await returns when the thread is there, with ctx's error when ctx ends. One that may not be seen is not there.
	AwaitThread(ctx context.Context, threadID string) error
	// Events yields the thread's entries after a Position, those of all its runs and of updates between them (without a
	// RunID), in order, and follows the thread until ctx ends. A thread that is deleted ends the iterator with
	// NotFound; of a run that is deleted nothing more comes. idle is as of a run's.
	ThreadEvents(ctx context.Context, threadID string, after Cursor, idle func()) iter.Seq2[*state.Entry, error]
}

// Opening is where a reader of a thread's runs begins.
type Opening struct {
	At          Cursor               // for Events: a run that begins after it, or none, is at work there
	Checkpoints []mapping.Checkpoint // made up to there, in order
}

// RunRef names a run. An empty ThreadID means wherever it is.
type RunRef struct{ ThreadID, RunID string }

// Cursor is a position in a run: the event Seq and the frame K within it. Everything after it is wanted. A reader
// starts with the event at Seq when K >= 0 (it may hold further frames) and skips the frames up to K itself.
type Cursor struct {
	Seq   int64
	K     int  // -1: the whole event was seen
	Start bool // from the start of the run, or of the thread
	Live  bool // only what comes from now on; an ended run ends at once
	End   bool // only the end event: for callers that wait and read nothing else
	// Checkpoint is a position of a run in place of Seq: after the event that made it, or the start of the run where it
	// is none of the run's.
	Checkpoint string
}

// NewRun is a request for a run, in whatever dialect it came.
type NewRun struct {
	ThreadID string // "": a stateless run on a thread of its own
	Agent    string // config name or UUID of an agent or assistant; "": the default agent
	Flavour  mapping.Flavour
	Kwargs   json.RawMessage // the request as the run keeps it, without the ids of the run; nil: it says nothing
	Input    json.RawMessage
	Messages json.RawMessage // Agent Protocol
	HasInput bool            // input or messages were sent, and not null
	// InputAnswers: the last human message of the input answers the question that the thread waits with, whatever it
	// asks. Without it, only what an agent asks its user is answered so.
	InputAnswers bool `json:"-"`
	ByClock      bool `json:"-"` // made by a cron: no client is there to answer
	Command      *Command
	// ParentAnswers: the caller is a graph that has been resumed and calls the agent once more from one of its nodes.
	// They are the answers it was given, by the ids of questions. nil: it is no such call.
	ParentAnswers map[string]json.RawMessage `json:"-"`
	Metadata      json.RawMessage
	Config        json.RawMessage
	Context       json.RawMessage
	StreamModes   []string
	Subgraphs     bool
	Multitask     mapping.Strategy // "": the default of the agent, else of the flavour
	IfNotExists   string           // reject (default) | create
	RunAfter      time.Duration
	Temporary     bool // the thread is made for this run and goes some time after it (stateless runs)
	DeleteAfter   bool // it goes soon after the run: on_completion: delete
	Webhook       string
	CheckpointID  string
	// InterruptBefore and After are node names, or "*".
	InterruptBefore []string
	InterruptAfter  []string
	Retries         int  // how often a failed run is tried again
	RetriesSaid     bool // the client said so; else the agent's configuration holds
	StrictResume    bool // an answer that is not exactly one to open questions is refused: rule.CheckStrictly
	IdempotencyKey  string
	// Request is what the IdempotencyKey stands for, where the rest was made of it and of the thread as it stood; nil:
	// it stands for the rest.
	Request json.RawMessage `json:"-"`
	Batch   string          // "i/n": run i of n that were asked for together, under one key
	// Fields are the names of all documented fields the client sent, for the loss header.
	Fields []string
	// Means is what else the client sent, where the caller knows no names of fields.
	Means []mapping.Meaning `json:",omitempty"`
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
	Run    mapping.Run
	Losses []mapping.Loss
}

// CancelOptions of a cancellation.
type CancelOptions struct {
	Wait     bool
	Rollback bool   // remove the run and what it did
	Reason   string // for the run's CancelReason; "": mapping.CancelledByRequest
}

// RunIndex lists runs.
type RunIndex interface {
	// List ranges over runs, newest first, of which it holds few megabytes at a time: as they are by then, without
	// those that have gone. An error ends it, also after the first run.
	ListRuns(ctx context.Context, q mapping.RunQuery) iter.Seq2[mapping.Run, error]
}
