package main

import "github.com/spf13/cobra"

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "apbridge",
		Short: "A bridge between agent protocols",
		Long: `apbridge stands in front of agents and answers their clients in the protocol
the client speaks: threads and runs (LangChain Agent Protocol, LangGraph Server)
or tasks and steps (Agent Protocol v1). The agent behind may speak either.`,
		Example: `  apbridge demo
  apbridge serve --agent legacy=http://127.0.0.1:8000
  apbridge serve --config apbridge.yaml`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(p.serveCommand(), p.demoCommand(), p.runCommand(), p.doctorCommand(), p.initCommand(), p.validateCommand(), p.versionCommand())
	return root
}
