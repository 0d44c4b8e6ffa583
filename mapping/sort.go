package mapping

// SortKey is what a list is sorted by. Each list has some of them, and an order of its own for the key "".
type SortKey string

const (
	SortByID        SortKey = "id"
	SortByKey       SortKey = "key" // of an item
	SortByName      SortKey = "name"
	SortByStatus    SortKey = "status"
	SortByAgent     SortKey = "agent"
	SortByAssistant SortKey = "assistant"
	SortByThread    SortKey = "thread"
	SortByCreated   SortKey = "created"
	SortByUpdated   SortKey = "updated"
	SortByTick      SortKey = "tick"  // the next one of a cron
	SortByScore     SortKey = "score" // how well an item fits what is searched for
)

// SearchBy is how a query finds items.
type SearchBy string

// A query finds items by both unless it asks for one.
const (
	SearchByBoth    SearchBy = ""
	SearchByMeaning SearchBy = "meaning"
	SearchByWords   SearchBy = "words"
)
