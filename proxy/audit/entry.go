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
	Objects   []mapping.Object `json:"objects"` // its objects and those to which they belong
	Outcome   string           `json:"outcome"` // done, refused or failed
	Status    int              `json:"status,omitempty"`
	Code      string           `json:"code,omitempty"` // of an error without a status, and of a request refused by a guard
	Key       string           `json:"key"`
	Tenant    string           `json:"tenant"`
	From      string           `json:"from,omitempty"` // "" for background work of the bridge
	RequestID string           `json:"request_id,omitempty"`
	Method    string           `json:"method,omitempty"`
	Route     string           `json:"route,omitempty"`
	LeftOut   int64            `json:"left_out,omitempty"` // number of omitted lines before this one, see Log.Refuse
}

// The outcomes of an operation.
const (
	Done    = "done"
	Refused = "refused" // because of the request
	Failed  = "failed"  // because of the bridge or an agent
)

// OutcomeOf returns the outcome for an HTTP status. 0 means that the client left before the response.
func OutcomeOf(status int) string {
	switch {
	case status == 0 || status >= 500:
		return Failed
	case status >= 400:
		return Refused
	}
	return Done
}
