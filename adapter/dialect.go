package adapter

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Dialect is one agent protocol: a value per folder, listed in a table (Dialects). Fields that do not apply may be nil.
type Dialect struct {
	Name string
	// Aliases are other names that people type for it.
	Aliases []string
	// Paths are the paths of the face, each including everything below it. A part in braces stands for any one part.
	// Paths of an earlier dialect in the table are excluded.
	Paths []string
	// PublicPaths are those of Paths that need no key. A part in braces stands for any one part that is not empty.
	// Paths below a public path are not public.
	PublicPaths []string
	// Section returns the dialect's own section of the configuration, which its face gets as Face.Section. It may be nil.
	Section func(cfg *config.Config) any
	// Private reports whether the configuration makes PublicPaths need a key, like the other paths. nil: it cannot.
	Private func(cfg *config.Config) bool
	// Runs are patterns of paths within Paths that name a run: the part "{run}" stands for its id. Paths below also
	// belong to that run.
	Runs []string
	// Store are those of Paths that belong to the long-term store.
	Store []string
	// Mount adds the face's routes to r, which gets only requests for Paths. The face refuses those that match no
	// route. If it is nil, the dialect cannot be served.
	Mount func(r *mux.Router, svc Service, face Face)
	// Effect returns the effect of a route, given its method and path template. ok is false if it is not an operation.
	// If it is nil, the audit log uses the methods, and no route is known to end work.
	Effect func(method, template string) (e Effect, ok bool)
	// Refusal returns the body, to be encoded as JSON, for refusals before a request has reached the face: a wrong key,
	// a bad path, a body that is too large. If it is nil, a body that belongs to no dialect is used.
	Refusal func(e *mapping.Error) any
	// Fields are the documented fields of the face's requests.
	Fields []mapping.RequestField
	// Documents describe the face's operations.
	Documents []Document
	// Speaks is a short description of the protocol of the face's clients, for display. Chooses describes the place
	// where they name the agent. If it is "", the pages do not show it.
	Speaks, Chooses string
	// Temporary are name patterns of the files that a killed process leaves in the system's temporary folder.
	Temporary []string
	// ArtifactPath returns the path at which the face serves the bytes of a task's artifact. If it is nil, the face
	// serves no artifacts.
	ArtifactPath func(agent, taskID, artifactID string) string
	// Flavours are the variants in which the face creates runs. Hook returns the request for the webhook of such a run
	// or for a hook with one of the flavours. It may be nil if no request of the face can set webhooks or hooks.
	Flavours []Flavour
	Hook     func(n HookNotice) (HookPost, error)

	// Snippets returns programs that request a run as clients of the face would. It may be nil.
	Snippets func(a SnippetParams) []Snippet
	// Clients is the name of the dialect's clients next to those of others, and Observe shows the events of a run as
	// they see them. If Observe is nil, the timeline has no such column.
	Clients string
	Observe func(o Observed) Observer

	// Dial returns a backend. It does no I/O. If it is nil, the dialect cannot be called.
	Dial func(up Upstream) (Backend, error)
	// Detect reports whether the server at up speaks this dialect. It makes one or two GET requests. An error means
	// that no server responded (code upstream_unreachable), or that the response, such as a 401, does not show the
	// server's dialect.
	Detect func(ctx context.Context, up Upstream) (bool, error)
	// Ends are the paths at which the dialect's routes begin, the longest first. The URL of an agent may end with one
	// of them instead of the server's root.
	Ends []string
	// Capabilities are the capabilities of agents that are called in the dialect. Together with the Fields of the faces
	// they determine the loss table.
	Capabilities mapping.Capabilities
}

// Document is an OpenAPI document.
type Document struct {
	Name  string // unique; the path is /openapi/NAME.json
	About string // a short description for display
	Text  []byte // JSON
}

// Path returns the document's path on the bridge.
func (d Document) Path() string { return "/openapi/" + d.Name + ".json" }

// Flavour is a variant of a dialect, and a property of each run.
type Flavour struct {
	Name mapping.Flavour // stored with each run; unique among all dialects
	// Request is the kind of request that makes such runs, as in the dialect's Fields.
	Request string
	// Strategy applies to runs for which neither request nor agent specify one.
	Strategy mapping.Strategy
}

// HookNotice is the content of a notification to a hook: a change of its task's status or, for a hook without an ID,
// the end of a run.
type HookNotice struct {
	Hook    mapping.Hook
	Status  mapping.TaskStatus
	Run     mapping.Run     // the task's newest, which caused the change
	Outcome mapping.Outcome // of an ended run; otherwise zero
	// Values are those of the state after the change. They may be nil for a hook with an ID.
	Values json.RawMessage
}

// HookPost is the request that is sent to a hook. Without a Content-Type in Header, the body is JSON.
type HookPost struct {
	Header map[string]string
	Body   []byte
}

// Face contains the values that every face is mounted with.
type Face struct {
	Log          *zap.Logger
	Limits       config.Limits
	DefaultAgent string
	// Section is that of Dialect.Section, or nil.
	Section any
	// Agents maps config names to their settings; read only.
	Agents  map[string]config.Agent
	Version string
	// Failed receives the code of each request to which the face responds with an error. It may be nil.
	Failed func(code string)
	// Repeated reports whether to log a failed request now, and how many such failures the line represents. It prevents
	// one log line for each request while, for example, the database is unavailable. If Repeated is nil, each failure
	// is logged.
	Repeated func(*mapping.Error) (times int, due bool)
	// URL returns where the client of a request found the bridge, without a slash at the end. It takes the headers of
	// trusted proxies into account. nil: the request's own host is used.
	URL func(*http.Request) string
	// ArtifactPath returns the path from which clients download an artifact of a task, or "" (Dialects.ArtifactPath). It
	// may be nil.
	ArtifactPath func(agent, taskID, artifactID string) string
	// Auth is how callers authenticate.
	Auth Authentication
	// Heartbeat is the interval between heartbeats of a stream.
	Heartbeat time.Duration
	// Ready returns an error if requests should not be sent here now, for example because the database is unavailable.
	// It may be nil. Errors of class Internal must only be logged.
	Ready func(context.Context) error
	// CallerLimits returns the limits of the caller's key followed by those of its tenant, or nil if there are none.
	CallerLimits func(context.Context) ([]Limit, error)
}

// Authentication describes how callers authenticate, for documents about the bridge. Without any way, no key is needed.
type Authentication struct {
	Keys         bool
	Issuers      []string // of tokens
	Certificates bool
}

// CountFailed counts a request to which the face responds with an error.
func (f Face) CountFailed(e *mapping.Error) {
	if f.Failed != nil {
		f.Failed(e.Code)
	}
}

// LogFailed logs why a request failed, unless the same failure was just logged for other requests.
func (f Face) LogFailed(log *zap.Logger, e *mapping.Error, fields ...zap.Field) {
	if f.Repeated != nil {
		times, due := f.Repeated(e)
		if !due {
			return
		}
		if times > 1 {
			fields = append(fields, zap.Int("times", times))
		}
	}
	log.Error("request failed", fields...)
}

// Upstream contains everything that a backend may know about its agent.
type Upstream struct {
	Name      string // config name
	Config    config.Agent
	Limits    config.Limits
	TLS       *tls.Config // for Config.TLS; nil means the default
	Log       *zap.Logger
	UserAgent string // user agent: apbridge/VERSION
	Hop       string // added to mapping.HopsHeader of calls; may be empty
	Meter     Meter  // may be nil
	Tracer    Tracer // may be nil
	// Through, if set, wraps the transport of calls, for example with a recorder.
	Through func(network http.RoundTripper) http.RoundTripper
}

// Meter counts exchanges with agents. It is implemented by proxy/metrics. The operations are those of package upstream;
// the outcome is "ok" or the class of a failure. Safe for concurrent use.
type Meter interface {
	UpstreamCall(agent, operation, outcome string, took time.Duration)
}

// Tracer creates spans for calls to agents. It is implemented by proxy/trace. The caller must call end when the
// response has ended. status is 0 if there was no response. outcome is the same as for Meter. Further calls of end do
// nothing. The returned context has the position of the span (mapping.TraceOf). Safe for concurrent use.
type Tracer interface {
	UpstreamCall(ctx context.Context, agent, operation, method, target string) (_ context.Context, end func(status int, outcome string))
}

// Backend calls an agent. It keeps no state between runs; everything that must survive is an event. Safe for concurrent
// use.
type Backend interface {
	// Run executes one run and yields its events in order. The iterator can be used once. From then on t belongs to the
	// backend, which may modify it.
	//
	// A linked event with the remote id comes before the first output. Exactly one end event comes last, unless the
	// iterator yields an error. An error is an *mapping.Error and final. It ends the run as failed, or as timed out,
	// depending on its class and the cause of ctx. The iterator stops soon after ctx ends, and notifies the agent if
	// possible. It stops at once when yield returns false. No goroutine outlives it. With t.After, nothing that is
	// already logged is requested again. Calls that must not happen twice are made under the permit of ctx (see
	// WithPermit).
	//
	// yield returns when the event is queued, not when it is durable. After a failed append the next yield returns
	// false.
	Run(ctx context.Context, t *Assignment) iter.Seq2[mapping.Event, error]
}

// Canceler is a backend that can make the agent stop its work for a run. Cancel is called with a new context after Run
// was stopped. By then the link may be that of a newer run, which must continue. Optional.
type Canceler interface {
	Cancel(ctx context.Context, link mapping.Link, runID string) error
}

// FileComparer is a backend whose agent may change files without reporting it. Optional.
type FileComparer interface {
	// CompareFiles is called after a run has ended for a reason other than a last step or a question, when its steps
	// are logged. It saves the agent's files that differ from t.Files. The update names these files and those that
	// could not be compared; changed is false if there are none. When ctx ends, the remaining files count as not
	// compared. An error is always the bridge's own. Only Run, TaskID, Link, Uploaded and Files of t are set.
	CompareFiles(ctx context.Context, t *Assignment) (update mapping.Event, changed bool, err error)
}

// Prober is a backend that can check whether the agent is available. Optional.
type Prober interface {
	Probe(ctx context.Context) error
}

// Profiled is a backend that can summarize in a few words what a Probe found out about the agent. Profile returns "" if
// there is nothing. Optional.
type Profiled interface{ Profile() string }

// Versioned is a backend whose agent may report the version of its server. The text is the agent's. It is "", or there
// is an error, if the version is unknown. Optional.
type Versioned interface {
	Version(ctx context.Context) (string, error)
}

// ErrNoSuchGraph is wrapped by a Probe's error if a server is available but the graph to call is unclear: none has the
// configured name or the agent's own.
var ErrNoSuchGraph = errors.New("the agent has no graph of that name")

// Describer is a backend whose agent can describe itself. Its methods fail with not_supported if the agent cannot.
// Optional. The bridge itself describes an agent that does not report its state.
type Describer interface {
	Schemas(ctx context.Context) (mapping.Schemas, error)
	// Graph and Subgraphs are like Assistants.AgentGraph and Assistants.AgentSubgraphs.
	Graph(ctx context.Context, xray string) (json.RawMessage, error)
	Subgraphs(ctx context.Context, namespace string, recurse bool) (json.RawMessage, error)
}

// StateWriter is a backend whose agent keeps a state that can be changed between runs. UpdateState sends values through
// the agent's reducers and returns the state read back. With at, it starts from that checkpoint, otherwise from the
// newest. It fails with upstream_lost if it is unknown whether the agent's copy changed and the copy cannot be read;
// the next run then makes a new copy. Optional.
type StateWriter interface {
	UpdateState(ctx context.Context, c Copy, at *Fork, values json.RawMessage, asNode string) (State, error)
}

// StateMaker is a backend whose agent can create a thread with a history. MakeStates creates the agent's copy of a new
// thread from supersteps and returns its states, oldest first. If it fails, it also deletes the copy, if it can.
// Optional.
type StateMaker interface {
	MakeStates(ctx context.Context, c Copy, list []Superstep) (mapping.Link, []State, error)
}

// Forgetter is a backend that can delete the agent's copy of a thread. Optional.
type Forgetter interface {
	Forget(ctx context.Context, link mapping.Link) error
}

// Traits are the properties of a backend's agent. They are constant after Dial.
type Traits struct {
	// Exposes is how much the agent shows of its threads. The bridge presents an opaque agent as a graph of one node,
	// whose outputs are created by rule.StepUpdate. The last one is marked as such.
	Exposes mapping.Exposure
	// Stepping is the mode for "auto".
	Stepping mapping.Stepping
	// MaxSteps is the default for the agent's configuration. 0 means no limit.
	MaxSteps int
	// TakesExtras means that the agent receives the linked files and the data of a request apart from its text, as
	// TaskAssignment.Extras, and an answer to a question as it was sent.
	TakesExtras bool
	// Kind is the name of such an agent in messages, with an article.
	Kind string
	// Capabilities are those of the agent. nil means unknown.
	Capabilities mapping.Capabilities
}

// Traited is implemented by all our backends. A backend without it is treated as one whose agent reports its state.
type Traited interface{ Traits() Traits }

// State is an upstream state read back.
type State struct {
	Values     json.RawMessage
	Checkpoint string
	Next       []string
	Tasks      json.RawMessage
	Source     string
	Step       int
	Metadata   json.RawMessage // further metadata of the checkpoint
}
