package mapping

import (
	"encoding/json"
	"time"
)

// Cron makes a run of an agent at every tick of a schedule.
type Cron struct {
	Tenant, Owner string
	ID            string
	ThreadID      string // "": every run has a thread of its own
	Agent         string // config name
	AssistantID   string
	Schedule      string // minute, hour, day of month, month, day of week; or @hourly and the like
	Timezone      string // IANA name; "" is UTC
	Enabled       bool
	Keep          bool // threads of its runs stay; without ThreadID only
	Metadata      json.RawMessage
	Payload       json.RawMessage // what the client sent of its runs
	Run           json.RawMessage // the request that every run is made by, in the bridge's own words
	Error         string          // why the newest tick made no run; "" when it did
	End           time.Time       // no ticks after it; zero: for ever
	Next          time.Time       // next tick; zero: none
	CreatedAt     time.Time
	UpdatedAt     time.Time
}
