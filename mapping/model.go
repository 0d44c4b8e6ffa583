package mapping

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// ThreadStatus is what a thread is doing. Between runs it tells how the last one ended (streaming and REST documents of
// the Agent Protocol, schema ThreadStatus).
type ThreadStatus string

const (
	ThreadIdle        ThreadStatus = "idle"
	ThreadBusy        ThreadStatus = "busy"
	ThreadInterrupted ThreadStatus = "interrupted"
	ThreadError       ThreadStatus = "error"
)

// RunStatus is where a run is in its life. Pending and running are the two active ones; every run ends in exactly one
// of the other four.
type RunStatus string

const (
	RunPending     RunStatus = "pending"
	RunRunning     RunStatus = "running"
	RunSuccess     RunStatus = "success"
	RunError       RunStatus = "error"
	RunTimeout     RunStatus = "timeout"
	RunInterrupted RunStatus = "interrupted" // waits for a person, or was cancelled
)

// Active reports whether the run has not ended yet.
func (s RunStatus) Active() bool { return s == RunPending || s == RunRunning }

// Flavour is the dialect, and the variant of it, that a run was made in, by a name that the dialect gives it. It
// decides the shape of what is said about the run unasked: webhooks.
type Flavour string

// Thread is a conversation with one or more agents: a topic on the task/step side.
type Thread struct {
	Tenant, Owner        string
	ID                   string
	Metadata             json.RawMessage // an object, never nil
	Config               json.RawMessage // an object, never nil
	Status               ThreadStatus
	Head                 string          // id of the newest checkpoint; "" when there is none
	Values               json.RawMessage // state at Head, where it was asked for; else nil
	Interrupts           []Interrupt     // the open question, if any
	CreatedAt, UpdatedAt time.Time
	Expires              time.Time     // zero: never
	TTL                  time.Duration // that Expires was set by; 0: none, or it is not known; or OfOneRun
	KeepLatest           bool          // when it expires its older states go, and the thread stays
	// Name is a name that a client gave the thread for runs of the agent NamedFor; "": none. The threads of an owner have
	// different names for an agent.
	Name, NamedFor string
}

// OfOneRun is the TTL of a thread that was made for a stateless run. No list has it.
const OfOneRun = -time.Microsecond

// Run is one execution of an agent on a thread.
type Run struct {
	Tenant, Owner string
	ID            string
	ThreadID      string
	TaskID        string // the lineage this run belongs to
	Agent         string // config name
	AssistantID   string // always a UUID
	Status        RunStatus
	Parked        bool            // running, but waiting for the next step to be asked for
	Metadata      json.RawMessage // an object, never nil
	Kwargs        json.RawMessage // the request that made it, an object; package rule knows its members
	Multitask     Strategy
	Flavour       Flavour
	Options       RunOptions
	Base          string // id of the checkpoint the run starts from; "" at the first
	Attempt       int    // from 1
	Fault         *Fault // why it ended in error or timeout
	CancelReason  string // why it was, or is to be, cancelled; "": it was not, or that is not known
	CreatedAt     time.Time
	UpdatedAt     time.Time
	StartedAt     time.Time // zero while pending
	EndedAt       time.Time // zero while active
	RunAfter      time.Time // zero: at once
}

// Strategy says what a new run does when its thread is busy ("double texting").
type Strategy string

const (
	StrategyReject     Strategy = "reject"
	StrategyEnqueue    Strategy = "enqueue"
	StrategyInterrupt  Strategy = "interrupt"
	StrategyRollback   Strategy = "rollback"
	StrategyConcurrent Strategy = "concurrent"
)

// RunOptions is the part of a request that changes how the run is executed; it is kept with the run, so that another
// process can pick it up.
type RunOptions struct {
	Resume          json.RawMessage `json:"resume,omitempty"` // answer to an interrupt
	Resuming        bool            `json:"resuming,omitempty"`
	ByMessage       bool            `json:"by_message,omitempty"` // the answer is the last human message of the input, which the state gets as it was sent
	Asked           []Interrupt     `json:"asked,omitempty"`      // the questions that were open when it was answered
	Guessed         string          `json:"guessed,omitempty"`    // text of the question a default answer was given to
	Exhausted       []string        `json:"spent,omitempty"`      // texts of questions that get no default answer any more
	Update          json.RawMessage `json:"update,omitempty"`     // command.update
	Goto            json.RawMessage `json:"goto,omitempty"`       // command.goto
	Input           json.RawMessage `json:"input,omitempty"`      // instead of the input of Kwargs; nil: that one
	StreamModes     []string        `json:"stream_modes,omitempty"`
	Subgraphs       bool            `json:"subgraphs,omitempty"`
	Config          json.RawMessage `json:"config,omitempty"`
	Context         json.RawMessage `json:"context,omitempty"`
	InterruptBefore []string        `json:"interrupt_before,omitempty"`
	InterruptAfter  []string        `json:"interrupt_after,omitempty"`
	Approval        Approval        `json:"approval,omitempty"`  // after agent config and request were merged
	Stepping        Stepping        `json:"stepping,omitempty"`  // "" : not driven by steps
	MaxSteps        int             `json:"max_steps,omitempty"` // 0: the bridge sets no limit
	LimitedBy       Limiter         `json:"limited_by,omitempty"`
	Retries         int             `json:"retries,omitempty"`
	RetryUnknown    bool            `json:"retry_unknown,omitempty"`
	Temporary       bool            `json:"temporary,omitempty"`    // its thread was made for it, and goes when config.Retention says
	DeleteAfter     bool            `json:"delete_after,omitempty"` // its thread goes soon after its end: on_completion: delete
	Webhook         string          `json:"webhook,omitempty"`
	FollowUp        bool            `json:"follow_up,omitempty"`  // further run of a task that has one
	Due             int             `json:"due,omitempty"`        // with FollowUp: the step that was due when it was asked for
	Checkpoint      string          `json:"checkpoint,omitempty"` // the client asked to start here
	MayOverlap      bool            `json:"shared,omitempty"`     // others may run beside it on its thread: what it changes is logged so that it can be merged
	Uploaded        UploadCursor    `json:"uploaded,omitempty"`   // up to where its input or update holds the task's uploads
	Losses          []Loss          `json:"losses,omitempty"`
	Hops            string          `json:"hops,omitempty"` // of the request (HopsHeader)
	RequestID       string          `json:"request_id,omitempty"`
	Trace           *Trace          `json:"trace,omitempty"`   // of the request; nil: it said nothing
	Resumes         *Trace          `json:"resumes,omitempty"` // of the run whose question it answers (Run.Place); nil: that is in no trace
}

// JSON returns the options as encoding/json would write them, but for the large values that a client may send, which
// are spliced in as they are.
func (o RunOptions) JSON() (json.RawMessage, error) {
	var set []rawjson.Member
	for _, large := range []struct {
		name  string
		value *json.RawMessage
	}{{"resume", &o.Resume}, {"update", &o.Update}, {"goto", &o.Goto}, {"input", &o.Input}, {"config", &o.Config}, {"context", &o.Context}} {
		if len(*large.value) > 0 {
			set, *large.value = append(set, rawjson.Member{Name: large.name, Value: *large.value}), nil
		}
	}
	small, err := rawjson.Encode(o)
	if err != nil {
		return nil, err
	}
	return rawjson.WithMembers(small, set...)
}

// Loss is one field of a request that an agent's dialect cannot carry exactly.
type Loss struct {
	Field string `json:"field"`
	Fate  Fate   `json:"fate"`
}

// Fate of a field on its way through the bridge.
type Fate string

const (
	Exact        Fate = "exact"
	Approximated Fate = "approximated"
	Dropped      Fate = "dropped"
)

// Approval says when a task/step agent is stopped to ask a person.
type Approval string

const (
	ApprovalAuto Approval = "auto" // only a real question (AutoGPT's ask_user)
	ApprovalAsk  Approval = "ask"  // also before every proposed command
	ApprovalStep Approval = "step" // after every step that is not the last
)

// Stepping says how the steps of a task are pulled out of its run.
type Stepping string

const (
	SteppingFree     Stepping = "free"     // the first POST starts the run, which goes on by itself
	SteppingLockstep Stepping = "lockstep" // each POST does one upstream step
	SteppingRun      Stepping = "run"      // one step is the whole run
)

// Task is a lineage of runs: a run and its resumes and follow-ups. On the task/step side it is the task.
type Task struct {
	Tenant, Owner   string
	ID              string
	ThreadID        string
	ThreadName      string // Thread.Name
	Agent           string
	Input           string
	HasInput        bool            // false: the client sent null or nothing
	AdditionalInput json.RawMessage // an object, never nil
	HandOuts        int             // how many steps were handed out; counted before an answer leaves, and not any more where it could not be written
	Topic           bool            // made through the topic face
	Status          TaskStatus
	StatusAt        time.Time // of the newest change of Status
	CreatedAt       time.Time
	UpdatedAt       time.Time
	Artifacts       []Artifact // where asked for
}

// Step is one step of a task, numbered from 1 over all its runs.
type Step struct {
	ID               string // StepID(task, n)
	TaskID           string
	RunID            string
	N                int
	Name             string
	Status           StepStatus
	Input            *string         // of the POST that fetched it
	AdditionalInput  json.RawMessage // of that POST; nil when there was none
	Output           *string
	AdditionalOutput json.RawMessage // an object or nil
	Artifacts        []Artifact
	IsLast           bool // decided by rule.StepFolder; package stepping takes it back for a follow-up run
	CreatedAt        time.Time
}

// StepStatus as in the v1 document, schema Step.status.
type StepStatus string

const (
	StepCreated   StepStatus = "created"
	StepRunning   StepStatus = "running"
	StepCompleted StepStatus = "completed"
)

// Artifact is a file of a thread. Two writes to one path are one artifact with the newest bytes.
type Artifact struct {
	Tenant       string
	ID           string
	ThreadID     string
	TaskID       string // the task that made or received it first
	Path         string // canonical: relative, "/"-separated, no "." or ".." parts; see CleanPath
	Size         int64
	MIMEType     string
	Sum          string // SHA-256 of the bytes, lower-case hex
	AgentCreated bool
	Brought      bool `json:",omitempty"` // it came within a state, as in a message, and not by an upload: it is there where that state is
	CreatedAt    time.Time
	ModifiedAt   time.Time
	RemoteID     string // the agent's own id for it, last seen
}

// Item is one entry of the long-term store.
type Item struct {
	Tenant, Owner        string
	Namespace            []string
	Key                  string
	Value                json.RawMessage // an object
	CreatedAt, UpdatedAt time.Time
	Expires              time.Time // zero: never
	Score                *float64  // of a text or vector search
}

// Assistant is what clients ask for a run of: a configured agent, known by its name, or settings over one that a client
// made, with an id of their own.
type Assistant struct {
	Tenant      string // of one that was made; configured agents are every tenant's
	Owner       string
	ID          string // assistant_id, a UUID
	Graph       string // config name of the agent
	Name        string
	Description string
	Metadata    json.RawMessage
	Config      json.RawMessage
	Context     json.RawMessage
	Version     int
	Configured  bool // from the configuration: cannot be changed or deleted
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Exposes     Exposure // of the agent
}

// Schemas are the JSON schemas of an agent's input, output and state.
type Schemas struct {
	Input, Output, State, Config, Context json.RawMessage
}

// Interrupt is one open question of a run.
type Interrupt struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
	Task  string          `json:"task,omitempty"` // id of the state task that asks
	NS    []string        `json:"ns,omitempty"`
	// Within is the namespace of the graph within the agent's graph that asks, as LangGraph's checkpoint_ns; "" is the
	// agent's graph itself, or it is not known. It may be that of a graph around the one that asks.
	Within string `json:"within,omitempty"`
	When   string `json:"when,omitempty"`
	// Schema is the JSON schema of the answer, where the graph gave one (LangGraph, response_schema).
	Schema json.RawMessage `json:"response_schema,omitempty"`
	// Run is the run that asked: of an open question of a thread. It is noted with the end of that run; events do not
	// have it, nor the threads of older versions.
	Run string `json:"run,omitempty"`
	// Nameless: the agent gave the question no id. ID is the bridge's own, which the agent is not told.
	Nameless bool `json:"nameless,omitempty"`
}

// Link is what an agent calls a thread or task of ours, and how far both sides agreed on its state (ARCHITECTURE.md,
// "Who owns state").
type Link struct {
	Agent            string   `json:"agent,omitempty"`
	TaskID           string   `json:"task_id,omitempty"`           // "" for a link of the whole thread
	Remote           string   `json:"remote,omitempty"`            // upstream thread or task id
	RemoteRun        string   `json:"remote_run,omitempty"`        // upstream run id, for rejoining
	RemoteCheckpoint string   `json:"remote_checkpoint,omitempty"` // upstream head when both agreed
	RemoteMark       string   `json:"remote_mark,omitempty"`       // by what the backend knows that head again, where it was not told its id
	LocalCheckpoint  string   `json:"local_checkpoint,omitempty"`  // our head when both agreed
	Undone           bool     `json:"undone,omitempty"`            // the run that left it was rolled back: the agent still has what it did
	Profile          string   `json:"profile,omitempty"`           // what a probe found out about the server
	Topic            string   `json:"topic,omitempty"`             // upstream topic, where it serves topics
	Steps            []string `json:"steps,omitempty"`             // upstream step ids logged so far, in order
}

// Agreed reports whether the run that left the link so ended with both sides holding the same state.
func (l Link) Agreed() bool { return l.RemoteCheckpoint != "" || l.RemoteMark != "" }
