package main

import (
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
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
	root.AddCommand(p.serveCommand(), p.demoCommand(), p.runCommand(), p.benchCommand(), p.conformanceCommand(), p.doctorCommand(), p.initCommand(), p.validateCommand(), p.schemaCommand(), p.manCommand(), p.versionCommand())
	root.AddCommand(p.runsCommand(), p.threadsCommand(), p.agentsCommand(), p.healthCommand(), p.dataCommand())
	root.AddCommand(p.backupCommand(), p.restoreCommand(), p.exportCommand(), p.importCommand())
	root.SetVersionTemplate(builtFrom())
	root.SetOut(p.out) // before the completion command, which remembers it
	root.SetErr(p.err)
	strictCompletion(root)
	strict(root)
	return root
}

// strictCompletion makes the completion command that cobra adds refuse a shell
// it does not know: by itself it would print its help and exit with 0, and an
// installation that redirects the output would not notice.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
