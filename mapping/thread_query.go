package mapping

import "encoding/json"

// ThreadQuery selects the threads whose stored properties meet all of its conditions. An empty field is not a
// condition. For conditions on states see adapter.ThreadSearch.
type ThreadQuery struct {
	IDs           []string
	Metadata      json.RawMessage // by containment
	Status        ThreadStatus
	SortBy        SortKey // SortByID, SortByStatus, SortByUpdated or SortByCreated; "" means SortByCreated
	Asc           bool
	OfOneRun      bool // includes threads of stateless runs, which are otherwise only found by id
	Limit, Offset int  // Limit 0 means all
}
