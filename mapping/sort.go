package mapping

// SortKey is the key by which a list is sorted. Each list supports some of them, and "" for its default order.
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
	SortByScore     SortKey = "score" // how well an item matches the query
)

// SearchBy is the method by which a query finds items.
type SearchBy string

// Without one of these a query uses both methods.
const (
	SearchByBoth    SearchBy = ""
	SearchByMeaning SearchBy = "meaning"
	SearchByWords   SearchBy = "words"
)
