// Package demo implements the command that shows conversations in each protocol with an example agent of each kind.
// Package main adds it. It never calls other agents and leaves nothing behind.
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
	"github.com/spf13/cobra"
)

// program runs the command in its process.
type program struct{ *console.Process }

// Command returns the command apbridge demo.
func Command(process *console.Process) *cobra.Command {
	p := &program{process}
	listen := ""
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the bridge with two example agents and a conversation in each protocol",
		Long: `demo starts a task/step agent, a thread/run agent and the bridge in front of both, and
prints a conversation in each protocol, commands to try, and the addresses of a run
that waits for an answer and of one that failed. It then serves until Ctrl-C or SIGTERM.
It needs nothing else and leaves nothing behind.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.demo(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on")
	return cmd
}

func (p *program) demo(ctx context.Context, listen string) (err error) {
	bridge.SweepTemporary(os.TempDir())
	folder, err := console.TemporaryFolder(bridge.TemporaryDemo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	t := &transcript{out: p.Out}
	legacy, err := startAgent(t.watch("legacy agent", paced(legacyagent.Handler())))
	if err != nil {
		return err
	}
	defer legacy.Close()
	graph, err := startAgent(t.watch("graph agent", paced(threadagent.Handler())))
	if err != nil {
		return err
	}
	defer graph.Close()
	cfg, err := demoConfig(listen, filepath.Join(folder, bridge.DemoDatabase), legacy.url, graph.url)
	if err != nil {
		return err
	}
	return p.demoBridge(ctx, cfg, t)
}

func demoConfig(listen, database, legacy, graph string) (*config.Config, error) {
	set := func(value string, path ...string) config.Setting {
		return config.Setting{Path: path, Value: value, From: "demo"}
	}
	return config.Load(config.Options{Flags: []config.Setting{
		set(listen, "listen"),
		set(database, "database"),
		set("1s", "shutdown_grace"),
		set("legacy", "default_agent"),
		set("all", "inspector", "capture"),
		set(legacy, "agents", "legacy", "url"),
		set(graph, "agents", "graph", "url"),
	}})
}

func (p *program) demoBridge(ctx context.Context, cfg *config.Config, t *transcript) error {
	// A run of the demo fails on purpose, which would be a warning.
	logs := console.LogFlags{Level: "error", Format: "console"}
	log, err := logs.Open(p.Err)
	if err != nil {
		return err
	}
	a, err := bridge.New(ctx, cfg, bridge.Dialects(), log)
	if err != nil {
		return fmt.Errorf("%w (to use another address: apbridge demo --listen 127.0.0.1:0)", err)
	}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { served <- a.Run(ctx) }()
	if err := p.talk(ctx, a, t); err != nil && ctx.Err() == nil {
		stop()
		return errors.Join(err, <-served, a.Close())
	}
	return errors.Join(<-served, a.Close())
}

// talk has the conversations and prints what to try next.
func (p *program) talk(ctx context.Context, a *bridge.App, t *transcript) error {
	c := &client{base: a.URL(), t: t}
	if err := c.conversations(ctx); err != nil {
		return err
	}
	asks, fails, err := c.examples(ctx)
	if err != nil {
		return err
	}
	t.say(demoEnd, a.URL(), a.Inspector(), asks, fails)
	return nil
}

// exampleAgent is an example agent on a free port.
type exampleAgent struct {
	*http.Server
	url string
}

func startAgent(h http.Handler) (*exampleAgent, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &exampleAgent{&http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}, "http://" + l.Addr().String()}
	go a.Serve(l) // ends with Close
	return a, nil
}

const demoEnd = `
------------------------------------------------------------------------------
The bridge is running at %[1]s. Press Ctrl-C to stop it. Try in another terminal:

  # a thread/run client with the legacy agent (the default agent)
  curl -s %[1]s/runs/wait -H 'content-type: application/json' -d '{"input":"hi"}'

  # the same, as an event stream
  curl -sN %[1]s/runs/stream -H 'content-type: application/json' \
    -d '{"assistant_id":"legacy","input":{"messages":[{"role":"user","content":"hi"}]},"stream_mode":["updates"]}'

  # a task/step client with the graph agent: a task, then its first step
  task=$(curl -s %[1]s/agents/graph/ap/v1/agent/tasks -H 'content-type: application/json' \
    -d '{"input":"hi"}' | sed 's/.*"task_id":"\([^"]*\)".*/\1/')
  curl -s -X POST %[1]s/agents/graph/ap/v1/agent/tasks/$task/steps

  # an A2A client with the graph agent
  curl -s %[1]s/a2a/graph/message:send -H 'content-type: application/json' \
    -d '{"message":{"messageId":"'$(date +%%s)'","role":"ROLE_USER","parts":[{"text":"hi"}]}}'

  # the bridge's metrics
  curl -s %[1]s/metrics | grep ^apbridge_

Open %[2]s to see these conversations and your own requests. Two more runs are there:

  # a run that waits for your answer
  %[2]s/runs/%[3]s

  # a run that failed
  %[2]s/runs/%[4]s
`
