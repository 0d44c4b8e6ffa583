package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/spf13/cobra"
)

// subject is the kind of object that a command handles: a run or a thread. It is identified by its id, a prefix of its
// id, or --last.
type subject struct {
	noun    string
	none    string // message if --last finds nothing
	list    string // the command that lists these objects
	last    string // the help of --last; "" for no such flag
	offered words  // completions of an id
	find    func(ctx context.Context, c *api.Client, p api.Prefix) ([]string, error)
	newest  func(ctx context.Context, c *api.Client) (string, error) // nil for none
}

var aThread = subject{
	noun: "thread", none: "there is no thread", list: "apbridge threads ls", last: "use the thread that changed last instead of THREAD", offered: threadWords,
	find: func(ctx context.Context, c *api.Client, p api.Prefix) ([]string, error) { return c.ThreadIDs(ctx, p) },
	newest: func(ctx context.Context, c *api.Client) (string, error) {
		list, err := c.Threads(ctx, api.ThreadFilter{Limit: 1})
		if err != nil || len(list) == 0 {
			return "", err
		}
		return list[0].ID, nil
	},
}

// aRun returns the subject for runs. --last means the newest run, or the newest in one of the states.
func aRun(states ...string) subject {
	s := subject{
		noun: "run", none: "there is no run", list: "apbridge runs ls", last: "use the newest run instead of RUN", offered: runWords(),
		find:   func(ctx context.Context, c *api.Client, p api.Prefix) ([]string, error) { return c.RunIDs(ctx, p) },
		newest: func(ctx context.Context, c *api.Client) (string, error) { return newestRun(ctx, c, states) },
	}
	if len(states) > 0 {
		s.none = "no run is " + strings.Join(states, " or ")
		s.last = "use the newest run that is " + strings.Join(states, " or ") + " instead of RUN"
	}
	return s
}

func newestRun(ctx context.Context, c *api.Client, states []string) (newest string, err error) {
	if len(states) == 0 {
		states = []string{""}
	}
	for _, state := range states {
		list, err := runSearch{state: state, limit: 1}.runs(ctx, c)
		if err != nil {
			return "", err
		}
		if len(list) > 0 && list[0].ID > newest { // ids increase with time
			newest = list[0].ID
		}
	}
	return newest, nil
}

// id returns the id that begins with a word.
func (s subject) id(ctx context.Context, c *api.Client, word string) (string, error) {
	if !api.IsPrefix(word) {
		return word, nil
	}
	ids, err := s.find(ctx, c, api.Prefix(strings.ToLower(word)))
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("no %s has an id that begins with %s; to list them: %s", s.noun, word, s.list)
	case len(ids) > 1:
		return "", fmt.Errorf("more than one %s has an id that begins with %s, such as %s and %s; use a longer prefix", s.noun, word, ids[0], ids[1])
	}
	return ids[0], nil
}

// named returns the id from the arguments or --last, and the other arguments.
func (s subject) named(ctx context.Context, c *api.Client, args []string, last bool) (id string, rest []string, err error) {
	if !last {
		id, err = s.id(ctx, c, args[0])
		return id, args[1:], err
	}
	id, err = s.newest(ctx, c)
	if err == nil && id == "" {
		err = errors.New(s.none)
	}
	return id, args, err
}

// about sets up a command for a run or a thread that takes up to further arguments after the id.
func (r *remote) about(s subject, cmd *cobra.Command, further int, do func(ctx context.Context, c *api.Client, id string, rest []string) error) *cobra.Command {
	last := false
	if s.last != "" {
		cmd.Flags().BoolVarP(&last, "last", "l", false, s.last)
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if last {
			return cobra.MaximumNArgs(further)(cmd, args)
		}
		return cobra.RangeArgs(1, 1+further)(cmd, args)
	}
	cmd.ValidArgsFunction = r.completed(1, s.offered)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		id, rest, err := s.named(cmd.Context(), c, args, last)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, id, rest)
	}
	return cmd
}

// ofOne is about without further arguments.
func (r *remote) ofOne(s subject, cmd *cobra.Command, do func(ctx context.Context, c *api.Client, id string) error) *cobra.Command {
	return r.about(s, cmd, 0, func(ctx context.Context, c *api.Client, id string, _ []string) error { return do(ctx, c, id) })
}

// shortest is the minimum length of ids in lists. It covers the time in the id, with milliseconds.
const shortest = len("01234567-89ab")

// shortened returns the number of characters at which ids are unique.
func shortened(ids []string) int {
	n := shortest
	for seen := map[string]string{}; ; clear(seen) {
		alike := false
		for _, id := range ids {
			if len(id) <= n {
				continue
			}
			other, ok := seen[id[:n]]
			alike = alike || ok && other != id
			seen[id[:n]] = id
		}
		if !alike {
			return n
		}
		n++
	}
}

// short returns the beginning of an id.
func short(id string, n int) string { return id[:min(n, len(id))] }
