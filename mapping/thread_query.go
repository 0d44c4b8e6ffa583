package mapping

import "encoding/json"

// ThreadQuery selects threads by what is kept with them; all conditions must hold, and an empty field is none.
// Conditions on their states are for callers that read states: see adapter.ThreadSearch.
type ThreadQuery struct {
	IDs           []string
	Metadata      json.RawMessage // by containment
	Status        ThreadStatus
	SortBy        SortKey // SortByID, SortByStatus, SortByUpdated or SortByCreated, which "" is, too
	Asc           bool
	Limit, Offset int // Limit 0: all
}
