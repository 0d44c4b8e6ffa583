package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/doctor"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/config"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
)

// targetFlags name the agent for bench.
type targetFlags struct {
	config, agent string
	commandURL    string
	startTimeout  time.Duration
}

func (f *targetFlags) add(set *pflag.FlagSet) {
	set.VarP((*console.Filled)(&f.config), "config", "c", "YAML configuration `FILE`, for --agent (default $APBRIDGE_CONFIG)")
	set.Var((*console.Filled)(&f.agent), "agent", "the agent: a name from the configuration, or `NAME=URL`")
	set.StringVar(&f.commandURL, "command-url", "", "`URL` at which COMMAND serves, if not on the port it gets")
	set.DurationVar(&f.startTimeout, "start-timeout", time.Minute, "time limit for COMMAND to respond")
}

// benchCall has the parts of the command line about the target that are not flags.
type benchCall struct {
	args     []string
	dash     int // number of args before --, or -1
	patience time.Duration
	keep     string
}

// target is the server that is judged.
type target struct {
	name    string
	agent   *agent.Client
	bridge  bool
	threads string // where a bridge shows threads in a browser, or ""
	look    string // how to see the threads later, as the end of a sentence
	gone    func() error
	close   func() error
}

const oneTarget = "use one of: a URL, --agent NAME, --agent NAME=URL, -- COMMAND"

// reach starts the target if necessary and checks that an agent answers.
func (f *targetFlags) reach(ctx context.Context, p *program, call benchCall) (*target, error) {
	client := &agent.Client{Key: console.Variable(p.Environ, "BENCHMARK_KEY"), Patience: call.patience, HTTP: &http.Client{}}
	urls, command := call.args, []string(nil)
	if call.dash >= 0 {
		urls, command = call.args[:call.dash], call.args[call.dash:]
	}
	if err := f.unused(len(urls), len(command)); err != nil {
		return nil, err
	}
	switch n := len(urls); {
	case n+len(command) == 0 && f.agent == "" && call.dash < 0:
		return nil, errors.New("no agent given: " + oneTarget)
	case n == 1 && call.dash < 0 && f.agent == "":
		return reachURL(ctx, urls[0], client)
	case n == 0 && f.agent != "" && call.dash < 0:
		return f.reachAgent(ctx, p, call, client)
	case n == 0 && len(command) > 0 && f.agent == "":
		return f.reachCommand(ctx, p, call, client, command)
	}
	return nil, errors.New("exactly one agent must be given: " + oneTarget)
}

// unused returns an error for a flag without effect.
func (f *targetFlags) unused(urls, words int) error {
	switch {
	case f.commandURL != "" && words == 0:
		return errors.New("flag --command-url has no effect without COMMAND")
	case f.config != "" && urls == 1 && words == 0 && f.agent == "":
		return errors.New("flag --config has no effect with a URL; it is for --agent and COMMAND")
	}
	return nil
}

// reachURL uses an existing server, which is a bridge or an agent of version 1.
func reachURL(ctx context.Context, address string, client *agent.Client) (*target, error) {
	base, err := agent.Address(address)
	if err != nil {
		return nil, err
	}
	client.Base = base
	ctx, stop := context.WithTimeout(ctx, doctor.Patience)
	defer stop()
	if err := client.Probe(ctx); err != nil {
		if errors.Is(err, agent.ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("the server at %s did not answer within %v; check that it works and that the address is right", base, min(client.Patience, doctor.Patience))
		}
		if err := unnamed(ctx, client, err); err != nil {
			return nil, err
		}
		if err := refusedBy(ctx, base, err); err != nil {
			return nil, err
		}
	}
	t := &target{name: base, agent: client, close: func() error { return nil }}
	if t.bridge = client.IsBridge(ctx); t.bridge {
		t.threads = client.Root() + "/threads/"
	}
	return t, nil
}

// unnamed returns the error of a bridge that has agents, but not the one in the address. It returns nil for other
// servers.
func unnamed(ctx context.Context, client *agent.Client, err error) error {
	if !errors.As(err, new(*agent.Refused)) {
		return nil
	}
	names := client.Agents(ctx)
	if len(names) == 0 {
		return nil
	}
	there := "; known agents: " + strings.Join(names, ", ")
	if _, name, found := strings.Cut(client.Base, "/agents/"); found {
		return fmt.Errorf("the bridge at %[2]s has no agent %[1]q%[3]s", name, client.Root(), there)
	}
	return fmt.Errorf("the bridge at %s has no default agent; append /agents/NAME to its address%s", client.Base, there)
}

// refusedBy returns the error of a server that does not list tasks as in version 1. It returns nil if the server speaks
// version 1 anyway.
func refusedBy(ctx context.Context, base string, err error) error {
	var refused *agent.Refused
	asked := errors.As(err, &refused)
	if asked && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden) {
		return fmt.Errorf("the server at %s requires a key (%d); set BENCHMARK_KEY", base, refused.Status)
	}
	dialect, found := doctor.Detected(ctx, doctor.Upstream("agent", config.Agent{URL: base, Dialect: "auto"}, config.Limits{}))
	switch {
	case found != nil:
		hints := doctor.Hints(ctx, "agent", config.Agent{URL: base, Dialect: "auto"}, config.Limits{}, found)
		return console.ByURL{Name: "agent", URL: base}.Error(doctor.Unfit(found, hints))
	case dialect == "taskstep" && asked && refused.Status != http.StatusNotFound && refused.Status != http.StatusMethodNotAllowed:
		return nil
	}
	return fmt.Errorf("the agent at %s speaks %s, not the Agent Protocol v1 below /ap/v1. Judge it through a bridge: apbridge bench --agent agent=%s "+
		"(if the server has several graphs, replace agent by the name of one)", base, dialect, base)
}

// reachAgent starts a bridge for an agent of the configuration.
func (f *targetFlags) reachAgent(ctx context.Context, p *program, call benchCall, client *agent.Client) (*target, error) {
	name, _, added := strings.Cut(f.agent, "=")
	from := console.ConfigFlags{File: f.config}
	if added {
		from.Agents = []string{f.agent}
	}
	cfg, err := from.Load(p.Environ, nil)
	if err != nil {
		return nil, err
	}
	if _, ok := cfg.Agents[name]; !ok {
		return nil, fmt.Errorf("there is no agent %q in the configuration; known agents: %s. To pass its URL, use --agent %s=URL", name, strings.Join(slices.Sorted(maps.Keys(cfg.Agents)), ", "), name)
	}
	if found := doctor.Examine(ctx, name, cfg); found.Err != nil {
		return nil, doctor.Unfit(found.Err, found.Hints)
	}
	return bridgeBefore(ctx, p, cfg, name, call.keep, client)
}

// bridgeBefore starts a bridge with the lifetime of the target. Its database is in keep, or is removed with it.
func bridgeBefore(ctx context.Context, p *program, cfg *config.Config, name, keep string, client *agent.Client) (*target, error) {
	bridge.SweepTemporary(os.TempDir())
	folder, remove := keep, func() error { return nil }
	if keep == "" {
		var err error
		if folder, err = console.TemporaryFolder(bridge.TemporaryRun); err != nil {
			return nil, err
		}
		remove = func() error { return os.RemoveAll(folder) }
	}
	log, err := (&console.LogFlags{Level: "error", Format: "auto"}).Open(p.Err)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	stop, err := serveUntilStop(ctx, bridge.Private(cfg, folder), log, client, name)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	t := &target{
		name: console.WithoutSecrets([]string{name, "at", cfg.Agents[name].URL}), agent: client, bridge: true,
		close: func() error { return errors.Join(stop(), remove()) },
	}
	if keep != "" {
		t.look = fmt.Sprintf("; to see its threads: apbridge serve --database %s --agent %s=%s", filepath.Join(keep, bridge.RunDatabase), name, console.WithoutParts(cfg.Agents[name].URL))
	}
	return t, nil
}

// serveUntilStop serves until stop is called, even after Ctrl-C, because judging still needs the bridge.
func serveUntilStop(ctx context.Context, cfg *config.Config, log *zap.Logger, client *agent.Client, name string) (stop func() error, err error) {
	c := *cfg
	c.ShutdownGrace = 0
	a, err := bridge.New(ctx, &c, bridge.Dialects(), log)
	if err != nil {
		return nil, err
	}
	client.Base = a.URL() + "/agents/" + name
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- a.Run(serving) }()
	return func() error { cancel(); return errors.Join(<-served, a.Close()) }, nil
}
