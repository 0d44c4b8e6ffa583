package mapping

import (
	"encoding/json"
	"time"
)

// RunQuery selects the runs that meet all of its conditions. An empty field is not a condition.
type RunQuery struct {
	ThreadID, TaskID string
	// Agent is a configured agent. A caller of adapter.Runs may also name an assistant; the store expects that in
	// Assistant.
	Agent, Assistant string
	Status           []RunStatus // one of these
	Metadata         json.RawMessage
	Owner            string // the id of the key that created it
	// Text is searched for, ignoring case, in the client's request, the metadata, the run's error and the ids of run,
	// thread and task. The agent's output is not searched.
	Text string
	// Since and Until bound the time of creation. Both are inclusive.
	Since, Until time.Time
	// Before continues a list with the runs created before this one. Zero starts with the newest.
	Before        RunMark
	OldestFirst   bool
	Limit, Offset int // Limit 0 means all
}

// RunMark is the position of a run in a list. It stays valid if the run is deleted.
type RunMark struct {
	RunID     string
	CreatedAt time.Time
}
