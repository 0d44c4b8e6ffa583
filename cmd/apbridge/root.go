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
		Short: "A bridge between agent protocols",
		Long: `apbridge stands in front of agents and answers their clients in the protocol
the client speaks: threads and runs (LangChain Agent Protocol, LangGraph Server)
or tasks and steps (Agent Protocol v1). The agent behind may speak either.`,
		Example: `  apbridge demo
  apbridge serve --agent legacy=http://127.0.0.1:8000
  apbridge serve --config apbridge.yaml
  apbridge runs ls`,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       bridge.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(serve.Command(&p.Process), demo.Command(&p.Process), run.Command(&p.Process), bench.Command(&p.Process), conformance.Command(&p.Process), doctor.Command(&p.Process), p.initCommand(), p.validateCommand(), p.schemaCommand(), p.versionCommand())
	root.AddCommand(remote.Runs(&p.Process), remote.Threads(&p.Process), remote.Agents(&p.Process), remote.Health(&p.Process), remote.Data(&p.Process))
	root.AddCommand(database.Backup(&p.Process), database.Restore(&p.Process), database.Export(&p.Process), database.Import(&p.Process))
	root.AddCommand(p.packaging()...)
	root.SetVersionTemplate(builtFrom())
	root.SetOut(p.Out) // before the completion command, which remembers it
	root.SetErr(p.Err)
	strictCompletion(root)
	console.Strict(root)
	return root
}

// strictCompletion makes the completion command that cobra adds refuse a shell it does not know: by itself it would
// print its help and exit with 0, and an installation that redirects the output would not notice.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
