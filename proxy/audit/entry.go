package audit

import (
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Entry is one operation.
type Entry struct {
	Time      time.Time        `json:"time"`
	Operation mapping.Verb     `json:"operation"`
	Kind      string           `json:"kind"`
	Objects   []mapping.Object `json:"objects"` // that it was done to, and those that they belong to
	Outcome   string           `json:"outcome"` // done, refused or failed
	Status    int              `json:"status,omitempty"`
	Code      string           `json:"code,omitempty"` // of an error, where no status tells it, and of what was refused at the door
	Key       string           `json:"key"`
	Tenant    string           `json:"tenant"`
	From      string           `json:"from,omitempty"` // "": the bridge itself, in the background
	RequestID string           `json:"request_id,omitempty"`
	Method    string           `json:"method,omitempty"`
	Route     string           `json:"route,omitempty"`
	LeftOut   int64            `json:"left_out,omitempty"` // lines that would stand before this one: see Log.Refuse
}

// The outcomes of an operation.
const (
	Done    = "done"
	Refused = "refused" // for what was asked
	Failed  = "failed"  // for what the bridge or an agent could not do
)

// OutcomeOf returns the outcome that an HTTP status stands for. 0 stands for a client that left before it was answered.
func OutcomeOf(status int) string {
	switch {
	case status == 0 || status >= 500:
		return Failed
	case status >= 400:
		return Refused
	}
	return Done
}
