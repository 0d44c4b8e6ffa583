package adapter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Assistants are the configured agents, which cannot be changed, and what is made over them: the same agent under an
// id, a name and with settings of its own. Changing a configured agent is Invalid.
type Assistants interface {
	// GetAssistant returns an agent by config name or UUID, or an assistant by its UUID; "" is the default agent.
	GetAssistant(ctx context.Context, idOrName string) (mapping.Assistant, error)
	SearchAssistants(ctx context.Context, q AgentQuery) (agents []mapping.Assistant, total int, err error)
	AgentSchemas(ctx context.Context, idOrName string) (mapping.Schemas, error)
	// AgentGraph returns {nodes, edges} as LangGraph draws it. xray, which is "", "true" or a number, says how deep it
	// shows what nodes are made of.
	AgentGraph(ctx context.Context, idOrName, xray string) (json.RawMessage, error)
	// AgentSubgraphs returns an object of schemas by namespace. Namespace "" means all; recurse includes those within
	// them.
	AgentSubgraphs(ctx context.Context, idOrName, namespace string, recurse bool) (json.RawMessage, error)

	// CreateAssistant makes version 1 of an assistant. An id that is taken is Conflict, unless n.OrGet.
	CreateAssistant(ctx context.Context, n AssistantRequest) (mapping.Assistant, error)
	// UpdateAssistant makes a further version and makes it the current one.
	UpdateAssistant(ctx context.Context, id string, p AssistantPatch) (mapping.Assistant, error)
	// DeleteAssistant removes an assistant with its versions and crons. If threads is true, it also removes the threads
	// with that metadata.assistant_id. Its runs stay.
	DeleteAssistant(ctx context.Context, id string, threads bool) error
	// ListAssistantVersions returns versions, newest first.
	ListAssistantVersions(ctx context.Context, idOrName string, q VersionQuery) ([]mapping.Assistant, error)
	// SetAssistantVersion makes a version the current one.
	SetAssistantVersion(ctx context.Context, idOrName string, version int) (mapping.Assistant, error)
}

// AssistantRequest is a request for an assistant.
type AssistantRequest struct {
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
	// CreateCron keeps a cron. It refuses what StartRun would refuse now, but for a thread that is busy. An unreadable
	// schedule or time zone is Invalid.
	CreateCron(ctx context.Context, n CronRequest) (mapping.Cron, error)
	GetCron(ctx context.Context, id string) (mapping.Cron, error)
	SearchCrons(ctx context.Context, q CronQuery) (crons []mapping.Cron, total int, err error)
	// UpdateCron replaces all of a cron but its id, its thread and its agent.
	UpdateCron(ctx context.Context, id string, n CronRequest) (mapping.Cron, error)
	// DeleteCron removes a cron. Runs it has made stay.
	DeleteCron(ctx context.Context, id string) error
}

// CronRequest is a request for a cron.
type CronRequest struct {
	// Run is made at every tick. Without a ThreadID it has a thread of its own, deleted after it unless Keep is set.
	Run      RunRequest
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
