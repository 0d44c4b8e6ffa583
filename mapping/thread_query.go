package mapping

import "encoding/json"

// ThreadQuery selects threads by stored properties. They must fulfil all conditions, and an empty field is not a
// condition. For conditions on states see adapter.ThreadSearch.
type ThreadQuery struct {
	IDs           []string
	Metadata      json.RawMessage // by containment
	Status        ThreadStatus
	SortBy        SortKey // SortByID, SortByStatus, SortByUpdated or SortByCreated; "" means SortByCreated
	Asc           bool
	Limit, Offset int // Limit 0 means all
}
