package doctor

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

const (
	// Patience is the time that one agent may take to answer.
	Patience = 15 * time.Second
	// timedCalls is the number of timed calls, whose median is printed.
	timedCalls = 5
)

// Finding is the result for one agent.
type Finding struct {
	name, url string
	dialect   string // the agent's dialect
	asked     bool   // the dialect was detected
	recorded  bool   // the agent is a recording
	profile   string
	server    adapter.Versioned  // nil if the dialect has no request for the version
	version   string             // "" if not requested or not reported
	keeper    adapter.ItemKeeper // nil if the dialect has no store
	stores    bool               // the agent has a store
	isStore   bool               // the bridge uses its store (store.agent)
	traits    adapter.Traits
	took      time.Duration  // median duration of a read-only call
	byURL     *console.ByURL // nil if the agent is from the configuration
	Hints     []string       // guesses about the server at the URL and the location of the agent
	Err       error
}

// grace is additional time for detecting the dialect, whose own timeout has a better error message.
const grace = time.Second

// Examine examines one agent of a configuration. Problems are part of the Finding.
func Examine(ctx context.Context, name string, cfg *config.Config) Finding {
	c := cfg.Agents[name]
	limited, stop := context.WithTimeout(ctx, patienceFor(c)+grace)
	defer stop()
	f := examineAt(limited, name, c, cfg)
	if limited.Err() != nil && ctx.Err() == nil && errors.Is(f.Err, context.DeadlineExceeded) { // its own message is about runs, or empty
		f.Err = mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable,
			"The agent %q at %s did not answer within %s. Check whether it is busy and whether the port is right.", name, c.URL, patienceFor(c))
	}
	return f
}

func examineAt(ctx context.Context, name string, c config.Agent, cfg *config.Config) Finding {
	f := Finding{name: name, url: c.URL, dialect: c.Dialect, isStore: cfg.Store.Agent == name}
	if _, recorded := c.Recording(); recorded {
		f.recorded = true
		f.ofRecording(ctx, Upstream(name, c, cfg.Limits))
		return f
	}
	if c.Dialect == "auto" {
		f.asked = true
		if f.dialect, f.Err = Detected(ctx, Upstream(name, c, cfg.Limits)); f.Err != nil {
			f.Hints = Hints(ctx, name, c, cfg.Limits, f.Err)
			return f
		}
		c.Dialect = f.dialect
	}
	b, err := bridge.Dialects().Dial(Upstream(name, c, cfg.Limits))
	if err != nil {
		f.Err = err
		return f
	}
	if f.probe(ctx, b); f.Err != nil {
		f.Hints = Hints(ctx, name, c, cfg.Limits, f.Err)
	}
	if about, ok := b.(adapter.Profiled); ok && f.Err == nil {
		if f.profile = about.Profile(); f.profile == "" {
			f.Err = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream,
				"A server answers at %s, but not like an agent that speaks %s. %s and agents.%s.dialect.", c.URL, c.Dialect, Upstream(name, c, cfg.Limits).URLAdvice(), name)
			f.Hints = Hints(ctx, name, c, cfg.Limits, f.Err)
		}
	}
	f.server, _ = b.(adapter.Versioned)
	f.keeper, _ = b.(adapter.ItemKeeper)
	return f
}

// ofRecording determines the dialect and the losses of a recorded agent. It calls no agent.
func (f *Finding) ofRecording(ctx context.Context, up adapter.Upstream) {
	if up, f.Err = bridge.Replayed(up); f.Err != nil {
		return
	}
	if f.asked = up.Config.Dialect == "auto"; f.asked {
		if up.Config.Dialect, f.Err = Detected(ctx, up); f.Err != nil {
			return
		}
	}
	f.dialect = up.Config.Dialect
	b, err := bridge.Dialects().Dial(up)
	if t, ok := b.(adapter.Traited); ok && err == nil {
		f.traits = t.Traits()
	}
	f.Err = err
}

// patienceFor returns the time that an agent may take to answer, which is at most its time for a step.
func patienceFor(c config.Agent) time.Duration {
	if c.StepTimeout > 0 {
		return min(c.StepTimeout, Patience)
	}
	return Patience
}

// probe checks that an agent answers and measures how fast.
func (f *Finding) probe(ctx context.Context, b adapter.Backend) {
	if t, ok := b.(adapter.Traited); ok {
		f.traits = t.Traits()
	}
	probe, ok := b.(adapter.Prober)
	if !ok {
		return
	}
	if f.Err = probe.Probe(ctx); f.Err != nil {
		return
	}
	var took []time.Duration
	for range timedCalls {
		began := time.Now()
		if f.Err = probe.Probe(ctx); f.Err != nil {
			return
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	f.took = took[timedCalls/2]
}

var plainVersion = regexp.MustCompile(`^[\w.+-]{1,40}$`)

// askVersion requests the version of a healthy agent's server.
func (f *Finding) askVersion(ctx context.Context) {
	if f.server == nil || f.Err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, briefly)
	defer stop()
	if version, err := f.server.Version(ctx); err == nil && plainVersion.MatchString(version) {
		f.version = version
	}
}

// askStore checks whether a healthy agent has a store. An agent whose store is the bridge's must have one.
func (f *Finding) askStore(ctx context.Context) {
	if f.Err != nil || f.recorded {
		return
	}
	ctx, stop := context.WithTimeout(ctx, briefly)
	defer stop()
	err := error(mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, "store.agent names this agent, but its dialect %s has no store. Remove store.agent to use the bridge's own store.", f.dialect))
	if f.keeper != nil {
		_, err = f.keeper.Items().ListNamespaces(ctx, adapter.NamespaceQuery{Limit: 1})
	}
	if f.stores = err == nil; f.isStore {
		f.Err = err
	}
}

// Upstream describes an agent for its backend, with a logger that discards everything.
func Upstream(name string, c config.Agent, limits config.Limits) adapter.Upstream {
	secure, _ := c.TLS.Load() // the error was checked when the configuration was read
	return adapter.Upstream{Name: name, Config: c, Limits: limits, TLS: secure, Log: zap.NewNop(), UserAgent: "apbridge/" + bridge.Version()}
}

// Detected returns the dialect of an agent.
func Detected(ctx context.Context, up adapter.Upstream) (string, error) {
	found := ""
	var list []adapter.Dialect
	for _, d := range bridge.Dialects().Callable() {
		dial := d.Dial
		d.Dial = func(up adapter.Upstream) (adapter.Backend, error) {
			found = d.Name
			return dial(up)
		}
		list = append(list, d)
	}
	_, err := adapter.NewAuto(up, list).Resolve(ctx)
	return found, err
}
