package adapter

import (
	"context"
	"crypto/tls"
	"errors"
	"iter"
	"net/http"
	"time"

	"encoding/json"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Dialect is one agent protocol: a value per folder, listed in a table (Dialects). What it has no use for may be nil.
type Dialect struct {
	Name string
	// Aliases are other names that people type for it.
	Aliases []string
	// Paths are those that the face owns, each with everything below it; a part in braces stands for any one part. What
	// an earlier dialect of the table owns is not its own.
	Paths []string
	// PublicPaths are the paths that need no key. Each is one of those that Paths own. A part in braces stands for any
	// one part that is not empty. Paths below a public path are not public.
	PublicPaths []string
	// Runs are patterns of paths, among those that Paths own, that name a run: the part "{run}" stands for its id. What
	// lies below is about that run, too.
	Runs []string
	// Store are those of Paths that belong to the long-term store.
	Store []string
	// Mount adds the face's routes to r, which leads there only what Paths own; what no route takes is the face's to
	// refuse. nil: the dialect cannot be served.
	Mount func(r *mux.Router, svc Service, face Face)
	// Effect is what a route does, by its method and the template of its path; ok is false for what is no operation.
	// nil: the log of the audit goes by the methods, and nothing is known to end work.
	Effect func(method, template string) (e Effect, ok bool)
	// Refusal is the body, encoded as JSON, of a refusal before a request has reached the face: for a wrong key, a bad
	// path, a body that is too large. nil: that of no dialect.
	Refusal func(e *mapping.Error) any
	// Fields are the documented fields of the face's requests.
	Fields []mapping.RequestField
	// Documents describe what the face serves.
	Documents []Document
	// Speaks is what the face's clients speak, and Chooses where they name the agent that they want: a few words each,
	// for people. "": the pages do not tell.
	Speaks, Chooses string
	// Temporary are patterns of the names of temporary files that a process which dies leaves in the system's folder
	// for them.
	Temporary []string
	// ArtifactPath is where the face serves the bytes of an artifact of a task, in the name of an agent. nil: nowhere.
	ArtifactPath func(agent, taskID, artifactID string) string
	// Flavours are those the face makes runs in. Hook writes what the webhook of such a run and hooks of the flavours are
	// told. It may be nil if no request of the face asks for them.
	Flavours []Flavour
	Hook     func(n HookNotice) (HookPost, error)

	// Snippets returns programs that request a run as clients of the face would. It may be nil.
	Snippets func(a SnippetParams) []Snippet
	// Clients is what the dialect's clients are called beside those of others, and Observe how they see the events of a
	// run. nil: the timeline has no such column.
	Clients string
	Observe func(o Observed) Observer

	// Dial makes a backend; it does no I/O. nil: the dialect cannot be called.
	Dial func(up Upstream) (Backend, error)
	// Detect reports whether the server at up speaks this dialect. It does one or two GETs. An error says that no
	// server answered, with the code upstream_unreachable, or what a server said that tells nothing of what it speaks,
	// such as 401.
	Detect func(ctx context.Context, up Upstream) (bool, error)
	// Ends are the paths that the URL of an agent may end with instead of at its root: where the dialect's routes
	// begin. The longest come first.
	Ends []string
	// Capabilities are what an agent that is called in the dialect can be told. With the Fields of the faces they make
	// the loss table.
	Capabilities mapping.Capabilities
}

// Document is an OpenAPI document.
type Document struct {
	Name  string // it is found at /openapi/NAME.json; no other document has it
	About string // for people: a few words
	Text  []byte // JSON
}

// Path returns where the bridge shows the document.
func (d Document) Path() string { return "/openapi/" + d.Name + ".json" }

// Flavour is a variant of a dialect, in which runs are made.
type Flavour struct {
	Name mapping.Flavour // kept with each run; a name that no other dialect has
	// Request is the kind of request, among the dialect's Fields, that runs are made by.
	Request string
	// Strategy is that of a run where neither request nor agent name one.
	Strategy mapping.Strategy
}

// HookNotice is what a hook is told: a change of its task's status, or the end of a run for a hook without an ID.
type HookNotice struct {
	Hook    mapping.Hook
	Status  mapping.TaskStatus
	Run     mapping.Run     // the newest of the task, which the change comes from
	Outcome mapping.Outcome // of a run that has ended; else zero
	// Values are those of the state after the change. They may be nil for a hook with an ID.
	Values json.RawMessage
}

// HookPost is the request that tells a hook. Without a Content-Type in Header, the body is JSON.
type HookPost struct {
	Header map[string]string
	Body   []byte
}

// Face is what every face is mounted with.
type Face struct {
	Log          *zap.Logger
	Limits       config.Limits
	DefaultAgent string
	// Agents maps config names to their settings; read only.
	Agents  map[string]config.Agent
	Version string
	// Failed is told the code of each request that the face answers with an error; nil: no count is kept.
	Failed func(code string)
	// Repeated reports whether the log is to say now that a request has failed, and how many such failures the line
	// stands for: what a database that is away does to all requests is not said of each. nil: each is said.
	Repeated func(*mapping.Error) (times int, due bool)
	// Heartbeat is the interval between heartbeats of a stream.
	Heartbeat time.Duration
	// Ready says why requests should not be sent here now, as a database that is away; nil where there is nothing to
	// ask. An error of class Internal is for the log.
	Ready func(context.Context) error
	// CallerLimits returns the limits of the caller's key, and then those of its tenant; nil if there are no limits.
	CallerLimits func(context.Context) ([]Limit, error)
}

// CountFailed counts a request that is answered with an error.
func (f Face) CountFailed(e *mapping.Error) {
	if f.Failed != nil {
		f.Failed(e.Code)
	}
}

// LogFailed logs why a request failed, unless that was logged of others a moment ago.
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

// Upstream is everything a backend may know about the agent it calls.
type Upstream struct {
	Name      string // config name
	Config    config.Agent
	Limits    config.Limits
	TLS       *tls.Config // of Config.TLS; nil: the usual one
	Log       *zap.Logger
	UserAgent string // user agent: apbridge/VERSION
	Hop       string // what calls add to mapping.HopsHeader; "": nothing
	Meter     Meter  // nil: calls are not counted
	Tracer    Tracer // nil: no spans are made
	// Through is what calls go through on their way to the network, such as a recorder; nil: nothing.
	Through func(network http.RoundTripper) http.RoundTripper
}

// Meter counts exchanges with agents; proxy/metrics implements it. The operations are those of package upstream, the
// outcome is "ok" or the class of a failure. Safe for concurrent use.
type Meter interface {
	UpstreamCall(agent, operation, outcome string, took time.Duration)
}

// Tracer makes spans of calls to agents; proxy/trace implements it. end must follow, when the answer has ended: status
// is 0 where there was none, and the outcome as a Meter is told it. What is told a second time does nothing. The
// context that is returned has the place of the span (mapping.TraceOf). Safe for concurrent use.
type Tracer interface {
	UpstreamCall(ctx context.Context, agent, operation, method, target string) (_ context.Context, end func(status int, outcome string))
}

// Backend calls an agent. It keeps no state of its own between runs; what must survive is an event. Safe for concurrent
// use.
type Backend interface {
	// Run executes one run and yields what happens, in order. Its iterator is used once. t is the backend's from then
	// on, which may change it.
	//
	// A linked event that carries the remote id comes before the first output. Exactly one end event comes last, unless
	// the iterator yields an error; an error is final, is an *mapping.Error, and ends the run as failed (or timed out,
	// by its class and the cause of ctx). It stops soon after ctx ends, telling the agent so where it can, and at once
	// when yield says false. No goroutine outlives it. Given t.After, nothing already logged is asked for twice. What
	// must not happen twice is sent under the permit of ctx (see WithPermit).
	//
	// yield returns when the event is queued, not when it is durable; a failed append ends the next yield.
	Run(ctx context.Context, t *Assignment) iter.Seq2[mapping.Event, error]
}

// Canceler is a backend that can tell the agent to stop what it does for a run. It is called after Run was stopped,
// with a fresh context; by then the link may be that of a newer run, which is to go on. Optional.
type Canceler interface {
	Cancel(ctx context.Context, link mapping.Link, runID string) error
}

// FileComparer is a backend whose agent may change files without a word. Optional.
type FileComparer interface {
	// CompareFiles is called when a run has ended for another reason than a last step or a question, and its steps are
	// logged. What the agent's files have other bytes in than t.Files is saved there; the update names that and what
	// could not be compared. changed is false when there is neither. When ctx ends, the rest counts as not compared.
	// The error is one of the bridge's own. Of t, Run, TaskID, Link, Uploaded and Files are set.
	CompareFiles(ctx context.Context, t *Assignment) (update mapping.Event, changed bool, err error)
}

// Prober is a backend that can be asked whether the agent is there. Optional.
type Prober interface {
	Probe(ctx context.Context) error
}

// Profiled is a backend that can say in a few words what a Probe found out about the agent, "" while nothing fits.
// Optional.
type Profiled interface{ Profile() string }

// Versioned is a backend whose agent may tell the version of its server: "" or an error where it does not. The words
// are the agent's. Optional.
type Versioned interface {
	Version(ctx context.Context) (string, error)
}

// ErrNoSuchGraph is in the chain of a Probe's error where a server is there, but which of its graphs is called is not
// clear: none has the name that the configuration gives, or the agent's own.
var ErrNoSuchGraph = errors.New("the agent has no graph of that name")

// Describer is a backend whose agent can describe itself. Its methods fail with not_supported if the agent cannot.
// Optional. The bridge itself describes an agent that does not report its state.
type Describer interface {
	Schemas(ctx context.Context) (mapping.Schemas, error)
	// Graph and Subgraphs are as Agents has them.
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

// Traits is what a backend is like; constant after Dial.
type Traits struct {
	// Exposes is what the agent shows of its threads. The bridge is the graph of one node of an agent that does not
	// report its state: its outputs are made by rule.StepUpdate, and the last one says so.
	Exposes mapping.Exposure
	// Stepping is the mode that "auto" stands for.
	Stepping mapping.Stepping
	// MaxSteps is the most steps of a run where the agent's configuration does not say; 0: any number.
	MaxSteps int
	// Kind is what messages call such an agent, with an article.
	Kind string
	// Capabilities are what the agent can be told; nil: not known.
	Capabilities mapping.Capabilities
}

// Traited is implemented by every backend of ours; one without it reports its state.
type Traited interface{ Traits() Traits }

// State is an upstream state read back.
type State struct {
	Values     json.RawMessage
	Checkpoint string
	Next       []string
	Tasks      json.RawMessage
	Source     string
	Step       int
}
