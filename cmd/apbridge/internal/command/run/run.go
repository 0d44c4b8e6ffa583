// Package run implements the command that runs an agent once and exits. Package main adds it. It starts a private
// bridge and uses it like any client.
package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/talk"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// program runs the command in its process.
type program struct{ *console.Process }

// Command returns the command apbridge run.
func Command(process *console.Process) *cobra.Command {
	p := &program{process}
	var from console.ConfigFlags
	var logs console.LogFlags
	var e errand
	cmd := &cobra.Command{
		Use:   "run AGENT TEXT",
		Short: "Run an agent once and print its output",
		Long: `run sends one request to an agent and prints its steps as they arrive, each line with its
speaker ("agent:", "tool NAME:"). AGENT is a name from the configuration, a URL, or
replay:FILE. No running bridge is needed. The run's data is removed afterwards.
The agent's questions are asked on the terminal.

Exit code: 0 success, 1 failure or an unanswered question, 130 cancelled with Ctrl-C.`,
		Example: `  apbridge run http://127.0.0.1:8000 "Write the word Washington"
  apbridge run legacy "Write the word Washington" --config apbridge.yaml --out files
  apbridge run legacy "Write the word Washington" --config apbridge.yaml --record washington.ndjson
  apbridge run replay:washington.ndjson "Write the word Washington"`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := logs.Open(p.Err)
			if err != nil {
				return err
			}
			e.agent, e.named, e.text = args[0], args[0], args[1]
			if strings.Contains(e.agent, "://") || strings.HasPrefix(e.agent, "replay:") {
				by := console.ByURL{Name: "agent", URL: e.agent}
				from.Agents = append(from.Agents, by.Flag())
				e.agent, e.named = by.Name, "at "+console.WithoutParts(by.URL)
				cfg, err := from.Load(p.Environ, nil)
				if err == nil {
					err = p.once(cmd.Context(), cfg, log, e)
				}
				return by.Error(err)
			}
			cfg, err := from.Load(p.Environ, nil)
			if err != nil && !withoutAgents(err) {
				return err
			}
			if cfg == nil {
				return noAgent(e.agent, nil)
			}
			if _, ok := cfg.Agents[e.agent]; !ok {
				return noAgent(e.agent, slices.Sorted(maps.Keys(cfg.Agents)))
			}
			return p.once(cmd.Context(), cfg, log, e)
		},
	}
	from.Add(cmd.Flags())
	logs.Add(cmd.Flags())
	logs.Complete(cmd)
	cmd.Flags().Lookup("log-level").Usage = "minimum `LEVEL`: debug, info, warn or error"
	cmd.Flags().Lookup("log-level").DefValue = "error"
	logs.Level = "error"
	cmd.Flags().StringVar(&e.record, "record", "", "record all calls to the agent in this `FILE`; replay:FILE as AGENT replays them")
	cmd.Flags().BoolVar(&e.force, "force", false, "overwrite the file of --record")
	cmd.Flags().StringVar(&e.out, "out", "", "`FOLDER` for the agent's files; created if missing, files in it are overwritten")
	console.Must(cmd.MarkFlagDirname("out"))
	cmd.ValidArgsFunction = from.CompleteAgents(p.Environ)
	return cmd
}

// withoutAgents reports whether the only problem with a configuration is that it has no agents.
func withoutAgents(err error) bool {
	var faults config.Problems
	return errors.As(err, &faults) && len(faults) == 1 && faults[0].Key == "agents"
}

// noAgent returns the error for an argument that is neither a URL nor an agent of the configuration.
func noAgent(name string, names []string) error {
	near, url := mapping.Nearest(name, names), console.MeantURL(name)
	switch {
	case near != "":
		return console.Misuse(fmt.Sprintf("there is no agent %q; did you mean %q?", name, near))
	case url != "":
		return console.NotURL(name, url)
	case len(names) == 0:
		return console.Misuse(fmt.Sprintf("there is no agent %q, because no agents are configured. Use a URL, --agent NAME=URL or --config FILE", name))
	}
	return console.Misuse(fmt.Sprintf("there is no agent %q in the configuration; known agents: %s. Use one of them or a URL", name, strings.Join(names, ", ")))
}

// errand holds the input of a run and the options of the command.
type errand struct {
	agent, text, out, record string

	named string // the agent's name on the command line

	force bool // overwrite an existing recording
}

// makeOut creates the folder for files in advance, so that the agent's work is not lost if that fails.
func (e errand) makeOut() error {
	if e.out == "" {
		return nil
	}
	if err := os.MkdirAll(e.out, 0o755); err != nil {
		return console.Misuse(fmt.Sprintf("flag --out: the folder %s cannot be created: %v. Choose another", e.out, console.ReasonOf(err)))
	}
	return nil
}

// once executes a run with a private bridge and leaves nothing behind.
func (p *program) once(ctx context.Context, cfg *config.Config, log *zap.Logger, e errand) (err error) {
	bridge.SweepTemporary(os.TempDir())
	if err := e.makeOut(); err != nil {
		return err
	}
	folder, err := console.TemporaryFolder(bridge.TemporaryRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	with, recorded, err := p.recording(cfg, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recorded()) }()
	a, err := bridge.New(ctx, bridge.Private(cfg, folder), bridge.Dialects(), log, with...)
	if err != nil {
		return err
	}
	// ctx is not used here, because after an interrupt the run is cancelled through the bridge.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- a.Run(serving) }()
	c, err := api.New(a.URL(), "")
	if err == nil {
		err = p.send(ctx, c, e)
	}
	stop()
	return errors.Join(err, <-served, a.Close())
}

// send runs the agent and saves its files.
func (p *program) send(ctx context.Context, c *api.Client, e errand) error {
	t, err := c.NewThread(ctx)
	if err != nil {
		return err
	}
	err = p.converse(ctx, c, t.ID, e)
	if e.out == "" || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, p.saveFiles(ctx, c, t.ID, e.out))
}

// converse prints the run and a further run for each answered question.
func (p *program) converse(ctx context.Context, c *api.Client, thread string, e errand) error {
	run, lost, err := c.Start(ctx, thread, map[string]any{
		"assistant_id": e.agent, "input": map[string]any{"messages": []any{map[string]string{"type": "human", "content": e.text}}},
	})
	if lost != "" {
		fmt.Fprintf(p.Out, "(not passed on exactly: %s)\n", lost)
	}
	for ask := p.questioner(); err == nil; {
		t := &talk.Printer{Out: p.Out, Environ: p.Environ}
		if err = c.Follow(ctx, run.ID, t.Event); err != nil {
			break
		}
		if t.Fault != nil || len(t.Asked) == 0 {
			return t.Fault
		}
		var answer any
		if answer, err = ask.answer(ctx, t.Asked); err == nil {
			run, err = c.Answer(ctx, run, answer)
		}
	}
	if ctx.Err() != nil {
		return p.interrupted(ctx, c, run.ID, e)
	}
	return err
}

// interruptedMost is the time that an interrupted run may take to end.
const interruptedMost = 15 * time.Second

// interrupted cancels the run and prints the rest of its output.
func (p *program) interrupted(ctx context.Context, c *api.Client, run string, e errand) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), interruptedMost)
	defer stop()
	if run != "" {
		if err := c.Cancel(ctx, run, false); err != nil {
			return fmt.Errorf("interrupted, and the run could not be cancelled: %w", err)
		}
	}
	left := "no files were saved"
	if e.out == "" {
		left = "nothing was kept"
	}
	fmt.Fprintf(p.Err, "apbridge: interrupted. The run was cancelled and %s. Agent %s may still finish its current step.\n", left, e.named)
	return console.Ended(console.ExitInterrupted)
}
