// Package config is the bridge's configuration: one typed file with defaults, the environment and flags laid over it,
// and a validation that reports every complaint at once, each with its line. The commands load it; faces, backends, the
// engine and the guards read the parts that they are given. It opens no database and calls no agent.
//
// Load walks the YAML tree itself instead of merging maps. So every complaint has its line, all are reported together,
// environment and flags go through the same decoder, and agents start from DefaultAgent. Secrets are resolved at load
// and hide themselves from printing and encoding.
//
// A reload makes a new value and replaces the old one; no Config changes. Take compares the two and keeps the keys of
// parts that are made once. The engine holds configuration and agents by one atomic pointer, which the service and the
// chores ask as well; the server holds its guards and the routes of the faces by another. The bridge makes everything
// first and replaces the engine's value before the server's, so that no route names an agent that is not there yet. The
// limiter and the sender of webhooks get their parts between the two. Work goes on with what it began with: an
// execution with its agent, a request with its handler. An agent that changes is dialled anew and shares the slots of
// the one before.
package config

import (
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping/credential"
)

// Config is the whole configuration, after defaults, file, environment and flags were merged. It is not changed after
// Load; Take makes another of it. A choice tag has the values that its key may have.
type Config struct {
	Listen         string           `yaml:"listen"`
	Admin          string           `yaml:"admin"`
	Database       string           `yaml:"database"`
	Synchronous    string           `yaml:"synchronous" choice:"full normal"`
	SecureDelete   bool             `yaml:"secure_delete"` // of a SQLite file
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
}

// Inspector are the pages that people look into the bridge with. A single value in its place is the mode.
type Inspector struct {
	// Mode auto serves them where clients are served, and on the admin listener, if there is one; admin there alone.
	Mode string `yaml:"mode" choice:"auto admin off" alone:"true"`
	// Capture is of which runs the calls of their agents are kept: of those that failed, of all, or of none.
	Capture string `yaml:"capture" choice:"off errors all"`
}

// Log is what is written to standard error; the format auto is console on a terminal, else json. Both may be changed
// while the bridge serves, on the admin listener.
type Log struct {
	Level  string `yaml:"level" choice:"debug info warn error"`
	Format string `yaml:"format" choice:"auto json console"`
}

// Audit is the log of operations with their callers, apart from Log.
type Audit struct {
	File    string `yaml:"file"`     // "-" is standard output; "": none is kept
	MaxSize Bytes  `yaml:"max_size"` // of the file before the next is begun; 0: any size
	Keep    int    `yaml:"keep"`     // files that are kept besides; 0: all
	Reads   bool   `yaml:"reads"`    // what only reads is logged, too
}

// Agent is one agent the bridge stands in front of.
type Agent struct {
	URL                   string            `yaml:"url"`
	Dialect               string            `yaml:"dialect"` // the name of one, or auto
	Assistant             string            `yaml:"assistant"`
	Headers               map[string]Secret `yaml:"headers"`
	TLS                   AgentTLS          `yaml:"tls"`
	Concurrency           int               `yaml:"concurrency"`
	Queue                 int               `yaml:"queue"`
	MaxSteps              int               `yaml:"max_steps"` // 0: 100 for a task/step agent, any number for a thread/run agent
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

// Stepping is how v1 clients pull the steps of this agent's runs.
type Stepping struct {
	Mode         string        `yaml:"mode" choice:"auto free lockstep run"`
	Idle         time.Duration `yaml:"idle"`
	AutoAnswer   string        `yaml:"auto_answer"`
	FollowUpRuns bool          `yaml:"follow_up_runs"`
}

// Artifacts is how files cross between an agent's state and artifacts.
type Artifacts struct {
	Path      string   `yaml:"path" choice:"whole folder"`
	Style     string   `yaml:"style" choice:"object string"`
	Exclude   []string `yaml:"exclude"`
	MaxInline Bytes    `yaml:"max_inline"`
}

// Memory is what an agent is told of the store, and a task/step agent of its thread.
type Memory struct {
	History     string   `yaml:"history" choice:"full last none"`
	Mode        string   `yaml:"mode" choice:"prompt additional_input both"`
	MaxBytes    Bytes    `yaml:"max_bytes"`
	Namespaces  []string `yaml:"namespaces"`
	MaxItems    int      `yaml:"max_items"` // 0: all items of the namespaces
	AllowWrites bool     `yaml:"allow_writes"`
	// StoreURL is where the agent finds the bridge. Its runs then get a token for the store. "": they get none.
	StoreURL string `yaml:"store_url"`
}

// Limits bound what requests, runs, queues and the database may take. Zero, which a configuration refuses for most of
// them, is no limit.
type Limits struct {
	Body          Bytes `yaml:"body"`
	RequestMemory Bytes `yaml:"request_memory"` // of all requests under way together
	MaxJSONDepth  int   `yaml:"max_json_depth"`
	Artifact      Bytes `yaml:"artifact"`
	// UploadRate is how many bytes a second an upload must bring; 0: any number.
	UploadRate Bytes `yaml:"upload_rate"`
	Event      Bytes `yaml:"event"`
	Database   Bytes `yaml:"database"` // 0: what the disk holds

	// Events and bytes that one run may log, all attempts together; 0: any number.
	RunEvents int   `yaml:"run_events"`
	RunBytes  Bytes `yaml:"run_bytes"`

	// Runs that wait, of all agents and on one thread; 0: any number.
	Queue       int `yaml:"queue"`
	ThreadQueue int `yaml:"thread_queue"`

	// Of one input or state update.
	MaxFilesPerRequest int `yaml:"max_files_per_request"`
	Messages           int `yaml:"messages"`
	MaxStateKeys       int `yaml:"max_state_keys"` // of a state
	MaxSupersteps      int `yaml:"max_supersteps"` // that a new thread may begin with

	MaxPruneThreads int `yaml:"max_prune_threads"` // threads that one request may name
	Crons           int `yaml:"crons"`             // of a tenant

	// Tenant is what each tenant may use, and Tenants what some may in its place, by name.
	Tenant  Allowance            `yaml:"tenant"`
	Tenants map[string]Allowance `yaml:"tenants"`
}

// Retention says how long what is no longer needed is kept; 0 is for ever.
type Retention struct {
	Events      time.Duration `yaml:"events"`
	Checkpoints time.Duration `yaml:"checkpoints"`
	Threads     time.Duration `yaml:"threads"`
	// Stateless is how long the thread of a stateless run stays after the run, and Failed the same of a run that failed,
	// whatever its client said; 0: some seconds.
	Stateless time.Duration `yaml:"stateless"`
	Failed    time.Duration `yaml:"failed"`
}

// Store is what the long-term store does besides keeping items.
type Store struct {
	Agent       string `yaml:"agent"` // whose store it is; "": the bridge's own
	Index       Index  `yaml:"index"`
	VectorCache Bytes  `yaml:"vector_cache"` // of all tenants together
	TTL         TTL    `yaml:"ttl"`
}

// TTL says how long items are kept. Its keys are LangGraph's, as they stand below store.ttl in a langgraph.json.
type TTL struct {
	Default       int  `yaml:"default_ttl"` // minutes of an item whose PUT names none; 0: for ever
	RefreshOnRead bool `yaml:"refresh_on_read"`
	Sweep         int  `yaml:"sweep_interval_minutes"`
}

// Index says how items become vectors. Dims, Embed and Fields are LangGraph's, as they stand below store.index in a
// langgraph.json.
type Index struct {
	Dims           int               `yaml:"dims"`
	Embed          string            `yaml:"embed"` // provider:model; "": no vectors are made
	Fields         []string          `yaml:"fields"`
	URL            string            `yaml:"url"` // that /embeddings is appended to; "": the provider's
	Key            Secret            `yaml:"key"`
	APIVersion     string            `yaml:"api_version"` // of Azure's deployments; "": not asked so
	Headers        map[string]Secret `yaml:"headers"`
	QueryPrefix    string            `yaml:"query_prefix"`
	DocumentPrefix string            `yaml:"document_prefix"`
	Batch          int               `yaml:"batch"`       // texts of one request
	BatchBytes     Bytes             `yaml:"batch_bytes"` // of the texts of one request
	Timeout        time.Duration     `yaml:"timeout"`     // of one request
}

// On reports whether vectors are made.
func (i Index) On() bool { return i.Embed != "" }

// Provider returns the first half of Embed.
func (i Index) Provider() string {
	provider, _, _ := strings.Cut(i.Embed, ":")
	return provider
}

// Model returns what the provider calls the model.
func (i Index) Model() string {
	_, model, _ := strings.Cut(i.Embed, ":")
	return model
}

// Webhooks configures deliveries.
type Webhooks struct {
	AllowPrivateNetworks bool     `yaml:"allow_private_networks"`
	Hosts                []string `yaml:"hosts"` // which may be called, as MayCall says; empty: any
	Secret               Secret   `yaml:"secret"`
	PreviousSecret       Secret   `yaml:"previous_secret"` // signs besides, until receivers know Secret
}

// CORS lists the browser origins that may call: scheme://host[:port] each, LoopbackOrigins or "*".
type CORS struct {
	Origins []string `yaml:"origins"`
}

// LoopbackOrigins stands in CORS.Origins for every page that this machine serves to itself, on any port of localhost,
// *.localhost or a loopback address.
const LoopbackOrigins = "loopback"

// TLS names the files of a certificate and its key, in PEM. Both or neither are set.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ClientCA are the authorities, in PEM, of which clients must show a certificate; "": none is asked for.
	ClientCA string `yaml:"client_ca"`
}

// On reports whether the bridge speaks TLS.
func (t TLS) On() bool { return t.Cert != "" }

// Bytes is a size; files write it as 16MiB, 1GiB or a plain number.
type Bytes int64

// Secret is a value that is never printed. Files write it in plain, or as env:NAME or file:PATH, resolved at Load.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return credential.HiddenText
}

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }
