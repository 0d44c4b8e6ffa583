package remote

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
)

// Bounds of completions: the time to wait for the bridge, and the number of words.
const (
	completionPatience = 2 * time.Second
	completionMost     = 100
)

// words returns completions, each with a description after a tab.
type words func(ctx context.Context, c *api.Client) ([]string, error)

// completed completes the arguments of a command, at most most of them. If the bridge does not answer, there are no
// completions, because errors cannot be shown.
func (r *remote) completed(most int, list words) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := r.client()
		if err != nil || most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, stop := context.WithTimeout(cmd.Context(), completionPatience)
		defer stop()
		offered, err := list(ctx, c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// runWords offers the newest runs with one of the statuses of the Agent Protocol, or all.
func runWords(statuses ...string) words {
	if len(statuses) == 0 {
		statuses = []string{""}
	}
	return func(ctx context.Context, c *api.Client) (offered []string, err error) {
		for _, status := range statuses {
			list, err := c.Runs(ctx, api.RunFilter{Status: status, Limit: completionMost})
			if err != nil {
				return nil, err
			}
			for _, r := range list {
				offered = append(offered, r.ID+"\t"+r.Agent+", "+r.Status+", "+age(r.Created, time.Now()))
			}
		}
		return offered, nil
	}
}

func threadWords(ctx context.Context, c *api.Client) (offered []string, err error) {
	list, err := c.Threads(ctx, api.ThreadFilter{Limit: completionMost})
	for _, t := range list {
		offered = append(offered, t.ID+"\t"+t.Agent()+", "+t.Status+", "+age(t.Updated, time.Now()))
	}
	return offered, err
}

func agentWords(ctx context.Context, c *api.Client) (offered []string, err error) {
	list, err := c.Agents(ctx)
	for _, a := range list {
		offered = append(offered, a.Graph)
	}
	return offered, err
}

// completeFlag completes a flag with words from the bridge.
func (r *remote) completeFlag(cmd *cobra.Command, name string, list words) {
	console.Must(cmd.RegisterFlagCompletionFunc(name, r.completed(0, list)))
}
