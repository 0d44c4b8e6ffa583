package adapter

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Reason is what a run waits for.
type Reason string

const (
	ReasonQueue    Reason = "queue"    // runs before it on its thread
	ReasonUpdate   Reason = "update"   // an agent that is being told of an update of the thread's state
	ReasonLimit    Reason = "limit"    // a slot of its agent
	ReasonDelayed  Reason = "delayed"  // the time it was asked to start at
	ReasonStarting Reason = "starting" // nothing: a bridge is about to take it
	ReasonLease    Reason = "lease"    // the bridge that ran it is gone or silent: another one takes it over when its lease is over
	ReasonUpstream Reason = "upstream" // its agent
	ReasonQuestion Reason = "question" // a person's answer
	ReasonParked   Reason = "parked"   // a client that asks for its next step
	ReasonFinished Reason = "finished" // nothing: it has ended
)

// Explanation is why a run waits. The part named by Reason is set; Lease is set for every run that a bridge holds.
type Explanation struct {
	RunID    string            `json:"run_id"`
	ThreadID string            `json:"thread_id"`
	Agent    string            `json:"agent"`
	Status   mapping.RunStatus `json:"status"`
	Reason   Reason            `json:"reason"`
	Message  string            `json:"message"` // for people
	Queue    *QueueReason      `json:"queue,omitempty"`
	Update   *UpdateReason     `json:"update,omitempty"`
	Limit    *LimitReason      `json:"limit,omitempty"`
	Delayed  *DelayedReason    `json:"delayed,omitempty"`
	Lease    *LeaseReason      `json:"lease,omitempty"`
	Upstream *UpstreamReason   `json:"upstream,omitempty"`
	Question *QuestionReason   `json:"question,omitempty"`
	Parked   *ParkedReason     `json:"parked,omitempty"`
	Finished *FinishedReason   `json:"finished,omitempty"`
	Webhook  *WebhookState     `json:"webhook,omitempty"` // of a run that has ended
}

// WebhookState says how far the delivery of a run's completion hook has come. Its URL may hold a token and is not told.
type WebhookState struct {
	State    string     `json:"state"` // waiting, delivered, or given_up
	Attempts int        `json:"attempts"`
	Error    string     `json:"error,omitempty"` // of the newest failed attempt
	Next     *time.Time `json:"next_attempt_at,omitempty"`
	Done     *time.Time `json:"done_at,omitempty"` // delivered, or given up
}

// QueueReason is the place of a run in the queue of its thread.
type QueueReason struct {
	Place  int         `json:"place"`  // 1: it is next
	Before []QueuedRun `json:"before"` // the first of those before it, in their order
}

// QueuedRun is a run that is before another.
type QueuedRun struct {
	RunID  string            `json:"run_id"`
	Status mapping.RunStatus `json:"status"`
	Parked bool              `json:"parked,omitempty"`
}

// UpdateReason is which bridge tells an agent of an update of the thread's state.
type UpdateReason struct {
	Owner string `json:"owner"`
	Here  bool   `json:"here"` // the one that answers
}

// LimitReason is the setting that holds a run back.
type LimitReason struct {
	Name  string `json:"name"`  // as in the configuration
	Value int    `json:"value"` // of that setting
	Used  int    `json:"used"`  // by this bridge
	Place int    `json:"place"` // among the agent's pending runs, from 1
}

// DelayedReason is when a delayed run may start.
type DelayedReason struct {
	Due          time.Time `json:"due"`
	AfterSeconds float64   `json:"after_seconds"` // from now
}

// LeaseReason is which bridge holds a run.
type LeaseReason struct {
	Owner string     `json:"owner"`           // "": none
	Here  bool       `json:"here"`            // the one that answers
	Until *time.Time `json:"until,omitempty"` // by the database's clock; unset where a lease never ends
}

// UpstreamReason is the call that a run waits for.
type UpstreamReason struct {
	Step    int       `json:"step"`  // which one of this run is awaited, from 1
	Since   time.Time `json:"since"` // nothing has come since
	Attempt int       `json:"attempt"`
}

// QuestionReason are the questions that a run ended with.
type QuestionReason struct {
	Interrupts []mapping.Interrupt `json:"interrupts"` // empty: it was stopped, and goes on with any answer
	Since      time.Time           `json:"since"`
}

// ParkedReason says since when the next step has not been asked for.
type ParkedReason struct {
	Step  int       `json:"step"` // which one is due
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // it is cancelled then
}

// FinishedReason is how a run ended.
type FinishedReason struct {
	EndedAt time.Time       `json:"ended_at"`
	Error   json.RawMessage `json:"error,omitempty"` // {code, message}
}
