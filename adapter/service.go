package adapter

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Service is what faces answer from. Every method may be called concurrently,
// is scoped by the principal in ctx, and returns *mapping.Error for what the
// caller is meant to see.
type Service struct {
	Threads   Threads
	Index     ThreadIndex
	States    States
	Runs      Runs
	ThreadLog ThreadLog
	RunIndex  RunIndex
	Explainer Explainer
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
}

// Threads makes and changes threads.
type Threads interface {
	Create(ctx context.Context, n NewThread) (mapping.Thread, error)
	// Get returns the thread with its Values.
	Get(ctx context.Context, id string) (mapping.Thread, error)
	Patch(ctx context.Context, id string, p ThreadPatch) (mapping.Thread, error)
	// Delete cancels an active run, then removes thread, runs, tasks, events,
	// checkpoints and artifacts.
	Delete(ctx context.Context, id string) error
	Copy(ctx context.Context, id string) (mapping.Thread, error)
}

// NewThread is a request for a thread; every field may be zero.
type NewThread struct {
	ID       string // "": a fresh one
	Metadata json.RawMessage
	IfExists string // raise (default, 409) | do_nothing
	// Supersteps are states to start from: {updates: [{values, as_node}]} each.
	Supersteps []Superstep
	TTL        time.Duration

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
}

// ThreadIndex searches threads.
type ThreadIndex interface {
	Search(ctx context.Context, q ThreadQuery) (threads []mapping.Thread, total int, err error)
	Count(ctx context.Context, q ThreadQuery) (int, error)
}

// ThreadQuery filters threads: all conditions must hold.
type ThreadQuery struct {
	IDs      []string
	Metadata json.RawMessage // containment
	Values   json.RawMessage // containment
	Status   mapping.ThreadStatus
	SortBy   string // thread_id | status | created_at (default) | updated_at
	Asc      bool
	Limit    int
	Offset   int
	NoValues bool // do not fill Values
}

// States reads and writes the state of a thread.
type States interface {
	// Get returns the state at a checkpoint; "" is the head.
	Get(ctx context.Context, threadID, checkpointID string) (ThreadState, error)
	// History lists states, newest first.
	History(ctx context.Context, threadID string, q HistoryQuery) ([]ThreadState, error)
	// Update reduces values into a new checkpoint; 409 while a run is active.
	Update(ctx context.Context, threadID string, u StateUpdate) (mapping.Checkpoint, error)
	// Forget drops the checkpoints before the head, and says how many there were:
	// 0 while a run is active. Runs and what they have logged stay.
	Forget(ctx context.Context, threadID string) (int, error)
}

// StateUpdate is a change of a thread's state from outside of a run.
type StateUpdate struct {
	Values       json.RawMessage
	AsNode       string
	CheckpointID string // "": the head; an older one forks
}

// HistoryQuery selects checkpoints.
type HistoryQuery struct {
	Limit    int
	Before   string // checkpoint id
	Metadata json.RawMessage
	At       string // only this checkpoint and its ancestors
}

// ThreadState is a thread's state at a checkpoint, as LangGraph Server answers
// GET /threads/{thread_id}/state.
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
	// Start makes a run durable and, when its thread is free, begins it.
	Start(ctx context.Context, n NewRun) (Started, error)
	// StartAll is Start for several runs. What is refused of one refuses all,
	// with none started, but for a thread that is busy.
	StartAll(ctx context.Context, list []NewRun) ([]Started, error)
	// Get finds a run; ThreadID may be empty.
	Get(ctx context.Context, ref RunRef) (mapping.Run, error)
	// Cancel ends the run as interrupted. With opt.Wait it returns when the
	// run has ended. Cancelling an ended run is Conflict.
	Cancel(ctx context.Context, ref RunRef, opt CancelOptions) error
	// Delete removes an ended run with its events and checkpoints; an active
	// one is cancelled first.
	Delete(ctx context.Context, ref RunRef) error
	// Events yields the run's entries after the cursor, then follows it live
	// until its end event, which is the last. A run that was deleted
	// meanwhile ends the iterator with NotFound.
	Events(ctx context.Context, ref RunRef, after Cursor) iter.Seq2[*mapping.Entry, error]
}

// ThreadLog reads what happens on a thread, whichever run it belongs to.
type ThreadLog interface {
	// Position checks a cursor, and makes one that is Live stand for what is
	// logged by now, so that nothing is missed that happens before Events is read.
	Position(ctx context.Context, threadID string, after Cursor) (Cursor, error)
	// Events yields the thread's entries after a Position, those of all its runs
	// and of updates between them (without a RunID), in order, and follows the
	// thread until ctx ends. A thread that is deleted ends the iterator with
	// NotFound; of a run that is deleted nothing more comes.
	Events(ctx context.Context, threadID string, after Cursor) iter.Seq2[*mapping.Entry, error]
}

// RunRef names a run. An empty ThreadID means wherever it is.
type RunRef struct{ ThreadID, RunID string }

// Cursor is a position in a run: the event Seq and the frame K within it.
// Everything after it is wanted. A reader starts with the event at Seq when
// K >= 0 (it may hold further frames) and skips the frames up to K itself.
type Cursor struct {
	Seq   int64
	K     int  // -1: the whole event is behind
	Start bool // from the start of the run, or of the thread
	Live  bool // only what comes from now on; an ended run ends at once
	End   bool // only the end event: for those who wait and read nothing else
}

// NewRun is a request for a run, in whatever dialect it came.
type NewRun struct {
	ThreadID     string // "": a stateless run on a thread of its own
	Agent        string // config name or UUID of an agent or assistant; "": the default agent
	Flavour      mapping.Flavour
	Kwargs       json.RawMessage // what the client sent of the kept keys, verbatim
	Input        json.RawMessage
	Messages     json.RawMessage // Agent Protocol
	HasInput     bool            // input or messages were sent, and not null
	Command      *Command
	Metadata     json.RawMessage
	Config       json.RawMessage
	Context      json.RawMessage
	StreamModes  []string
	Subgraphs    bool
	Multitask    mapping.Strategy // "": reject
	IfNotExists  string           // reject (default) | create
	RunAfter     time.Duration
	DeleteAfter  bool // on_completion: delete (stateless runs)
	Webhook      string
	CheckpointID string
	// InterruptBefore and After are node names, or "*".
	InterruptBefore []string
	InterruptAfter  []string
	// Background: the answer leaves before the run has done anything, so that the
	// run may give way to other requests for a moment. No part of what is asked
	// for: a repeated request may differ in it.
	Background     bool `json:"-"`
	Retries        int  // how often a failed run is tried again
	RetriesSaid    bool // the client said so; else the agent's configuration holds
	IdempotencyKey string
	Batch          string // "i/n": run i of n that were asked for together, under one key
	// Fields are the names of all documented fields the client sent, for the
	// loss header.
	Fields []string
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
	Rollback bool // remove the run and what it did
}

// RunIndex lists runs.
type RunIndex interface {
	// List returns a thread's runs, newest first.
	List(ctx context.Context, q RunQuery) ([]mapping.Run, error)
}

// RunQuery filters runs; all conditions must hold.
type RunQuery struct {
	ThreadID string // "": all threads
	Agent    string
	Status   mapping.RunStatus
	Metadata json.RawMessage
	Limit    int
	Offset   int
}

// TaskRef names a task as a face sees it. A task of another agent, or of
// another topic when Topic is set, is NotFound.
type TaskRef struct{ Agent, Topic, ID string }

// Page is a page of a list, from 1.
type Page struct{ Number, Size int }

// Tasks is the task/step side of the bridge.
type Tasks interface {
	Create(ctx context.Context, n NewTask) (mapping.Task, error)
	// Get returns the task with its Artifacts.
	Get(ctx context.Context, ref TaskRef) (mapping.Task, error)
	// List returns an agent's tasks, oldest first, with their Artifacts.
	List(ctx context.Context, ref TaskRef, p Page) (tasks []mapping.Task, total int, err error)
	// Step executes, or waits for, the next step of a task.
	Step(ctx context.Context, ref TaskRef, r StepRequest) (Handout, error)
	Cancel(ctx context.Context, ref TaskRef) (mapping.Task, error)
}

// NewTask is a request for a task.
type NewTask struct {
	Agent           string
	Topic           string // "": a thread of its own
	Input           *string
	AdditionalInput json.RawMessage // an object; nil: none
	IdempotencyKey  string
}

// StepRequest is what a step POST said.
type StepRequest struct {
	Input           *string
	AdditionalInput json.RawMessage
	IdempotencyKey  string
	// Retries and RetriesSaid as in NewRun, for a run that this request starts.
	Retries     int
	RetriesSaid bool
}

// Handout is a step on its way to a client. That it is handed out is durable by
// now, so that a process that dies does not hand it out twice. Confirm must be
// called once the answer was written to a client that was still there when it was
// ready. Release must be called in any case when the request is over; before
// Confirm it takes the hand-out back, and the step is handed out again. Until
// either is called, nobody else is given a step of the task. The end of the
// request's context does not do it, since many clients close their connection as
// soon as they have read the answer.
type Handout struct {
	Step mapping.Step
	// Losses of the run that the step belongs to, for the loss header.
	Losses  []mapping.Loss
	Confirm func()
	Release func() // may be nil
}

// Steps reads steps.
type Steps interface {
	// List returns released steps as completed and the held one as running.
	List(ctx context.Context, ref TaskRef, p Page) (steps []mapping.Step, total int, err error)
	Get(ctx context.Context, ref TaskRef, stepID string) (mapping.Step, error)
	// Follow yields steps with N > after as they are released, until the last.
	Follow(ctx context.Context, ref TaskRef, after int) iter.Seq2[mapping.Step, error]
}

// Artifacts are the files of a task's thread.
type Artifacts interface {
	// List: agent-created first, root before nested, then by path.
	List(ctx context.Context, ref TaskRef, p Page) (artifacts []mapping.Artifact, total int, err error)
	Get(ctx context.Context, ref TaskRef, artifactID string) (mapping.Artifact, error)
	// Open returns the bytes; the caller closes.
	Open(ctx context.Context, ref TaskRef, artifactID string) (mapping.Artifact, io.ReadCloser, error)
	// Save streams an upload; over limits.artifact it is TooLarge and nothing stays.
	Save(ctx context.Context, ref TaskRef, path, mimeType string, body io.Reader) (mapping.Artifact, error)
}

// TopicRef names a topic as a face sees it: a thread. One that another agent
// uses is NotFound.
type TopicRef struct{ Agent, ID string }

// Topics are threads as the Topic RFC of the Agent Protocol has them: a topic
// groups tasks, and what they have in common. Tasks, steps and artifacts of a
// topic are found by TaskRef.Topic.
type Topics interface {
	// Create makes a topic. An AdditionalInput with a key that the bridge keeps
	// for itself is Invalid.
	Create(ctx context.Context, n NewTopic) (mapping.Topic, error)
	// Get returns the topic with its Memory and Artifacts.
	Get(ctx context.Context, ref TopicRef) (mapping.Topic, error)
	// List returns an agent's topics, oldest first, as Get does.
	List(ctx context.Context, agent string, p Page) (topics []mapping.Topic, total int, err error)
}

// NewTopic is a request for a topic.
type NewTopic struct {
	Agent           string
	Name            *string
	AdditionalInput json.RawMessage // an object; nil: none
	IdempotencyKey  string
}

// Interactions are the messages of a topic.
type Interactions interface {
	// Create says something. Words of a user answer the open question of the
	// topic, if there is one; else they derive a task, whose steps are asked
	// for as those of any task. Derive true makes a task in any case, false
	// never: the words are then appended to the topic's state, as those of
	// other roles always are, and that is Conflict while a run is active.
	Create(ctx context.Context, n NewInteraction) (mapping.Interaction, error)
	Get(ctx context.Context, ref TopicRef, id string) (mapping.Interaction, error)
	// List returns a topic's interactions, oldest first.
	List(ctx context.Context, ref TopicRef, p Page) (interactions []mapping.Interaction, total int, err error)
}

// NewInteraction is something to be said in a topic.
type NewInteraction struct {
	Ref             TopicRef
	Role            mapping.Role
	Input           *string
	AdditionalInput json.RawMessage // an object; nil: none
	Derive          *bool           // nil: not said
	IdempotencyKey  string
}

// Items is the long-term store.
type Items interface {
	Put(ctx context.Context, p PutItem) error
	Get(ctx context.Context, namespace []string, key string, refreshTTL bool) (mapping.Item, error)
	Delete(ctx context.Context, namespace []string, key string) error
	Search(ctx context.Context, q ItemQuery) ([]mapping.Item, error)
	Namespaces(ctx context.Context, q NamespaceQuery) ([][]string, error)
}

// PutItem is an item to be written.
type PutItem struct {
	Namespace []string
	Key       string
	Value     json.RawMessage // an object
	Index     json.RawMessage // nil: default; false: none; or a list of paths
	TTL       time.Duration   // 0: none
}

// ItemQuery searches items. Filter is an object of equalities and operators
// ($eq $ne $gt $gte $lt $lte).
type ItemQuery struct {
	Prefix        []string
	Filter        json.RawMessage
	Query         string
	Limit, Offset int
	RefreshTTL    bool
}

// NamespaceQuery lists namespaces; "*" matches one label.
type NamespaceQuery struct {
	Prefix, Suffix []string
	MaxDepth       int // 0: no limit
	Limit, Offset  int
}

// Agents describes the configured agents, and the assistants made over them.
type Agents interface {
	// Resolve finds an agent by config name or UUID, or an assistant by its
	// UUID; "" is the default agent.
	Resolve(ctx context.Context, idOrName string) (mapping.Agent, error)
	Search(ctx context.Context, q AgentQuery) (agents []mapping.Agent, total int, err error)
	Schemas(ctx context.Context, idOrName string) (mapping.Schemas, error)
	// Graph is {nodes, edges} as LangGraph draws it; xray, "" or "true" or a
	// number, says how deep it shows what nodes are made of.
	Graph(ctx context.Context, idOrName, xray string) (json.RawMessage, error)
	// Subgraphs is an object of schemas by namespace; namespace "" names all,
	// recurse those within them too.
	Subgraphs(ctx context.Context, idOrName, namespace string, recurse bool) (json.RawMessage, error)
}

// Assistants are made over configured agents: the same agent under an id, a name
// and with settings of their own. Configured agents are assistants too, which
// cannot be changed: that is Invalid.
type Assistants interface {
	// Create makes version 1 of an assistant.
	Create(ctx context.Context, n NewAssistant) (mapping.Agent, error)
	// Update makes a further version and makes it the current one.
	Update(ctx context.Context, id string, p AssistantPatch) (mapping.Agent, error)
	// Delete removes an assistant with its versions and crons, and with threads
	// the threads whose metadata.assistant_id it is. Its runs stay.
	Delete(ctx context.Context, id string, threads bool) error
	// Versions lists versions, newest first.
	Versions(ctx context.Context, idOrName string, q VersionQuery) ([]mapping.Agent, error)
	// SetLatest makes a version the current one.
	SetLatest(ctx context.Context, idOrName string, version int) (mapping.Agent, error)
}

// NewAssistant is a request for an assistant.
type NewAssistant struct {
	ID                        string // "": a fresh one
	Graph                     string // config name or UUID of an agent
	Name                      string // "": that of the agent
	Description               string
	Metadata, Config, Context json.RawMessage // objects; nil: {}
	IfExists                  string          // raise (default, 409) | do_nothing
}

// AssistantPatch changes an assistant; nil fields stay.
type AssistantPatch struct {
	Graph, Name, Description *string
	Metadata                 json.RawMessage // merged key by key
	Config, Context          json.RawMessage // instead of what was there
}

// VersionQuery filters the versions of an assistant.
type VersionQuery struct {
	Metadata      json.RawMessage // containment
	Limit, Offset int
}

// AgentQuery filters agents.
type AgentQuery struct {
	Name     string // case-insensitive substring
	Exact    bool   // Name must match whole
	Graph    string
	Metadata json.RawMessage
	SortBy   string
	Asc      bool
	Limit    int
	Offset   int
}

// Crons keeps requests for runs that are repeated by the clock.
type Crons interface {
	// Create keeps a cron. What could not be run now is refused as Runs.Start
	// would refuse it, but for a thread that is busy. An unreadable schedule or
	// time zone is Invalid.
	Create(ctx context.Context, n NewCron) (mapping.Cron, error)
	Get(ctx context.Context, id string) (mapping.Cron, error)
	Search(ctx context.Context, q CronQuery) (crons []mapping.Cron, total int, err error)
	// Update replaces all of a cron but its id, its thread and its agent.
	Update(ctx context.Context, id string, n NewCron) (mapping.Cron, error)
	// Delete removes a cron; runs it has made stay.
	Delete(ctx context.Context, id string) error
}

// NewCron is a request for a cron.
type NewCron struct {
	// Run is made at every tick. Without a ThreadID it has a thread of its own,
	// deleted after it unless Keep is set.
	Run      NewRun
	Payload  json.RawMessage // what the client sent of the run, verbatim
	Schedule string          // crontab(5): minute, hour, day of month, month, day of week
	Timezone string          // IANA name; "" is UTC
	Enabled  bool
	Keep     bool
	End      time.Time // no ticks after it; zero: for ever
}

// CronQuery filters crons: all conditions must hold.
type CronQuery struct {
	Agent    string // config name or assistant UUID
	ThreadID string
	Enabled  *bool
	Metadata json.RawMessage // containment
	SortBy   string          // cron_id | assistant_id | thread_id | created_at (default) | updated_at | next_run_date
	Asc      bool
	Limit    int
	Offset   int
}
