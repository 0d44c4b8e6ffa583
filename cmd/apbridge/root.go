package main

import (
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/bench"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/conformance"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/database"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/demo"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/doctor"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/remote"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/run"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/serve"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
)

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "apbridge",
		Short: "Connect clients and agents that speak different agent protocols",
		Long: `apbridge is a reverse proxy that translates between three families of agent protocols:
threads and runs (LangGraph Server, LangChain Agent Protocol), tasks and steps (Agent
Protocol v1, as in AutoGPT), and A2A. Any client can use any agent. All runs are stored, so
clients can resume streams, and runs survive restarts.

Start with "apbridge demo", which needs no agent and no configuration.`,
		Example: `  # try it
  apbridge demo

  # put the bridge in front of an agent
  apbridge serve --agent legacy=http://127.0.0.1:8000

  # in another terminal: list the runs, show the newest one
  apbridge runs ls
  apbridge runs show --last`,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       bridge.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	addGroup(root, "Start:", demo.Command(&p.Process), run.Command(&p.Process), serve.Command(&p.Process))
	addGroup(root, "Configure:", doctor.Command(&p.Process), p.initCommand(), p.schemaCommand(), p.validateCommand())
	addGroup(root, "Use a running bridge:", remote.Agents(&p.Process), remote.Data(&p.Process), remote.Health(&p.Process), remote.Runs(&p.Process), remote.Threads(&p.Process))
	addGroup(root, "Maintain the database:", database.Backup(&p.Process), database.Export(&p.Process), database.Import(&p.Process), database.Restore(&p.Process))
	addGroup(root, "Test agents:", bench.Command(&p.Process), conformance.Command(&p.Process))
	root.AddCommand(p.versionCommand())
	root.AddCommand(p.packaging()...)
	root.SetVersionTemplate(builtFrom())
	root.SetOut(p.Out) // before the completion command, which stores it
	root.SetErr(p.Err)
	strictCompletion(root)
	console.Strict(root)
	return root
}

// addGroup adds commands to a group of the help with a title.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
}

// strictCompletion makes cobra's completion command refuse an unknown shell. By default it prints its help and exits
// with 0, which installation scripts that redirect the output would not notice.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
