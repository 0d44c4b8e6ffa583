// Package config defines the bridge's configuration. It is one typed file with defaults, overridden by the environment
// and flags. Validation reports all problems at once, each with its line. The commands load the configuration. Faces,
// backends, the engine and the guards receive their parts. The package opens no database and calls no agent.
//
// Load walks the YAML tree itself instead of merging maps. This way every problem has a line, all problems are reported
// together, the environment and flags use the same decoder, and agents start from DefaultAgent. Secrets are resolved at
// load and hidden from printing and encoding.
//
// A Config never changes, so a reload creates a new one. Take compares it with the old one and keeps the keys of parts
// that are created once. The engine holds configuration and agents behind one atomic pointer, which the service and the
// background work also use. The server holds its guards and the faces' routes behind another. The bridge creates
// everything first and replaces the engine's value before the server's, so that no route names an agent that does not
// exist yet. The limiter and the sender of webhooks get their parts between the two. Running work continues with its
// old parts: an execution with its agent, a request with its handler. A changed agent is dialled again and shares the
// slots of the old one.
package config

import (
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping/credential"
)

// Config is the whole configuration, merged from defaults, file, environment and flags. It does not change after Load;
// Take returns a new one. A choice tag lists the allowed values of its key.
type Config struct {
	Listen         string           `yaml:"listen"`
	Admin          string           `yaml:"admin"`
	Database       string           `yaml:"database"`
	Synchronous    string           `yaml:"synchronous" choice:"full normal"`
	SecureDelete   bool             `yaml:"secure_delete"` // for a SQLite file
	Encryption     Encryption       `yaml:"encryption"`
	ShutdownGrace  time.Duration    `yaml:"shutdown_grace"`
	DefaultAgent   string           `yaml:"default_agent"`
	Hosts          []string         `yaml:"hosts"`
	TrustedProxies []string         `yaml:"trusted_proxies"`
	Agents         map[string]Agent `yaml:"agents"`
	Limits         Limits           `yaml:"limits"`
	Retention      Retention        `yaml:"retention"`
	Store          Store            `yaml:"store"`
	Webhooks       Webhooks         `yaml:"webhooks"`
	Auth           Auth             `yaml:"auth"`
	CORS           CORS             `yaml:"cors"`
	TLS            TLS              `yaml:"tls"`
	Log            Log              `yaml:"log"`
	Audit          Audit            `yaml:"audit"`
	Inspector      Inspector        `yaml:"inspector"`
	A2A            A2A              `yaml:"a2a"`
}

// A2A configures how agents are exposed to A2A clients.
type A2A struct {
	Enabled    bool `yaml:"enabled"`
	Legacy     bool `yaml:"legacy"`      // serve version 0.3, too
	PublicCard bool `yaml:"public_card"` // agent cards need no key
	// Media types of the card. A message with a part of another type is refused. "*" stands for any subtype.
	InputModes  []string `yaml:"input_modes"`
	OutputModes []string `yaml:"output_modes"`
	MaxInline   Bytes    `yaml:"max_inline"` // larger files of an answer are links
}

// Inspector configures the inspector's pages. A file may have the mode alone in its place.
type Inspector struct {
	// In mode auto the pages are served next to the clients' routes, and on the admin listener if there is one. In mode
	// admin they are served only there.
	Mode string `yaml:"mode" choice:"auto admin off" alone:"true"`
	// Capture selects the runs whose agents' calls are kept: failed ones, all, or none.
	Capture string `yaml:"capture" choice:"off errors all"`
}

// Log configures the output to standard error. The format auto means console on a terminal, and json otherwise. Both
// can be changed on the admin listener without a restart.
type Log struct {
	Level  string `yaml:"level" choice:"debug info warn error"`
	Format string `yaml:"format" choice:"auto json console"`
}

// Audit configures the log of operations with their callers, which is separate from Log.
type Audit struct {
	File    string `yaml:"file"`     // "-" means standard output, "" means no log
	MaxSize Bytes  `yaml:"max_size"` // of a file, before the next one is started; 0 means no limit
	Keep    int    `yaml:"keep"`     // number of older files; 0 means all
	Reads   bool   `yaml:"reads"`    // also log operations that only read
}

// Agent configures one agent.
type Agent struct {
	URL                   string            `yaml:"url"`
	Description           string            `yaml:"description"` // of the A2A card; "" for a general one
	Dialect               string            `yaml:"dialect"`     // the name of a dialect, or auto
	Assistant             string            `yaml:"assistant"`
	Headers               map[string]Secret `yaml:"headers"`
	TLS                   AgentTLS          `yaml:"tls"`
	Concurrency           int               `yaml:"concurrency"`
	Queue                 int               `yaml:"queue"`
	MaxSteps              int               `yaml:"max_steps"` // 0 means 100 for a task/step agent, and no limit for a thread/run agent
	StepTimeout           time.Duration     `yaml:"step_timeout"`
	RunTimeout            time.Duration     `yaml:"run_timeout"`
	Retries               int               `yaml:"retries"`
	Approval              string            `yaml:"approval" choice:"auto ask step"`
	AnswerByMessage       string            `yaml:"answer_by_message" choice:"questions never"`
	Multitask             string            `yaml:"multitask_default" choice:"auto reject enqueue interrupt rollback"`
	AllowConcurrent       bool              `yaml:"allow_concurrent"`
	Passthrough           bool              `yaml:"passthrough"`
	DeleteUpstreamThreads bool              `yaml:"delete_upstream_threads"`
	Stepping              Stepping          `yaml:"stepping"`
	Artifacts             Artifacts         `yaml:"artifacts"`
	Memory                Memory            `yaml:"memory"`
}

// Stepping configures how v1 clients request the steps of this agent's runs.
type Stepping struct {
	Mode         string        `yaml:"mode" choice:"auto free lockstep run"`
	Idle         time.Duration `yaml:"idle"`
	AutoAnswer   string        `yaml:"auto_answer"`
	FollowUpRuns bool          `yaml:"follow_up_runs"`
}

// Artifacts configures the translation between an agent's files and artifacts.
type Artifacts struct {
	Path      string   `yaml:"path" choice:"whole folder"`
	Style     string   `yaml:"style" choice:"object string"`
	Exclude   []string `yaml:"exclude"`
	MaxInline Bytes    `yaml:"max_inline"`
}

// Memory configures an agent's use of the store, and a task/step agent's transcript.
type Memory struct {
	History     string   `yaml:"history" choice:"full last none"`
	Mode        string   `yaml:"mode" choice:"prompt additional_input both"`
	MaxBytes    Bytes    `yaml:"max_bytes"`
	Namespaces  []string `yaml:"namespaces"`
	MaxItems    int      `yaml:"max_items"` // 0 means all items of the namespaces
	AllowWrites bool     `yaml:"allow_writes"`
	// StoreURL is the bridge's address for the agent. If it is set, the agent's runs get a token for the store.
	StoreURL string `yaml:"store_url"`
}

// Limits bound requests, runs, queues and the database. Zero means no limit, which most keys refuse.
type Limits struct {
	Body          Bytes `yaml:"body"`
	RequestMemory Bytes `yaml:"request_memory"` // of all requests in progress together
	MaxJSONDepth  int   `yaml:"max_json_depth"`
	Artifact      Bytes `yaml:"artifact"`
	// UploadRate is the minimum number of bytes per second of an upload; 0 means none.
	UploadRate Bytes `yaml:"upload_rate"`
	Event      Bytes `yaml:"event"`
	Database   Bytes `yaml:"database"` // 0 means the size of the disk

	// Events and bytes that one run may log, in all attempts together; 0 means no limit.
	RunEvents int   `yaml:"run_events"`
	RunBytes  Bytes `yaml:"run_bytes"`

	// Waiting runs, of all agents and on one thread; 0 means no limit.
	Queue       int `yaml:"queue"`
	ThreadQueue int `yaml:"thread_queue"`

	// In one input or state update.
	MaxFilesPerRequest int `yaml:"max_files_per_request"`
	Messages           int `yaml:"messages"`
	MaxStateKeys       int `yaml:"max_state_keys"` // of a state
	MaxSupersteps      int `yaml:"max_supersteps"` // for the history of a new thread

	MaxPruneThreads int `yaml:"max_prune_threads"` // threads in one request
	Crons           int `yaml:"crons"`             // of a tenant

	// Tenant limits each tenant. Tenants replaces it for some, by name.
	Tenant  Allowance            `yaml:"tenant"`
	Tenants map[string]Allowance `yaml:"tenants"`
}

// Retention configures how long data is kept. 0 means forever.
type Retention struct {
	Events      time.Duration `yaml:"events"`
	Checkpoints time.Duration `yaml:"checkpoints"`
	Threads     time.Duration `yaml:"threads"`
	// Stateless is how long the thread of a stateless run is kept after the run. Failed is the same for a failed run,
	// regardless of its client's request. 0 means a few seconds.
	Stateless time.Duration `yaml:"stateless"`
	Failed    time.Duration `yaml:"failed"`
}

// Store configures the long-term store.
type Store struct {
	Agent       string `yaml:"agent"` // the agent whose store is used; "" means the bridge's own
	Index       Index  `yaml:"index"`
	VectorCache Bytes  `yaml:"vector_cache"` // of all tenants together
	TTL         TTL    `yaml:"ttl"`
}

// TTL configures the life of items. Its keys are those below store.ttl in LangGraph's langgraph.json.
type TTL struct {
	Default       int  `yaml:"default_ttl"` // in minutes, for an item whose PUT specifies none; 0 means forever
	RefreshOnRead bool `yaml:"refresh_on_read"`
	Sweep         int  `yaml:"sweep_interval_minutes"`
}

// Index configures vectors of items. Dims, Embed and Fields are those below store.index in LangGraph's langgraph.json.
type Index struct {
	Dims           int               `yaml:"dims"`
	Embed          string            `yaml:"embed"` // provider:model; "" means no vectors
	Fields         []string          `yaml:"fields"`
	URL            string            `yaml:"url"` // base of /embeddings; "" means the provider's
	Key            Secret            `yaml:"key"`
	APIVersion     string            `yaml:"api_version"` // for Azure's deployments; "" for others
	Headers        map[string]Secret `yaml:"headers"`
	QueryPrefix    string            `yaml:"query_prefix"`
	DocumentPrefix string            `yaml:"document_prefix"`
	Batch          int               `yaml:"batch"`       // texts of one request
	BatchBytes     Bytes             `yaml:"batch_bytes"` // of the texts in one request
	Timeout        time.Duration     `yaml:"timeout"`     // of one request
}

// On reports whether items have vectors.
func (i Index) On() bool { return i.Embed != "" }

// Provider returns the first half of Embed.
func (i Index) Provider() string {
	provider, _, _ := strings.Cut(i.Embed, ":")
	return provider
}

// Model returns the provider's name of the model.
func (i Index) Model() string {
	_, model, _ := strings.Cut(i.Embed, ":")
	return model
}

// Webhooks configures the delivery of webhooks.
type Webhooks struct {
	AllowPrivateNetworks bool     `yaml:"allow_private_networks"`
	Hosts                []string `yaml:"hosts"` // allowed hosts, see MayCall; empty means any
	Secret               Secret   `yaml:"secret"`
	PreviousSecret       Secret   `yaml:"previous_secret"` // also signs, until receivers know Secret
}

// CORS lists the browser origins that may call the bridge: scheme://host[:port], LoopbackOrigins or "*".
type CORS struct {
	Origins []string `yaml:"origins"`
}

// LoopbackOrigins in CORS.Origins allows every page that is served from this machine, on any port of localhost,
// *.localhost or a loopback address.
const LoopbackOrigins = "loopback"

// TLS names the PEM files of a certificate and its key. Either both or neither are set.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ClientCA is a PEM file of the authorities for client certificates. If it is "", no client certificate is
	// requested.
	ClientCA string `yaml:"client_ca"`
}

// On reports whether the bridge uses TLS.
func (t TLS) On() bool { return t.Cert != "" }

// Bytes is a size. Files write it as 16MiB, 1GiB or a plain number.
type Bytes int64

// Secret is a value that is never printed. Files write it verbatim, or as env:NAME or file:PATH, which Load resolves.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return credential.HiddenText
}

// Reveal returns the secret.
func (s Secret) Reveal() string { return string(s) }
