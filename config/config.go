// Package config is the bridge's configuration: one typed file with defaults,
// the environment and flags laid over it, and a validation that reports every
// complaint at once, each with its line.
package config

import "time"

// Config is the whole configuration, after defaults, file, environment and
// flags were merged. It is not changed after Load.
type Config struct {
	Listen         string           `yaml:"listen"`
	Admin          string           `yaml:"admin"`
	Database       string           `yaml:"database"`
	Synchronous    string           `yaml:"synchronous"` // full | normal
	ShutdownGrace  time.Duration    `yaml:"shutdown_grace"`
	DefaultAgent   string           `yaml:"default_agent"`
	Hosts          []string         `yaml:"hosts"`
	TrustedProxies []string         `yaml:"trusted_proxies"`
	Agents         map[string]Agent `yaml:"agents"`
	Limits         Limits           `yaml:"limits"`
	Retention      Retention        `yaml:"retention"`
	Webhooks       Webhooks         `yaml:"webhooks"`
	Auth           Auth             `yaml:"auth"`
	CORS           CORS             `yaml:"cors"`
	TLS            TLS              `yaml:"tls"`
}

// Agent is one agent the bridge stands in front of.
type Agent struct {
	URL             string            `yaml:"url"`
	Dialect         string            `yaml:"dialect"` // the name of one, or auto
	Assistant       string            `yaml:"assistant"`
	Headers         map[string]Secret `yaml:"headers"`
	Concurrency     int               `yaml:"concurrency"`
	Queue           int               `yaml:"queue"`
	MaxSteps        int               `yaml:"max_steps"`
	StepTimeout     time.Duration     `yaml:"step_timeout"`
	RunTimeout      time.Duration     `yaml:"run_timeout"`
	Retries         int               `yaml:"retries"`
	Approval        string            `yaml:"approval"`          // auto | ask | step
	Multitask       string            `yaml:"multitask_default"` // auto | reject | enqueue | interrupt | rollback
	AllowConcurrent bool              `yaml:"allow_concurrent"`
	Passthrough     bool              `yaml:"passthrough"`
	UpstreamThreads string            `yaml:"upstream_threads"` // keep | delete
	Stepping        Stepping          `yaml:"stepping"`
	Artifacts       Artifacts         `yaml:"artifacts"`
	Memory          Memory            `yaml:"memory"`
}

// Stepping is how v1 clients pull the steps of this agent's runs.
type Stepping struct {
	Mode          string        `yaml:"mode"` // auto | free | lockstep | run
	Idle          time.Duration `yaml:"idle"`
	DefaultAnswer string        `yaml:"default_answer"`
	FollowUp      bool          `yaml:"follow_up"`
}

// Artifacts is how files cross between an agent's state and artifacts.
type Artifacts struct {
	Path      string   `yaml:"path"`  // whole | folder
	Style     string   `yaml:"style"` // object | string
	Exclude   []string `yaml:"exclude"`
	MaxInline Bytes    `yaml:"max_inline"`
}

// Memory is what a task/step agent is told of its thread and the store.
type Memory struct {
	Transcript string   `yaml:"transcript"` // full | last | none
	Deliver    string   `yaml:"deliver"`    // prompt | additional_input | both
	Namespaces []string `yaml:"namespaces"`
	Writes     bool     `yaml:"writes"`
}

// Limits bound what requests, runs, queues and the database may take. Zero, which a
// configuration refuses for most of them, is no limit.
type Limits struct {
	Body     Bytes `yaml:"body"`
	Bodies   Bytes `yaml:"bodies"` // of all requests under way together
	Depth    int   `yaml:"depth"`
	Artifact Bytes `yaml:"artifact"`
	// UploadRate is how many bytes a second an upload must bring; 0: any number.
	UploadRate Bytes `yaml:"upload_rate"`
	Event      Bytes `yaml:"event"`
	Database   Bytes `yaml:"database"` // 0: what the disk holds

	// What one run may log, all attempts together; 0: any number.
	RunEvents int   `yaml:"run_events"`
	RunBytes  Bytes `yaml:"run_bytes"`

	// Runs that wait, of all agents and on one thread; 0: any number.
	Queue       int `yaml:"queue"`
	ThreadQueue int `yaml:"thread_queue"`

	// Of one input or state update.
	Files    int `yaml:"files"`
	Messages int `yaml:"messages"`
	Keys     int `yaml:"keys"`   // of a state
	States   int `yaml:"states"` // that a new thread may begin with

	Prune int `yaml:"prune"` // threads that one request may name
	Crons int `yaml:"crons"` // of a tenant
}

// Retention says how long what is no longer needed is kept; 0 is for ever.
type Retention struct {
	Events      time.Duration `yaml:"events"`
	Checkpoints time.Duration `yaml:"checkpoints"`
	Threads     time.Duration `yaml:"threads"`
}

// Webhooks configures deliveries.
type Webhooks struct {
	AllowPrivateNetworks bool   `yaml:"allow_private_networks"`
	Secret               Secret `yaml:"secret"`
}

// Auth configures who may call. Without keys every caller may, and only a loopback
// address may be listened on.
type Auth struct {
	Keys []Key `yaml:"keys"`
}

// Key is one API key and the principal it stands for.
type Key struct {
	ID     string   `yaml:"id"`
	Key    Secret   `yaml:"key"` // the key, or sha256:HEX of it
	Tenant string   `yaml:"tenant"`
	Agents []string `yaml:"agents"` // empty: all
	Rights []string `yaml:"rights"` // the only ones it has: metrics; empty: all that concern its tenant
	Queue  int      `yaml:"queue"`  // of its runs that wait; 0: any number
}

// CORS lists the browser origins that may call: scheme://host[:port] each, LoopbackOrigins or "*".
type CORS struct {
	Origins []string `yaml:"origins"`
}

// LoopbackOrigins stands in CORS.Origins for every page that this machine serves to itself,
// on any port of localhost, *.localhost or a loopback address.
const LoopbackOrigins = "loopback"

// TLS names the files of a certificate and its key, in PEM. Both or neither are set.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// On reports whether the bridge speaks TLS.
func (t TLS) On() bool { return t.Cert != "" }

// Bytes is a size; files write it as 16MiB, 1GiB or a plain number.
type Bytes int64

// Secret is a value that is never printed. Files write it in plain, or as
// env:NAME or file:PATH, resolved at Load.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[hidden]"
}

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }
