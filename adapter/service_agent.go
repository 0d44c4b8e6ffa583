package adapter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Assistants are the configured agents, which cannot be changed, and the assistants made from them: an agent with its
// own id, name and settings. Changing a configured agent is Invalid.
type Assistants interface {
	// GetAssistant returns an agent by config name or UUID, or an assistant by its UUID; "" is the default agent.
	GetAssistant(ctx context.Context, idOrName string) (mapping.Assistant, error)
	SearchAssistants(ctx context.Context, q AgentQuery) (agents []mapping.Assistant, total int, err error)
	AgentSchemas(ctx context.Context, idOrName string) (mapping.Schemas, error)
	// AgentGraph returns {nodes, edges} as LangGraph draws it. xray is "", "true" or a number, and determines the depth
	// to which it shows the graphs within nodes.
	AgentGraph(ctx context.Context, idOrName, xray string) (json.RawMessage, error)
	// AgentSubgraphs returns an object of schemas by namespace. Namespace "" means all; recurse includes nested ones.
	AgentSubgraphs(ctx context.Context, idOrName, namespace string, recurse bool) (json.RawMessage, error)

	// CreateAssistant makes version 1 of an assistant. An existing id is Conflict, unless n.OrGet.
	CreateAssistant(ctx context.Context, n AssistantRequest) (mapping.Assistant, error)
	// UpdateAssistant makes a new version and makes it the current one.
	UpdateAssistant(ctx context.Context, id string, p AssistantPatch) (mapping.Assistant, error)
	// DeleteAssistant removes an assistant with its versions and crons. If threads is true, it also removes the threads
	// with that metadata.assistant_id. It does not remove runs.
	DeleteAssistant(ctx context.Context, id string, threads bool) error
	// ListAssistantVersions returns versions, newest first.
	ListAssistantVersions(ctx context.Context, idOrName string, q VersionQuery) ([]mapping.Assistant, error)
	// SetAssistantVersion makes a version the current one.
	SetAssistantVersion(ctx context.Context, idOrName string, version int) (mapping.Assistant, error)
}

// AssistantRequest is a request for an assistant.
type AssistantRequest struct {
	ID                        string // "" for a new one
	Graph                     string // config name or UUID of an agent
	Name                      string // "" means the agent's
	Description               string
	Metadata, Config, Context json.RawMessage // objects; nil means {}
	OrGet                     bool            // return an existing one instead of 409
	IdempotencyKey            string
}

// AssistantPatch changes an assistant. nil fields remain unchanged.
type AssistantPatch struct {
	Graph, Name, Description *string
	Metadata                 json.RawMessage // merged key by key
	Config, Context          json.RawMessage // replaced
}

// VersionQuery filters the versions of an assistant.
type VersionQuery struct {
	Metadata      json.RawMessage // containment
	Limit, Offset int
}

// AgentQuery filters agents.
type AgentQuery struct {
	Name     string // case-insensitive substring
	Exact    bool   // Name must match completely
	Graph    string
	Metadata json.RawMessage
	// Configured excludes assistants made by clients.
	Configured bool
	SortBy     mapping.SortKey // SortByName, SortByAgent, SortByID, SortByUpdated or SortByCreated (default)
	Asc        bool
	Limit      int
	Offset     int
}

// Crons stores requests for runs that are repeated on a schedule.
type Crons interface {
	// CreateCron stores a cron. It refuses what StartRun would refuse now, except a busy thread. An invalid schedule or
	// time zone is Invalid.
	CreateCron(ctx context.Context, n CronRequest) (mapping.Cron, error)
	GetCron(ctx context.Context, id string) (mapping.Cron, error)
	SearchCrons(ctx context.Context, q CronQuery) (crons []mapping.Cron, total int, err error)
	// UpdateCron replaces a cron except its id, its thread and its agent.
	UpdateCron(ctx context.Context, id string, n CronRequest) (mapping.Cron, error)
	// DeleteCron removes a cron. It does not remove runs that it has made.
	DeleteCron(ctx context.Context, id string) error
}

// CronRequest is a request for a cron.
type CronRequest struct {
	// Run is started at every tick. Without a ThreadID it gets its own thread, which is deleted afterwards unless Keep
	// is set.
	Run      RunRequest
	Payload  json.RawMessage // the client's request for the run, verbatim
	Schedule string          // crontab(5): minute, hour, day of month, month, day of week
	Timezone string          // IANA name; "" is UTC
	Enabled  bool
	Keep     bool
	End      time.Time // no ticks after it; zero means no end
}

// CronQuery filters crons. All conditions must hold.
type CronQuery struct {
	Agent    string // config name or assistant UUID
	ThreadID string
	Enabled  *bool
	Metadata json.RawMessage // containment
	SortBy   mapping.SortKey // SortByID, SortByAssistant, SortByThread, SortByUpdated, SortByTick or SortByCreated (default)
	Asc      bool
	Limit    int
	Offset   int
}
