package mapping

import (
	"encoding/json"
	"time"
)

// RunQuery selects runs; all conditions must hold, and an empty field is none.
type RunQuery struct {
	ThreadID, TaskID string
	// Agent is a configured agent. A caller of adapter.Runs may name one as requests do, or an assistant, which the
	// store is asked for by Assistant.
	Agent, Assistant string
	Status           []RunStatus // one of these
	Metadata         json.RawMessage
	Owner            string // the id of the key that made it
	// Text is looked for, in either case, in what the client sent, in the metadata, in the error of the run and in the
	// ids of run, thread and task. What the agent said is not searched.
	Text string
	// Since and Until bound when the run was made, both with the moment itself.
	Since, Until time.Time
	// Before continues a list: runs that were made before that one. Zero: from the newest.
	Before        RunMark
	OldestFirst   bool
	Limit, Offset int // Limit 0: all
}

// RunMark is the place of a run in a list, which outlives the run.
type RunMark struct {
	RunID     string
	CreatedAt time.Time
}
