package remote

import (
	"encoding/json"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
)

// Agents returns the command apbridge agents.
func Agents(p *console.Process) *cobra.Command {
	r := &remote{p: p}
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents and assistants of a bridge",
		Long: `agents asks a bridge that serves for its agents: those of its configuration, and the
assistants that were made over them. How the agents are, apbridge doctor asks them.

The bridge is named by --url or APBRIDGE_URL, its key by APBRIDGE_KEY.`,
		Example: `  apbridge agents
  apbridge agents --url http://127.0.0.1:9000 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := r.client()
			if err != nil {
				return err
			}
			list, err := c.Agents(cmd.Context())
			if err != nil {
				return err
			}
			rows, whole := [][]string{}, []json.RawMessage{}
			for _, a := range list {
				rows, whole = append(rows, []string{a.ID, a.Graph, a.Name}), append(whole, a.Whole)
			}
			if r.json() {
				return r.printJSON(whole)
			}
			return table(p.Out, "ASSISTANT AGENT NAME", rows)
		},
	}
	r.add(cmd)
	return cmd
}
