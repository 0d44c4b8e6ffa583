package adapter

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Reason is the reason why a run waits.
type Reason string

const (
	ReasonQueue    Reason = "queue"    // earlier runs of its thread
	ReasonUpdate   Reason = "update"   // an update of the thread's state at an agent
	ReasonLimit    Reason = "limit"    // a slot of its agent
	ReasonDelayed  Reason = "delayed"  // its start time
	ReasonStarting Reason = "starting" // none: a bridge is about to start it
	ReasonLease    Reason = "lease"    // its bridge is gone or silent; another bridge takes over when the lease ends
	ReasonUpstream Reason = "upstream" // its agent
	ReasonQuestion Reason = "question" // a person's answer
	ReasonParked   Reason = "parked"   // a client that requests its next step
	ReasonFinished Reason = "finished" // none: it has ended
)

// Explanation explains why a run waits. The part named by Reason is set. Lease is set for every run that a bridge
// holds.
type Explanation struct {
	RunID    string            `json:"run_id"`
	ThreadID string            `json:"thread_id"`
	Agent    string            `json:"agent"`
	Status   mapping.RunStatus `json:"status"`
	Reason   Reason            `json:"reason"`
	Message  string            `json:"message"` // for display
	Queue    *QueueReason      `json:"queue,omitempty"`
	Update   *UpdateReason     `json:"update,omitempty"`
	Limit    *LimitReason      `json:"limit,omitempty"`
	Delayed  *DelayedReason    `json:"delayed,omitempty"`
	Lease    *LeaseReason      `json:"lease,omitempty"`
	Upstream *UpstreamReason   `json:"upstream,omitempty"`
	Question *QuestionReason   `json:"question,omitempty"`
	Parked   *ParkedReason     `json:"parked,omitempty"`
	Finished *FinishedReason   `json:"finished,omitempty"`
	Webhook  *WebhookState     `json:"webhook,omitempty"` // only of an ended run
}

// WebhookState is the progress of the delivery of a run's completion hook. It omits the URL, which may contain a token.
type WebhookState struct {
	State    string     `json:"state"` // waiting, delivered, or given_up
	Attempts int        `json:"attempts"`
	Error    string     `json:"error,omitempty"` // of the newest failed attempt
	Next     *time.Time `json:"next_attempt_at,omitempty"`
	Done     *time.Time `json:"done_at,omitempty"` // delivered, or given up
}

// QueueReason describes the place of a run in the queue of its thread.
type QueueReason struct {
	Place  int         `json:"place"`  // 1 means next
	Before []QueuedRun `json:"before"` // the first of the runs before it, in order
}

// QueuedRun is a run before another one.
type QueuedRun struct {
	RunID  string            `json:"run_id"`
	Status mapping.RunStatus `json:"status"`
	Parked bool              `json:"parked,omitempty"`
}

// UpdateReason names the bridge that applies an update of the thread's state at an agent.
type UpdateReason struct {
	Owner string `json:"owner"`
	Here  bool   `json:"here"` // it is the responding bridge
}

// LimitReason describes the setting that delays a run.
type LimitReason struct {
	Name  string `json:"name"`  // as in the configuration
	Value int    `json:"value"` // of that setting
	Used  int    `json:"used"`  // by this bridge
	Place int    `json:"place"` // among the agent's pending runs, from 1
}

// DelayedReason contains the start time of a delayed run.
type DelayedReason struct {
	Due          time.Time `json:"due"`
	AfterSeconds float64   `json:"after_seconds"` // from now
}

// LeaseReason names the bridge that holds a run.
type LeaseReason struct {
	Owner string     `json:"owner"`           // "" if there is none
	Here  bool       `json:"here"`            // it is the responding bridge
	Until *time.Time `json:"until,omitempty"` // by the database's clock; nil if the lease never ends
}

// UpstreamReason describes the call for which a run waits.
type UpstreamReason struct {
	Step    int       `json:"step"`  // nothing was received since then
	Since   time.Time `json:"since"` // the time of the last event
	Attempt int       `json:"attempt"`
}

// QuestionReason contains the questions with which a run ended.
type QuestionReason struct {
	Interrupts []mapping.Interrupt `json:"interrupts"` // empty if the run was stopped; any answer then continues it
	Since      time.Time           `json:"since"`
}

// ParkedReason describes the step that no client has requested yet.
type ParkedReason struct {
	Step  int       `json:"step"` // number of the next step
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when the run will be cancelled
}

// FinishedReason describes the end of a run.
type FinishedReason struct {
	EndedAt time.Time       `json:"ended_at"`
	Error   json.RawMessage `json:"error,omitempty"` // {code, message}
}
