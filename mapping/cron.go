package mapping

import (
	"encoding/json"
	"time"
)

// Cron creates a run of an agent at every tick of a schedule.
type Cron struct {
	Tenant, Owner string
	ID            string
	ThreadID      string // "" if every run has its own thread
	Agent         string // config name
	AssistantID   string
	Schedule      string // minute, hour, day of month, month, day of week; or @hourly and the like
	Timezone      string // IANA name; "" means UTC
	Enabled       bool
	Keep          bool // the threads of its runs stay; only without ThreadID
	Metadata      json.RawMessage
	Payload       json.RawMessage // the client's request for the runs
	Run           json.RawMessage // the request for each run in the bridge's form
	Error         string          // why the newest tick created no run, or ""
	End           time.Time       // no ticks after it; zero means no end
	Next          time.Time       // next tick; zero means none
	CreatedAt     time.Time
	UpdatedAt     time.Time
}
