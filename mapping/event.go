package mapping

import (
	"encoding/json"
	"time"
)

// Kind is what an event tells.
type Kind string

const (
	// KindStarted is the first event of a run. Renders the metadata frame.
	KindStarted Kind = "started"
	// KindLinked tells what the agent calls the thread, task or run: Head.Link.
	KindLinked Kind = "linked"
	// KindInput merges Data, a delta object, into the state with the bridge's own reducer. Only in front of a task/step
	// agent: a thread/run agent merges its input itself and says so with a state event.
	KindInput Kind = "input"
	// KindDelta is a token: Data is [message chunk, metadata].
	KindDelta Kind = "delta"
	// KindUpdate is one node's output: Data is its delta object. Steps are made of it.
	KindUpdate Kind = "update"
	// KindInterrupt is a question: Head.Interrupts.
	KindInterrupt Kind = "interrupt"
	// KindCustom is what an agent wrote with its stream writer: Data is any JSON.
	KindCustom Kind = "custom"
	// KindChunk is an upstream frame kept as it came: Head.Name is the event name without namespace, Data its JSON.
	KindChunk Kind = "chunk"
	// KindState changes the state: Data is an encoded Diff (nil: nothing changed). Backends yield it with Data = the
	// full values and Head.Full set; the engine turns that into a Diff before it is logged.
	KindState Kind = "state"
	// KindEnd is the last event of a run: Head.Outcome. A backend may say with it, in Head.Link, how far both sides
	// agree.
	KindEnd Kind = "end"
)

// Event is one thing that happened on a thread. Events are the truth of the bridge: states, steps, frames and statuses
// are folds of them.
type Event struct {
	Seq   int64 // grows per thread, from 1; given by the log
	RunID string
	Kind  Kind
	At    time.Time
	Head  Head
	Data  json.RawMessage // verbatim; its meaning is the Kind's
	// WithEnd: clients take the event for the end of the run, so that it is written together with the end. Said by
	// backends; not stored. A question is such an event without saying so.
	WithEnd bool
}

// Asks reports whether the event holds a question.
func (e *Event) Asks() bool { return len(e.Head.Interrupts) > 0 }

// Head is the small, typed part of an event. It is stored as JSON.
type Head struct {
	Node string   `json:"node,omitempty"` // update: the node that ran
	NS   []string `json:"ns,omitempty"`   // namespace of a subgraph, root first; nil at the root
	Name string   `json:"name,omitempty"` // chunk: event name; state: the frame it came as (values, checkpoints or "")

	// Reduce: an update whose Data the bridge merges into the state itself, since the agent has no state of its own.
	Reduce bool `json:"reduce,omitempty"`
	// Step: an update that is a step of a task/step agent.
	Step *StepInfo `json:"step,omitempty"`
	// Interrupts: the questions of an interrupt event, or of an update that asks.
	Interrupts []Interrupt `json:"interrupts,omitempty"`
	Link       *Link       `json:"link,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // the checkpoint this event makes
	// Repeated is the checkpoint of an earlier state event or update, which an agent tells again when its run goes on
	// from there. It makes none.
	Repeated *Checkpoint `json:"repeated,omitempty"`
	Outcome  *Outcome    `json:"outcome,omitempty"`
	// Next: on a state event, the nodes that come next; nil means not said.
	Next []string `json:"next,omitempty"`
	// Full: Data is the whole state, not a Diff. Never logged.
	Full bool `json:"full,omitempty"`
	// Attempt of a started event, from 1; of an end event, when it was not the first.
	Attempt int `json:"attempt,omitempty"`
	// AgentTime, on an end event: how long a call of the agent was under way while the process that ended the run
	// worked on it.
	AgentTime time.Duration `json:"agent_ns,omitempty"`
	// Ahead, on a started event of an older version, which could ask for a step before the result of the one before was
	// logged. It is read, and never written.
	Ahead bool `json:"ahead,omitempty"`
	// UpstreamID is the agent's own id of the frame, for rejoining.
	UpstreamID string `json:"upstream_id,omitempty"`
	// Artifacts are those written by or with this event.
	Artifacts []string `json:"artifacts,omitempty"`
	// Uploaded, on an update of a step or on a linked event: what clients uploaded up to this mark the agent had been
	// given by then (see Uploaded).
	Uploaded UploadCursor `json:"uploaded,omitempty"`
	// Told, on a linked event, are the items of the long-term store that the agent was told of for the run.
	Told []ItemName `json:"told,omitempty"`
}

// Point returns the checkpoint that the event makes, or repeats; nil for none.
func (h *Head) Point() *Checkpoint {
	if h.Checkpoint != nil {
		return h.Checkpoint
	}
	return h.Repeated
}

// StepInfo is what a task/step agent said about one of its steps, beyond what the delta holds.
type StepInfo struct {
	ID         string          `json:"id,omitempty"` // the agent's own step id
	Name       string          `json:"name,omitempty"`
	Status     string          `json:"status,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"` // verbatim JSON: string, null, object, list
	Additional json.RawMessage `json:"additional,omitempty"`
	SaysLast   bool            `json:"is_last,omitempty"` // what the agent says; rule.StepFolder decides
	Input      *string         `json:"input,omitempty"`   // what it was driven with; not logged
	Skipped    []SkippedFile   `json:"-"`                 // StepUpdate puts them into the step's message
	OpenCall   string          `json:"-"`                 // id of an earlier step's tool call that waits for its result
}

// Checkpoint is a point in a thread's history that can be read, and run from, again.
type Checkpoint struct {
	ID       string          `json:"id"`               // a UUIDv7, made at the append unless the event's maker gave it one
	Parent   string          `json:"parent,omitempty"` // filled by the store: the head before it
	Source   string          `json:"source"`           // input, loop, update, fork or upstream
	Step     int             `json:"step"`
	Next     []string        `json:"next,omitempty"`
	Tasks    json.RawMessage `json:"tasks,omitempty"`  // state tasks as an upstream told them; nil: derived
	Remote   string          `json:"remote,omitempty"` // the same one upstream, by its id there
	RunID    string          `json:"run_id,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // further metadata of an upstream
	Facts    json.RawMessage `json:"facts,omitempty"`    // metadata of the run that made it: rule.RunFacts
	AsNode   string          `json:"as_node,omitempty"`  // of an update: the node that the client named as its author
	// RemoteThread is the upstream thread that Remote is of: our thread may be given another one, which knows nothing
	// of it.
	RemoteThread string    `json:"remote_thread,omitempty"`
	CreatedAt    time.Time `json:"-"`
	Seq          int64     `json:"-"` // of the event that made it
}

// Outcome is how a run ended.
type Outcome struct {
	Status RunStatus `json:"status,omitempty"` // "" together with Parked
	// Parked: not an end at all. A lockstep run did the step it was asked for and waits for the next one; never logged.
	Parked     bool        `json:"parked,omitempty"`
	Cancelled  bool        `json:"cancelled,omitempty"`
	Reason     string      `json:"reason,omitempty"` // why it was cancelled: Run.CancelReason
	Fault      *Fault      `json:"fault,omitempty"`
	Interrupts []Interrupt `json:"interrupts,omitempty"` // what the run waits for
}

// Thread returns the status of the thread after a run that ended so.
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

// NewestAttempt returns what a run's log holds since the run was last begun: all of it, unless a failed run was tried
// again.
func NewestAttempt(logged []Event) []Event {
	for i := len(logged) - 1; i >= 0; i-- {
		if logged[i].Kind == KindStarted && logged[i].Head.Attempt > 1 {
			return logged[i:]
		}
	}
	return logged
}

// SkippedFile is a file of a task/step agent that the bridge could not take over.
type SkippedFile struct {
	Path   string // as far as it is known, else what the agent calls the file
	Remote string // the agent's own artifact id; "" when it gave none
	Reason string // what happened, for the client
}
