package adapter

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Items is the long-term store.
type Items interface {
	PutItem(ctx context.Context, p PutItem) error
	GetItem(ctx context.Context, namespace []string, key string, refreshTTL *bool) (mapping.Item, error)
	DeleteItem(ctx context.Context, namespace []string, key string) error
	// Search reads what it yields a few items at a time, as long items are many bytes.
	SearchItems(ctx context.Context, q ItemQuery) iter.Seq2[mapping.Item, error]
	ListNamespaces(ctx context.Context, q NamespaceQuery) ([][]string, error)
}

// ItemKeeper is a backend whose agent has a long-term store of its own. Optional.
type ItemKeeper interface {
	// Items returns it. Whoever may call the agent reaches all of it: it knows no tenants, and no namespaces of callers.
	// It fails with not_supported where the agent's server has no store, and for what that cannot do.
	Items() Items
}

// PutItem is an item to be written.
type PutItem struct {
	Namespace []string
	Key       string
	Value     json.RawMessage // an object
	Index     json.RawMessage // nil: default; false: none; or a list of paths
	TTL       time.Duration   // 0: as the bridge is configured
	Lost      Lost
}

// ItemQuery searches items. Filter is an object of equalities and operators ($eq $ne $gt $gte $lt $lte $in $nin $exists),
// and of lists of such objects under $or and $and.
type ItemQuery struct {
	Prefix        []string
	Filter        json.RawMessage
	Query         string
	SearchBy      mapping.SearchBy // with a query
	SortBy        mapping.SortKey  // SortByKey, SortByCreated, SortByUpdated, or, with a query, SortByScore; "": the score, or without a query SortByUpdated
	Asc           bool
	Limit, Offset int
	RefreshTTL    *bool // nil: as the bridge is configured
	Lost          Lost
}

// Lost is told, before anything is answered, that a field of a request means less than its document says: an index
// without embeddings, a query that is answered by words alone. nil: not reported.
type Lost func(mapping.Loss)

// Approximated reports a field that is followed in part. It does nothing on a nil Lost.
func (l Lost) Approximated(field string) {
	if l != nil {
		l(mapping.Loss{Field: field, Fate: mapping.Approximated})
	}
}

// NamespaceQuery lists namespaces; "*" matches one label.
type NamespaceQuery struct {
	Prefix, Suffix []string
	MaxDepth       int // 0: no limit
	Limit, Offset  int
}

// Agents describes the configured agents, and the assistants made over them.
type Agents interface {
	// Resolve finds an agent by config name or UUID, or an assistant by its UUID; "" is the default agent.
	GetAssistant(ctx context.Context, idOrName string) (mapping.Assistant, error)
	SearchAssistants(ctx context.Context, q AgentQuery) (agents []mapping.Assistant, total int, err error)
	AgentSchemas(ctx context.Context, idOrName string) (mapping.Schemas, error)
	// Graph is {nodes, edges} as LangGraph draws it; xray, "" or "true" or a number, says how deep it shows what nodes
	// are made of.
	AgentGraph(ctx context.Context, idOrName, xray string) (json.RawMessage, error)
	// Subgraphs is an object of schemas by namespace; namespace "" names all, recurse those within them too.
	AgentSubgraphs(ctx context.Context, idOrName, namespace string, recurse bool) (json.RawMessage, error)
}

// Assistants are made over configured agents: the same agent under an id, a name and with settings of their own.
// Configured agents are assistants too, which cannot be changed: that is Invalid.
type Assistants interface {
	// Create makes version 1 of an assistant.
	CreateAssistant(ctx context.Context, n NewAssistant) (mapping.Assistant, error)
	// Update makes a further version and makes it the current one.
	UpdateAssistant(ctx context.Context, id string, p AssistantPatch) (mapping.Assistant, error)
	// Delete removes an assistant with its versions and crons, and with threads the threads whose metadata.assistant_id
	// it is. Its runs stay.
	DeleteAssistant(ctx context.Context, id string, threads bool) error
	// Versions lists versions, newest first.
	ListAssistantVersions(ctx context.Context, idOrName string, q VersionQuery) ([]mapping.Assistant, error)
	// SetLatest makes a version the current one.
	SetAssistantVersion(ctx context.Context, idOrName string, version int) (mapping.Assistant, error)
}

// NewAssistant is a request for an assistant.
type NewAssistant struct {
	ID                        string // "": a fresh one
	Graph                     string // config name or UUID of an agent
	Name                      string // "": that of the agent
	Description               string
	Metadata, Config, Context json.RawMessage // objects; nil: {}
	OrGet                     bool            // one that is there already is answered, instead of refused with 409
	IdempotencyKey            string
}

// AssistantPatch changes an assistant; nil fields stay.
type AssistantPatch struct {
	Graph, Name, Description *string
	Metadata                 json.RawMessage // merged key by key
	Config, Context          json.RawMessage // instead of what was there
}

// VersionQuery filters the versions of an assistant.
type VersionQuery struct {
	Metadata      json.RawMessage // containment
	Limit, Offset int
}

// AgentQuery filters agents.
type AgentQuery struct {
	Name     string // case-insensitive substring
	Exact    bool   // Name must match whole
	Graph    string
	Metadata json.RawMessage
	// Configured leaves out what clients have made.
	Configured bool
	SortBy     mapping.SortKey // SortByName, SortByAgent, SortByID, SortByUpdated or SortByCreated, which "" is, too
	Asc        bool
	Limit      int
	Offset     int
}

// Crons keeps requests for runs that are repeated by the clock.
type Crons interface {
	// Create keeps a cron. What could not be run now is refused as StartRun would refuse it, but for a thread that is
	// busy. An unreadable schedule or time zone is Invalid.
	CreateCron(ctx context.Context, n NewCron) (mapping.Cron, error)
	GetCron(ctx context.Context, id string) (mapping.Cron, error)
	SearchCrons(ctx context.Context, q CronQuery) (crons []mapping.Cron, total int, err error)
	// Update replaces all of a cron but its id, its thread and its agent.
	UpdateCron(ctx context.Context, id string, n NewCron) (mapping.Cron, error)
	// Delete removes a cron; runs it has made stay.
	DeleteCron(ctx context.Context, id string) error
}

// NewCron is a request for a cron.
type NewCron struct {
	// Run is made at every tick. Without a ThreadID it has a thread of its own, deleted after it unless Keep is set.
	Run      NewRun
	Payload  json.RawMessage // what the client sent of the run, verbatim
	Schedule string          // crontab(5): minute, hour, day of month, month, day of week
	Timezone string          // IANA name; "" is UTC
	Enabled  bool
	Keep     bool
	End      time.Time // no ticks after it; zero: for ever
}

// CronQuery filters crons: all conditions must hold.
type CronQuery struct {
	Agent    string // config name or assistant UUID
	ThreadID string
	Enabled  *bool
	Metadata json.RawMessage // containment
	SortBy   mapping.SortKey // SortByID, SortByAssistant, SortByThread, SortByUpdated, SortByTick or SortByCreated, which "" is, too
	Asc      bool
	Limit    int
	Offset   int
}
