package remote

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// exitKept means that the bridge removed everything it could, but some data is kept elsewhere.
const exitKept = 3

// The bridge's outcomes for an object.
const (
	wasKept   = "kept"
	wasFailed = "failed"
)

func (d *personal) rm() *cobra.Command {
	how, yes := api.Removal{}, false
	cmd := d.aboutOwner(&cobra.Command{
		Use:   "rm",
		Short: "Permanently delete an owner's data",
		Long: `rm cancels an owner's runs, asks agents to delete their copies, deletes the data, and
rewrites the SQLite file so that nothing is left. Remove the owner's key first, so that
nothing new is created. Copies that an agent cannot delete, and threads of other owners,
stay and are listed. If it is stopped, run it again.
Exit code: 0 if all was deleted, 3 if data remains elsewhere, 1 to run it again later.`,
		Example: `  apbridge data rm --owner corp:alice
  apbridge data rm --owner corp:alice --yes --leave-copies`,
	}, func(ctx context.Context, c *api.Client, who api.Owner) error {
		if !yes {
			if err := d.ask(ctx, c, who); err != nil {
				return err
			}
		}
		return d.remove(ctx, c, who, how)
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&how.LeaveCopies, "leave-copies", false, "delete threads even if the agent with a copy does not respond")
	cmd.Flags().BoolVar(&how.KeepFile, "keep-file", false, "do not rewrite the SQLite file, which is slow for large files; deleted bytes may remain")
	return cmd
}

// ask shows the data to be removed and returns nil if the user at the terminal types the owner's id.
func (d *personal) ask(ctx context.Context, c *api.Client, who api.Owner) error {
	in, ok := d.p.In.(*os.File)
	if !ok || !isatty.IsTerminal(in.Fd()) {
		return console.Misuse("cannot ask for confirmation without a terminal; use --yes to remove without confirmation")
	}
	h, err := c.Held(ctx, who)
	if err != nil {
		return err
	}
	if err := d.printHeld(h); err != nil {
		return err
	}
	fmt.Fprintf(d.p.Err, "All of this will be permanently removed. Type %s to continue: ", who.ID)
	answer, _ := bufio.NewReader(in).ReadString('\n') // an incomplete line is no confirmation
	if strings.TrimSpace(answer) != who.ID {
		return console.Misuse("nothing was removed")
	}
	return nil
}

// removalReport has the outcomes of all objects.
type removalReport struct {
	Removed map[string]int `json:"removed"`
	Kept    []api.Removed  `json:"kept"`
	Failed  []api.Removed  `json:"failed"`
}

func (r *removalReport) add(one api.Removed) {
	switch one.Outcome {
	case wasKept:
		r.Kept = append(r.Kept, one)
	case wasFailed:
		r.Failed = append(r.Failed, one)
	default:
		r.Removed[one.Kind] += max(one.Count, 1)
	}
}

func (d *personal) remove(ctx context.Context, c *api.Client, who api.Owner, how api.Removal) error {
	done := &removalReport{Removed: map[string]int{}, Kept: []api.Removed{}, Failed: []api.Removed{}}
	look, end := d.p.Shown(func() string { return "removing … " + done.count() })
	err := c.RemoveData(ctx, who, how, func(one api.Removed) { done.add(one); look() })
	end()
	if d.json() {
		if printed := d.printJSON(done); printed != nil {
			return printed
		}
	} else {
		done.print(d.p, who)
	}
	if err != nil {
		return err
	}
	return done.verdict()
}

// verdict returns the exit code as an error. Problems with the database file itself do not count as kept copies.
func (r *removalReport) verdict() error {
	elsewhere := slices.ContainsFunc(r.Kept, func(one api.Removed) bool { return one.Kind != "database" })
	switch {
	case len(r.Failed) > 0:
		return console.Ended(1)
	case elsewhere:
		return console.Ended(exitKept)
	}
	return nil
}

// count returns the number of removed objects of each kind.
func (r *removalReport) count() string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(r.Removed)) {
		if n := r.Removed[kind]; kind != "database" {
			list = append(list, fmt.Sprintf("%d %s", n, plural(kind, n)))
		}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

func plural(kind string, n int) string {
	kind = strings.TrimSuffix(kind, "s")
	switch {
	case n == 1:
		return kind
	case kind == "copy":
		return "copies of agents"
	}
	return kind + "s"
}

func (r *removalReport) print(p *console.Process, who api.Owner) {
	fmt.Fprintf(p.Out, "removed data of %s: %s\n", who.ID, r.count())
	for _, one := range r.Kept {
		switch one.Kind {
		case "copy":
			fmt.Fprintf(p.Out, "agent %s keeps %s (a copy of thread %s): %s\n", one.Agent, one.ID, one.Thread, one.Why)
		case "database":
			fmt.Fprintf(p.Out, "database: %s\n", one.Why)
		default:
			fmt.Fprintf(p.Out, "%s %s was kept: %s\n", one.Kind, one.ID, one.Why)
		}
	}
	for _, one := range r.Failed {
		subject := one.ID
		if one.Count > 0 {
			subject = fmt.Sprint(one.Count)
		}
		fmt.Fprintf(p.Err, "apbridge: %s %s: %s\n", one.Kind, subject, one.Why)
	}
}
