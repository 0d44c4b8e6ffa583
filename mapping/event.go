package mapping

import (
	"encoding/json"
	"time"
)

// Kind is the kind of an event.
type Kind string

const (
	// KindStarted is the first event of a run. It becomes the metadata frame.
	KindStarted Kind = "started"
	// KindLinked records the agent's ids of the thread, task or run: Head.Link.
	KindLinked Kind = "linked"
	// KindInput merges Data, a delta object, into the state with the bridge's own reducer. It is only used for a
	// task/step agent. A thread/run agent merges its input itself and reports the result as a state event.
	KindInput Kind = "input"
	// KindDelta is a token: Data is [message chunk, metadata].
	KindDelta Kind = "delta"
	// KindUpdate is one node's output: Data is its delta object. It becomes a step.
	KindUpdate Kind = "update"
	// KindInterrupt is a question: Head.Interrupts.
	KindInterrupt Kind = "interrupt"
	// KindCustom is output of an agent's stream writer: Data is any JSON.
	KindCustom Kind = "custom"
	// KindChunk is an upstream frame that is kept verbatim. Head.Name is the event name without namespace, Data its
	// JSON.
	KindChunk Kind = "chunk"
	// KindState changes the state: Data is an encoded Diff, nil for no change. Backends yield it with Data = the full
	// values and Head.Full set; the engine turns that into a Diff before it is logged.
	KindState Kind = "state"
	// KindEnd is the last event of a run: Head.Outcome. In Head.Link, a backend may record the state on which both
	// sides agree.
	KindEnd Kind = "end"
)

// Event is something that happened on a thread. States, steps, frames and statuses are folds of events.
type Event struct {
	Seq   int64 // grows per thread, from 1; set by the log
	RunID string
	Kind  Kind
	At    time.Time
	Head  Head
	Data  json.RawMessage // verbatim; its meaning depends on the Kind
	// WithEnd is set by backends if clients take the event for the end of the run. Both are then written together. It
	// is not stored. It is implied for questions.
	WithEnd bool
}

// Asks reports whether the event contains a question.
func (e *Event) Asks() bool { return len(e.Head.Interrupts) > 0 }

// Head is the small, typed part of an event, stored as JSON.
type Head struct {
	Node string   `json:"node,omitempty"` // update: the node that ran
	NS   []string `json:"ns,omitempty"`   // namespace of a subgraph, root first; nil at the root
	Name string   `json:"name,omitempty"` // chunk: event name; custom: the form of its data, or ""; state: the name of its frame (values, checkpoints or "")

	// Reduce is set on an update that the bridge merges into the state itself, since the agent has no state.
	Reduce bool `json:"reduce,omitempty"`
	// Streamed is set on an update with Reduce whose message was logged before as delta events, with its whole text.
	Streamed bool `json:"streamed,omitempty"`
	// Passing is set on a delta whose message only reports progress. It never becomes part of the state.
	Passing bool `json:"passing,omitempty"`
	// Waiting is set on a custom event of an agent that now waits for something outside of the conversation, such as an
	// authorization.
	Waiting bool `json:"waiting,omitempty"`
	// Native is set on an update or a delta whose output has more than the neutral form of the event can hold. It is the
	// output, without what the event has elsewhere, in the form of the agent's dialect. Only the face of the same dialect
	// reads it.
	Native json.RawMessage `json:"native,omitempty"`
	// Step is set on an update that is a step of a task/step agent.
	Step *StepInfo `json:"step,omitempty"`
	// Interrupts holds the questions of an interrupt event, or of an update that asks.
	Interrupts []Interrupt `json:"interrupts,omitempty"`
	Link       *Link       `json:"link,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // the checkpoint that this event creates
	// Repeated is the checkpoint of an earlier state event or update that an agent sends again when its run continues
	// from there. The event creates no checkpoint.
	Repeated *Checkpoint `json:"repeated,omitempty"`
	Outcome  *Outcome    `json:"outcome,omitempty"`
	// Next holds the next nodes on a state event. It is nil if they are unknown.
	Next []string `json:"next,omitempty"`
	// Full means that Data is the whole state, not a Diff. It is never logged.
	Full bool `json:"full,omitempty"`
	// Attempt is the number of the attempt, from 1. It is set on a started event, and on an end event if it is above 1.
	Attempt int `json:"attempt,omitempty"`
	// AgentTime is set on an end event. It is the duration of the agent's calls in the process that ended the run.
	AgentTime time.Duration `json:"agent_ns,omitempty"`
	// UpstreamID is the agent's own id of the frame, for rejoining.
	UpstreamID string `json:"upstream_id,omitempty"`
	// Artifacts holds the ids of the artifacts written by this event or in its transaction.
	Artifacts []string `json:"artifacts,omitempty"`
	// Uploaded is set on an update of a step and on a linked event. It is the position of the uploads that the agent
	// had by then.
	Uploaded UploadCursor `json:"uploaded,omitempty"`
	// Recalled is set on a linked event. It holds the names of the items of the long-term store that the agent received
	// for the run.
	Recalled []ItemName `json:"told,omitempty"`
}

// Point returns the checkpoint that the event creates or repeats, or nil.
func (h *Head) Point() *Checkpoint {
	if h.Checkpoint != nil {
		return h.Checkpoint
	}
	return h.Repeated
}

// StepInfo holds a task/step agent's data about a step, beyond the delta.
type StepInfo struct {
	ID         string          `json:"id,omitempty"` // the agent's own step id
	Name       string          `json:"name,omitempty"`
	Status     string          `json:"status,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"` // verbatim JSON: a string, null, an object or a list
	Additional json.RawMessage `json:"additional,omitempty"`
	SaysLast   bool            `json:"is_last,omitempty"` // according to the agent; rule.StepFolder decides
	Input      *string         `json:"input,omitempty"`   // the input of the request; not logged
	Skipped    []SkippedFile   `json:"-"`                 // StepUpdate adds them to the step's message
	OpenCall   string          `json:"-"`                 // id of an earlier step's tool call that waits for its result
	StreamedAs string          `json:"-"`                 // id of the message if tokens had its whole text (rule.StepToken)
}

// Checkpoint is a point in a thread's history that can be read, and at which a run can start.
type Checkpoint struct {
	ID       string          `json:"id"`               // a UUIDv7, set when the event is appended unless it has one
	Parent   string          `json:"parent,omitempty"` // set by the store: the previous head
	Source   string          `json:"source"`           // input, loop, update, fork or upstream
	Step     int             `json:"step"`
	Next     []string        `json:"next,omitempty"`
	Tasks    json.RawMessage `json:"tasks,omitempty"`  // the state tasks of an upstream; nil if they are derived
	Remote   string          `json:"remote,omitempty"` // the id of the same checkpoint upstream
	RunID    string          `json:"run_id,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // further metadata of an upstream
	Facts    json.RawMessage `json:"facts,omitempty"`    // metadata of the run that created it: rule.RunFacts
	AsNode   string          `json:"as_node,omitempty"`  // of an update: the node that the client named as its author
	// RemoteThread is the upstream thread of Remote. Our thread may get another upstream thread without that
	// checkpoint.
	RemoteThread string    `json:"remote_thread,omitempty"`
	CreatedAt    time.Time `json:"-"`
	Seq          int64     `json:"-"` // of the event that created it
}

// StepNumber returns the number of the newest step in the checkpoint as people count it, from 1, or 0 if there is only
// the input. Step is 0 for the input if an agent, such as LangGraph, made the checkpoint, and for the first step if the
// bridge did. Only an agent's has Metadata.
func (c *Checkpoint) StepNumber() int {
	switch {
	case c.Source == "input":
		return 0
	case c.Metadata == nil:
		return c.Step + 1
	}
	return max(0, c.Step)
}

// Outcome is how a run ended.
type Outcome struct {
	Status RunStatus `json:"status,omitempty"` // "" together with Parked
	// Parked means that a lockstep run did the requested step and waits for the next request. It is not an end and
	// never logged.
	Parked     bool        `json:"parked,omitempty"`
	Cancelled  bool        `json:"cancelled,omitempty"`
	Reason     string      `json:"reason,omitempty"` // Run.CancelReason
	Fault      *Fault      `json:"fault,omitempty"`
	Interrupts []Interrupt `json:"interrupts,omitempty"` // the questions for which the run waits
}

// Thread returns the status of the thread after a run with this outcome.
func (o Outcome) Thread() ThreadStatus {
	switch {
	case o.Parked:
		return ThreadInterrupted
	case o.Status == RunError, o.Status == RunTimeout:
		return ThreadError
	case o.Status == RunInterrupted && !o.Cancelled:
		return ThreadInterrupted
	default:
		return ThreadIdle
	}
}

// NewestAttempt returns the part of a run's log since its newest attempt began.
func NewestAttempt(logged []Event) []Event {
	for i := len(logged) - 1; i >= 0; i-- {
		if logged[i].Kind == KindStarted && logged[i].Head.Attempt > 1 {
			return logged[i:]
		}
	}
	return logged
}

// SkippedFile is a file of a task/step agent that could not be downloaded.
type SkippedFile struct {
	Path   string // as far as it is known, or else the agent's name for the file
	Remote string // the agent's own artifact id, or ""
	Reason string // what happened, for the client
}
