package mapping

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// ThreadStatus is the status of a thread. Between runs it is that of the last run (streaming and REST documents of the
// Agent Protocol, schema ThreadStatus).
type ThreadStatus string

const (
	ThreadIdle        ThreadStatus = "idle"
	ThreadBusy        ThreadStatus = "busy"
	ThreadInterrupted ThreadStatus = "interrupted"
	ThreadError       ThreadStatus = "error"
)

// RunStatus is the status of a run. Pending and running are active. Every run ends with one of the other four.
type RunStatus string

const (
	RunPending     RunStatus = "pending"
	RunRunning     RunStatus = "running"
	RunSuccess     RunStatus = "success"
	RunError       RunStatus = "error"
	RunTimeout     RunStatus = "timeout"
	RunInterrupted RunStatus = "interrupted" // waits for a person, or was cancelled
)

// Active reports whether the run has not ended.
func (s RunStatus) Active() bool { return s == RunPending || s == RunRunning }

// Flavour is the dialect and variant of a run's request, by a name that the dialect defines. It determines the format
// of webhooks.
type Flavour string

// Thread is a conversation with one or more agents: a topic on the task/step side.
type Thread struct {
	Tenant, Owner        string
	ID                   string
	Metadata             json.RawMessage // an object, never nil
	Config               json.RawMessage // an object, never nil
	Status               ThreadStatus
	Head                 string          // id of the newest checkpoint, or ""
	Values               json.RawMessage // state at Head if requested, or nil
	Interrupts           []Interrupt     // the open questions
	CreatedAt, UpdatedAt time.Time
	Expires              time.Time     // zero means never
	TTL                  time.Duration // the one that set Expires; 0 if there is none or it is unknown; or OfOneRun
	KeepLatest           bool          // on expiry only older states are deleted, not the thread
	// Name is a client's own name for the thread, used for runs of the agent NamedFor. It is "" if there is none, and
	// unique for an owner and an agent.
	Name, NamedFor string
}

// OfOneRun is the TTL of a thread that was created for a stateless run. Such threads are not listed.
const OfOneRun = -time.Microsecond

// Run is one execution of an agent on a thread.
type Run struct {
	Tenant, Owner string
	ID            string
	ThreadID      string
	TaskID        string // the lineage of the run
	Agent         string // config name
	AssistantID   string // always a UUID
	Status        RunStatus
	Parked        bool            // running, but waiting for the request of the next step
	Metadata      json.RawMessage // an object, never nil
	Kwargs        json.RawMessage // the request for the run, an object; package rule knows its members
	Multitask     Strategy
	Flavour       Flavour
	Options       RunOptions
	Base          string // id of the checkpoint at which the run starts; "" if there is none
	Attempt       int    // from 1
	Fault         *Fault // why it ended with error or timeout
	CancelReason  string // why it was or will be cancelled; "" if it was not, or if unknown
	CreatedAt     time.Time
	UpdatedAt     time.Time
	StartedAt     time.Time // zero while pending
	EndedAt       time.Time // zero while active
	RunAfter      time.Time // zero means at once
	Totals        RunTotals // of an ended run; zero while active
}

// RunTotals are the sums over the events of a run.
type RunTotals struct {
	Steps int // steps of a task, or nodes of a graph without those of the graphs within it
	Usage
}

// Usage is the usage of models that an agent reported. 0 means none or unknown.
type Usage struct {
	Input, Output int64   // tokens
	Cost          float64 // US dollars
}

// Activity summarizes the runs that a caller can see, for charts.
type Activity struct {
	Now   time.Time  // the database's time
	Ended []EndedRun // newest first
	Whole bool       // Ended has all that were requested, not only the newest
	Open  []OpenRuns
}

// EndedRun is a run in an Activity.
type EndedRun struct {
	Agent     string
	Status    RunStatus
	CreatedAt time.Time
	EndedAt   time.Time
	Usage
}

// OpenRuns counts the unfinished runs of an agent. Queued runs start now or later. Parked runs wait for a request.
type OpenRuns struct {
	Agent                   string
	Queued, Running, Parked int
}

// Plus returns the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cost + v.Cost}
}

// Strategy determines what happens to a new run on a busy thread ("double texting").
type Strategy string

const (
	StrategyReject     Strategy = "reject"
	StrategyEnqueue    Strategy = "enqueue"
	StrategyInterrupt  Strategy = "interrupt"
	StrategyRollback   Strategy = "rollback"
	StrategyConcurrent Strategy = "concurrent"
)

// RunOptions is the part of a request that determines how the run is executed. It is stored with the run, so that
// another process can continue it.
type RunOptions struct {
	Resume          json.RawMessage `json:"resume,omitempty"` // answer to an interrupt
	Resuming        bool            `json:"resuming,omitempty"`
	ByMessage       bool            `json:"by_message,omitempty"` // the answer is the last human message of the input, which is added to the state verbatim
	Verbatim        bool            `json:"verbatim,omitempty"`   // the agent receives the answer as it was sent
	Asked           []Interrupt     `json:"asked,omitempty"`      // the questions that were open when it was answered
	Guessed         string          `json:"guessed,omitempty"`    // text of the question that got a default answer
	Exhausted       []string        `json:"spent,omitempty"`      // texts of questions that get no further default answer
	Update          json.RawMessage `json:"update,omitempty"`     // command.update
	Goto            json.RawMessage `json:"goto,omitempty"`       // command.goto
	Input           json.RawMessage `json:"input,omitempty"`      // replaces the input in Kwargs; nil if it does not
	StreamModes     []string        `json:"stream_modes,omitempty"`
	Subgraphs       bool            `json:"subgraphs,omitempty"`
	Config          json.RawMessage `json:"config,omitempty"`
	Context         json.RawMessage `json:"context,omitempty"`
	InterruptBefore []string        `json:"interrupt_before,omitempty"`
	InterruptAfter  []string        `json:"interrupt_after,omitempty"`
	Approval        Approval        `json:"approval,omitempty"`  // merged from the agent's config and the request
	Stepping        Stepping        `json:"stepping,omitempty"`  // "" if the run is not requested step by step
	MaxSteps        int             `json:"max_steps,omitempty"` // 0 means no limit by the bridge
	LimitedBy       Limiter         `json:"limited_by,omitempty"`
	Retries         int             `json:"retries,omitempty"`
	RetryUnknown    bool            `json:"retry_unknown,omitempty"`
	Temporary       bool            `json:"temporary,omitempty"`    // its thread was created for it (config.Retention)
	DeleteAfter     bool            `json:"delete_after,omitempty"` // its thread is deleted soon after its end (on_completion: delete)
	Webhook         string          `json:"webhook,omitempty"`
	FollowUp        bool            `json:"follow_up,omitempty"`  // another run of a task that has one
	Due             int             `json:"due,omitempty"`        // with FollowUp: the step that was due at the request
	Checkpoint      string          `json:"checkpoint,omitempty"` // the client's start
	MayOverlap      bool            `json:"shared,omitempty"`     // others may run concurrently on its thread; its changes are logged so that they can be merged
	Uploaded        UploadCursor    `json:"uploaded,omitempty"`   // position of the task's uploads in its input or update
	Losses          []Loss          `json:"losses,omitempty"`
	Repeats         string          `json:"repeats,omitempty"` // id of the run whose request it repeats; that run may be deleted
	Hops            string          `json:"hops,omitempty"`    // of the request (HopsHeader)
	RequestID       string          `json:"request_id,omitempty"`
	Trace           *Trace          `json:"trace,omitempty"`   // of the request, or nil
	Resumes         *Trace          `json:"resumes,omitempty"` // of the run whose question it answers (Run.Place), or nil
}

// JSON returns the options as encoding/json writes them, except that potentially large values are copied verbatim.
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

// Loss is a request field that an agent's dialect cannot carry exactly.
type Loss struct {
	Field string `json:"field"`
	Fate  Fate   `json:"fate"`
}

// Fate is the treatment of a field by the bridge.
type Fate string

const (
	Exact        Fate = "exact"
	Approximated Fate = "approximated"
	Dropped      Fate = "dropped"
)

// Approval determines when a task/step agent is stopped for a person's approval.
type Approval string

const (
	ApprovalAuto Approval = "auto" // only for a real question (AutoGPT's ask_user)
	ApprovalAsk  Approval = "ask"  // also before every proposed command
	ApprovalStep Approval = "step" // after every step that is not the last
)

// Stepping determines how the steps of a task are requested.
type Stepping string

const (
	SteppingFree     Stepping = "free"     // the first POST starts the run, which continues by itself
	SteppingLockstep Stepping = "lockstep" // each POST does one upstream step
	SteppingRun      Stepping = "run"      // one step is the whole run
)

// Task is a lineage of runs: a run with its resumes and follow-ups. For task/step clients it is the task.
type Task struct {
	Tenant, Owner   string
	ID              string
	ThreadID        string
	ThreadName      string // Thread.Name
	Agent           string
	Input           string
	HasInput        bool            // false if the client sent null or nothing
	AdditionalInput json.RawMessage // an object, never nil
	HandOuts        int             // number of steps handed out; incremented before the response is written, and decremented if writing fails
	Topic           bool            // created through the topic face
	Status          TaskStatus
	StatusAt        time.Time // of the newest change of Status
	CreatedAt       time.Time
	UpdatedAt       time.Time
	Artifacts       []Artifact // if requested
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
	AdditionalInput  json.RawMessage // of that POST, or nil
	Output           *string
	AdditionalOutput json.RawMessage // an object or nil
	Artifacts        []Artifact
	IsLast           bool // set by rule.StepFolder; package stepping corrects it for a follow-up run
	CreatedAt        time.Time
}

// StepStatus as in the v1 document, schema Step.status.
type StepStatus string

const (
	StepCreated   StepStatus = "created"
	StepRunning   StepStatus = "running"
	StepCompleted StepStatus = "completed"
)

// Artifact is a file of a thread. Writing a path again replaces the bytes of the same artifact.
type Artifact struct {
	Tenant       string
	ID           string
	ThreadID     string
	TaskID       string // the task that first created or received it
	Path         string // canonical: relative, "/"-separated, no "." or ".." parts; see CleanPath
	Size         int64
	MIMEType     string
	Sum          string // lower-case hex SHA-256 of the bytes
	AgentCreated bool
	Brought      bool `json:",omitempty"` // not uploaded but part of a state, as in a message; exists only there
	CreatedAt    time.Time
	ModifiedAt   time.Time
	RemoteID     string // the agent's newest id for it
}

// Item is one entry of the long-term store.
type Item struct {
	Tenant, Owner        string
	Namespace            []string
	Key                  string
	Value                json.RawMessage // an object
	CreatedAt, UpdatedAt time.Time
	Expires              time.Time // zero means never
	Score                *float64  // of a text or vector search
}

// Assistant is a target of runs: a configured agent, identified by its name, or a client's settings for one,
// with a separate id.
type Assistant struct {
	Tenant      string // of a created one; configured agents belong to every tenant
	Owner       string
	ID          string // assistant_id, a UUID
	Graph       string // config name of the agent
	Name        string
	Description string
	Metadata    json.RawMessage
	Config      json.RawMessage
	Context     json.RawMessage
	Version     int
	Configured  bool // from the configuration; cannot be changed or deleted
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
	// Within is the namespace of the inner graph that asks, as in LangGraph's checkpoint_ns. It is "" for the agent's
	// graph itself, or if unknown. It may also be that of a graph around the one that asks.
	Within string `json:"within,omitempty"`
	When   string `json:"when,omitempty"`
	// Schema is the JSON schema of the answer, if the graph has one (LangGraph, response_schema).
	Schema json.RawMessage `json:"response_schema,omitempty"`
	// Run is the run that asked an open question of a thread. It is set at the end of that run. Events do not have it.
	Run string `json:"run,omitempty"`
	// Nameless means that the agent gave the question no id. ID is then the bridge's own and is not sent to the agent.
	Nameless bool `json:"nameless,omitempty"`
}

// Link holds an agent's ids for a thread or task of the bridge, and the state on which both sides agreed
// (ARCHITECTURE.md, "Who owns state").
type Link struct {
	Agent            string   `json:"agent,omitempty"`
	TaskID           string   `json:"task_id,omitempty"`           // "" for a link of the whole thread
	Remote           string   `json:"remote,omitempty"`            // upstream thread or task id
	RemoteRun        string   `json:"remote_run,omitempty"`        // upstream run id, for rejoining
	RemoteCheckpoint string   `json:"remote_checkpoint,omitempty"` // upstream head at the agreement
	RemoteMark       string   `json:"remote_mark,omitempty"`       // identifies that head for the backend if its id is unknown
	LocalCheckpoint  string   `json:"local_checkpoint,omitempty"`  // our head at the agreement
	Undone           bool     `json:"undone,omitempty"`            // its run was rolled back here, but not at the agent
	Profile          string   `json:"profile,omitempty"`           // a probe's findings about the server
	Topic            string   `json:"topic,omitempty"`             // upstream topic, if the server has topics
	Steps            []string `json:"steps,omitempty"`             // upstream step ids logged so far, in order
	// Uploaded marks the uploads that the upstream topic has received with messages.
	Uploaded UploadCursor `json:"uploaded,omitempty"`
}

// Agreed reports whether both sides held the same state after the run of the link.
func (l Link) Agreed() bool { return l.RemoteCheckpoint != "" || l.RemoteMark != "" }
