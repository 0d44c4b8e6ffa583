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
		Short: "List a bridge's agents and assistants",
		Long: `agents lists the configured agents of a running bridge and the assistants created from
them. Use doctor to check whether agents are reachable.`,
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
