package store

// STUB: signatures the rest of the bridge is written against. The real bodies
// replace this file.

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// Options of Open.
type Options struct {
	Synchronous string // full | normal
	// Owner is the id of this process in leases; "" makes one.
	Owner string
	Now   func() time.Time // nil: time.Now
}

// Store is the record of everything. Safe for concurrent use. Every method is
// scoped to the tenant of the principal in ctx (mapping.PrincipalOf), unless
// its comment says otherwise. Errors the caller may show are *mapping.Error.
type Store struct{}

// ErrFenced: the run's lease belongs to another process by now, or the run has
// ended; nothing was written.
var ErrFenced error

func Open(ctx context.Context, dsn string, o Options, log *zap.Logger) (*Store, error) { panic("stub") }
func (s *Store) Close() error                                                          { panic("stub") }
func (s *Store) Owner() string                                                         { panic("stub") }

// Ping tells whether the database answers and can be written to (readyz).
func (s *Store) Ping(ctx context.Context) error { panic("stub") }

// ---- threads.go

type NewThread struct {
	Thread   mapping.Thread
	IfExists string          // raise | do_nothing
	Events   []mapping.Event // state events with checkpoints (supersteps), may be empty
	Task     *mapping.Task   // a v1 task makes its thread
}

func (s *Store) CreateThread(ctx context.Context, n NewThread) (t mapping.Thread, existed bool, err error) {
	panic("stub")
}
func (s *Store) Thread(ctx context.Context, id string) (mapping.Thread, error) { panic("stub") }

// PatchThread merges metadata key by key (nil: none) and sets the expiry (nil: leave).
func (s *Store) PatchThread(ctx context.Context, id string, metadata json.RawMessage, expires *time.Time) (mapping.Thread, error) {
	panic("stub")
}

// DeleteThread removes the thread with everything of it. Active runs must have been cancelled (Conflict).
func (s *Store) DeleteThread(ctx context.Context, id string) error { panic("stub") }

// Threads searches; SQL narrows, containment is decided in Go (one rule on both databases). q.Values is not looked at here.
func (s *Store) Threads(ctx context.Context, q ThreadQuery) (list []mapping.Thread, total int, err error) {
	panic("stub")
}

// CopyThread copies thread, checkpoints (state-changing events included), links not, runs not.
func (s *Store) CopyThread(ctx context.Context, id, newID string) (mapping.Thread, error) {
	panic("stub")
}

type ThreadQuery struct {
	IDs           []string
	Metadata      json.RawMessage
	Status        mapping.ThreadStatus
	SortBy        string
	Asc           bool
	Limit, Offset int
	Keep          func(mapping.Thread) (bool, error) // further filter, applied before limit; nil: all
}

// AppendState appends state events outside of a run (state update, PATCH, fork, import):
// Conflict thread_busy while a run is active (parked ones too). expectHead guards
// against a head that moved since the caller folded it ("": thread has no head): on
// a mismatch it returns Conflict code "head_moved" and the caller tries again.
func (s *Store) AppendState(ctx context.Context, threadID, expectHead string, evs []mapping.Event, opt StateOptions) ([]mapping.Event, error) {
	panic("stub")
}

type StateOptions struct {
	ForkFrom        string // parent checkpoint, when it is not the head: a new line begins, Snapshot must be set
	Snapshot        []byte // full state at the last event, kept with its checkpoint
	Links           []mapping.Link
	ClearInterrupts bool
}

// ---- runs.go

type NewRun struct {
	Run                              mapping.Run
	Thread                           *mapping.Thread // made if it is not there; nil: must exist (NotFound)
	MustNotExist                     bool            // Thread must be new (stateless runs)
	ThreadMeta                       json.RawMessage // merged into the thread's metadata (graph_id, assistant_id) where those keys are missing
	Task                             *mapping.Task   // a new lineage; nil: Run.TaskID exists
	Events                           []mapping.Event // started (+ input): appended at once if the run is claimed
	Claim                            bool            // run it here if its thread is free now
	MaxPending                       int             // pending runs of this agent in this database; more is Limited queue_full (0: no limit)
	IdempotencyKey, IdempotencyRoute string
	IdempotencySum                   []byte // of the request body; another sum under the same key is Invalid
}

// Created is what became of a NewRun. Replayed: an idempotency key named an
// earlier run, which is returned instead.
type Created struct {
	Run      mapping.Run
	Thread   mapping.Thread
	Claimed  bool
	Replayed bool
	Fence    int64
	Events   []mapping.Event // as logged: with Seq, At, checkpoint parents
	// Active is the run that held the thread when the strategy was interrupt
	// or rollback and that its owner must now stop; the new run is pending.
	Active *mapping.Run
}

// CreateRun is one transaction: thread, task, run, first events, claim. A busy thread:
// reject → Conflict thread_busy naming the run; enqueue → pending; interrupt/rollback
// → pending, Created.Active set and a stop request noted on the active run.
func (s *Store) CreateRun(ctx context.Context, n NewRun) (Created, error) { panic("stub") }

// Run finds a run; threadID may be "".
func (s *Store) Run(ctx context.Context, threadID, runID string) (mapping.Run, error) { panic("stub") }
func (s *Store) Runs(ctx context.Context, q RunQuery) ([]mapping.Run, error)          { panic("stub") }

type RunQuery struct {
	ThreadID, TaskID, Agent string
	Status                  []mapping.RunStatus
	Metadata                json.RawMessage
	OldestFirst             bool
	Limit, Offset           int
}

// DeleteRun removes an ended run, its events and checkpoints; the head goes back to the
// newest checkpoint left when it was the run's. Conflict while active.
func (s *Store) DeleteRun(ctx context.Context, threadID, runID string) error { panic("stub") }

// Claimed is a run this process now owns.
type Claimed struct {
	Run    mapping.Run
	Thread mapping.Thread
	Task   mapping.Task
	Fence  int64
	Logged []mapping.Event // state so far: events of this run, in order (empty: never started)
	Taken  bool            // was running elsewhere, or here before a restart: pick up
}

// ClaimNext claims the oldest run that may start now: pending and due, first in its thread,
// nothing active there, agent not in full; or one whose owner's lease has ended. All tenants.
// ok is false when there is none; next is when the earliest delayed run is due (zero: none).
func (s *Store) ClaimNext(ctx context.Context, full []string) (c Claimed, ok bool, next time.Time, err error) {
	panic("stub")
}

// ClaimParked takes a parked run for its next step. Conflict when it is not parked any more.
func (s *Store) ClaimParked(ctx context.Context, runID string) (Claimed, error) { panic("stub") }

// Append is one transaction of a running run.
type Append struct {
	ThreadID, RunID string
	Fence           int64
	Events          []mapping.Event   // Seq and checkpoint parents are filled in by the store
	Snapshots       map[string][]byte // checkpoint id → full state to keep with it
	Links           []mapping.Link
	Artifacts       []string    // ids of staged artifacts that become visible (see SaveArtifact)
	Files           []FileWrite // small files of the state, written as artifacts
	DropFiles       []string    // paths that are gone
	Intent          *Intent
	Relaxed         bool // tokens only: may commit without fsync
	End             *End
}

// FileWrite is a small artifact written together with an event.
type FileWrite struct {
	Artifact mapping.Artifact // ID "" keeps the path's id, or makes one
	Content  []byte
}

// Intent is what is about to be sent: "create" or "step" N. It is closed by
// the next append of the same run.
type Intent struct {
	Op string
	N  int
}

// End is how the run leaves this process: its end event is the last of Events,
// or none when it is parked.
type End struct {
	Outcome mapping.Outcome
	Thread  mapping.ThreadStatus // when no further run is pending there
	Webhook *Webhook
	Expire  time.Time // delete thread (DeleteAfter) at
}

// Webhook is a row of the outbox.
type Webhook struct {
	URL  string
	Body []byte
}

// AppendRun commits a or returns ErrFenced. Returned events carry Seq and parents; artifacts are
// the visible rows of a.Artifacts and a.Files, in that order.
func (s *Store) AppendRun(ctx context.Context, a Append) (events []mapping.Event, artifacts []mapping.Artifact, err error) {
	panic("stub")
}

// OpenIntent is the run's intent that was never closed, or nil.
func (s *Store) OpenIntent(ctx context.Context, runID string) (*Intent, error) { panic("stub") }

// EndInactive ends a run nobody executes (pending or parked) with the end event; ErrFenced when it is running by now.
func (s *Store) EndInactive(ctx context.Context, threadID, runID string, end mapping.Event, e End) ([]mapping.Event, error) {
	panic("stub")
}

// RequestStop notes on a running run that its owner must stop it ("cancel" or "rollback"); the owner learns it by StopRequests.
func (s *Store) RequestStop(ctx context.Context, runID, action string) error { panic("stub") }
func (s *Store) StopRequests(ctx context.Context) (map[string]string, error) { panic("stub") } // run id → action, of runs owned here; all tenants
// Release hands runs of this process back (shutdown): lease ends at once.
func (s *Store) Release(ctx context.Context, runID string, fence int64) error { panic("stub") }

// Beat renews this process's lease; RetireStale ends leases of processes that are gone (SQLite: all others at start).
func (s *Store) Beat(ctx context.Context, ttl time.Duration) error { panic("stub") }

// ---- events.go

// Events reads a thread's events with Seq > after, of one run when runID is set, in order.
func (s *Store) Events(ctx context.Context, threadID, runID string, after int64, limit int) ([]mapping.Event, error) {
	panic("stub")
}

// TaskEvents reads events of all runs of a task, in order.
func (s *Store) TaskEvents(ctx context.Context, taskID string, after int64, limit int) ([]mapping.Event, error) {
	panic("stub")
}

// LastSeq is the newest number given on a thread.
func (s *Store) LastSeq(ctx context.Context, threadID string) (int64, error) { panic("stub") }

// ---- checkpoints.go

// State is what a state is folded from: the newest snapshot at or before the checkpoint and the
// state-changing events after it, up to and including it.
type State struct {
	Checkpoint mapping.Checkpoint // zero on an empty thread
	Snapshot   []byte             // nil: empty state
	Events     []mapping.Event
	DiffBytes  int // bytes of Events
}

// StateAt reads a checkpoint; "" is the head. An empty thread gives a zero State; an unknown id is NotFound.
func (s *Store) StateAt(ctx context.Context, threadID, checkpointID string) (State, error) {
	panic("stub")
}

// Checkpoints lists checkpoints newest first; the second value is what the oldest of them is folded from.
// The page's states follow from it by applying the state events of each checkpoint (Changes), oldest first, where
// they are on one line; Base is read anew where the line changes.
func (s *Store) Checkpoints(ctx context.Context, threadID string, q CheckpointQuery) ([]mapping.Checkpoint, error) {
	panic("stub")
}

type CheckpointQuery struct {
	Before   string // id
	At       string // this one and its ancestors
	Metadata json.RawMessage
	Limit    int
}

// StatesOf reads many checkpoints of one thread at once, in the given order: each shares the snapshot and
// events of its predecessor where it can.
func (s *Store) StatesOf(ctx context.Context, threadID string, ids []string) ([]State, error) {
	panic("stub")
}

// ---- tasks.go

func (s *Store) Task(ctx context.Context, id string) (mapping.Task, error) { panic("stub") }
func (s *Store) Tasks(ctx context.Context, q TaskQuery) (list []mapping.Task, total int, err error) {
	panic("stub")
}

type TaskQuery struct {
	Agent, ThreadID string
	Limit, Offset   int
}

// Reserve takes step n of a task for hand-out until the deadline: false when the cursor is not n-1
// or another reservation is open. Confirm moves the cursor to n and keeps what fetched it; Unreserve gives it back.
func (s *Store) Reserve(ctx context.Context, taskID string, n int, until time.Time) (bool, error) {
	panic("stub")
}
func (s *Store) Confirm(ctx context.Context, taskID string, n int) error   { panic("stub") }
func (s *Store) Unreserve(ctx context.Context, taskID string, n int) error { panic("stub") }

// SaveRequest keeps what a step was fetched with (the first POST wins); Requests reads it back by n.
func (s *Store) SaveRequest(ctx context.Context, taskID string, n int, r StepRequest) error {
	panic("stub")
}
func (s *Store) Requests(ctx context.Context, taskID string) (map[int]StepRequest, error) {
	panic("stub")
}

type StepRequest struct {
	Input           *string
	AdditionalInput json.RawMessage
}

// ---- links.go

// Link reads what an agent calls a thread (taskID "") or task; zero when there is none.
func (s *Store) Link(ctx context.Context, threadID, agent, taskID string) (mapping.Link, error) {
	panic("stub")
}
func (s *Store) Links(ctx context.Context, threadID string) ([]mapping.Link, error) { panic("stub") }

// AgentSeen is when this database first saw a configured agent (now, the first time).
func (s *Store) AgentSeen(ctx context.Context, name string) (time.Time, error) { panic("stub") }

// ---- items.go and artifacts.go (long-term store, files)

type PutItem struct {
	Item  mapping.Item
	Index json.RawMessage
}

type ItemQuery struct {
	Prefix        []string
	Keep          func(mapping.Item) (bool, error) // filter decided in Go; nil: all
	Query         string                           // text search
	Limit, Offset int
	RefreshTTL    bool
}

func (s *Store) PutItem(ctx context.Context, p PutItem) error { panic("stub") }
func (s *Store) Item(ctx context.Context, namespace []string, key string, refreshTTL bool) (mapping.Item, error) {
	panic("stub")
}
func (s *Store) DeleteItem(ctx context.Context, namespace []string, key string) error { panic("stub") }
func (s *Store) Items(ctx context.Context, q ItemQuery) ([]mapping.Item, error)       { panic("stub") }

// Namespaces lists the distinct namespaces that hold live items, sorted by label.
func (s *Store) Namespaces(ctx context.Context, prefix []string) ([][]string, error) { panic("stub") }

// SaveArtifact streams a file into 256 KiB chunks, each its own write. The same (thread, path) keeps its id.
// staged: invisible until an Append names its id (agent-made files); else visible at once (uploads).
// More than limit bytes: TooLarge and nothing stays. RemoteID, AgentCreated, TaskID come from a.
func (s *Store) SaveArtifact(ctx context.Context, a mapping.Artifact, body io.Reader, limit int64, staged bool) (mapping.Artifact, error) {
	panic("stub")
}
func (s *Store) Artifact(ctx context.Context, threadID, id string) (mapping.Artifact, error) {
	panic("stub")
}

// Artifacts lists visible ones: agent-created first, root before nested, then by path. limit 0: all.
func (s *Store) Artifacts(ctx context.Context, threadID string, limit, offset int) (list []mapping.Artifact, total int, err error) {
	panic("stub")
}
func (s *Store) OpenArtifact(ctx context.Context, threadID, id string) (mapping.Artifact, io.ReadCloser, error) {
	panic("stub")
}
