package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
)

// personal holds the owner whose data a command handles, and the bridge with the data.
type personal struct {
	remote
	owner, tenant string
}

// Data returns the command apbridge data.
func Data(p *console.Process) *cobra.Command {
	d := &personal{remote: remote{p: p}}
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Count, export and delete one owner's data",
		Long: `data counts, exports and deletes all data that a running bridge keeps for one owner, a key
or a person: threads, runs, files, items, assistants, crons, webhooks, and agents'
copies of threads. docs/privacy.md lists the data that is not included.

It requires a key with the right admin in the owner's tenant. For another --tenant, use a
key without a tenant that lists admin in its rights.`,
		Example: `  apbridge data ls --owner corp:alice
  apbridge data export --owner corp:alice --out alice.tar
  apbridge data rm --owner corp:alice`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	d.add(cmd)
	cmd.AddCommand(d.ls(), d.export(), d.rm())
	return cmd
}

// aboutOwner sets up a command for one owner.
func (d *personal) aboutOwner(cmd *cobra.Command, do func(ctx context.Context, c *api.Client, who api.Owner) error) *cobra.Command {
	cmd.Flags().StringVar(&d.owner, "owner", "", "`OWNER` of the data: the id of a key, or ISSUER:SUBJECT of a token")
	cmd.Flags().StringVar(&d.tenant, "tenant", "", "the owner's `TENANT` (default: that of the key)")
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if d.owner == "" {
			return console.Misuse("flag --owner is required: the id of a key, or ISSUER:SUBJECT of a token")
		}
		c, err := d.client()
		if err != nil {
			return err
		}
		who := api.Owner{ID: d.owner}
		if cmd.Flags().Changed("tenant") {
			who.Tenant = &d.tenant
		}
		return do(cmd.Context(), c, who)
	}
	return cmd
}

func (d *personal) ls() *cobra.Command {
	return d.aboutOwner(&cobra.Command{
		Use:   "ls",
		Short: "Count an owner's data and list agents with copies",
		Long: `ls counts an owner's data by kind, with the total size and the oldest and newest
time, and lists the agents that have copies of threads. -o json also prints their ids.`,
		Example: `  apbridge data ls --owner corp:alice
  apbridge data ls --owner corp:alice --tenant acme -o json`,
	}, func(ctx context.Context, c *api.Client, who api.Owner) error {
		h, err := c.Held(ctx, who)
		if err != nil {
			return err
		}
		if d.json() {
			return d.printJSON(h.Whole)
		}
		return d.printHeld(h)
	})
}

func (d *personal) printHeld(h api.Held) error {
	if len(h.Kinds) == 0 {
		fmt.Fprintf(d.p.Out, "There is no data of %s.\n", ownerOf(h))
		return nil
	}
	rows := [][]string{}
	for _, k := range h.Kinds {
		rows = append(rows, []string{k.Kind, fmt.Sprint(k.Count), fmt.Sprint(k.Bytes), exactTime(k.Oldest), exactTime(k.Newest)})
	}
	if err := table(d.p.Out, "KIND COUNT BYTES OLDEST NEWEST", rows); err != nil {
		return err
	}
	for _, a := range h.Copies {
		fmt.Fprintf(d.p.Out, "agent %s, copies of threads: %d%s\n", a.Agent, a.Count, because("; it cannot delete them: ", a.Stays))
	}
	if len(h.Guest) > 0 {
		fmt.Fprintf(d.p.Out, "on threads of other owners: %s\n", strings.Join(h.Guest, ", "))
	}
	return nil
}

func because(words, why string) string {
	if why == "" {
		return ""
	}
	return words + why
}

func ownerOf(h api.Held) string {
	if h.Tenant == "" {
		return h.Owner
	}
	return h.Owner + " of tenant " + h.Tenant
}

func (d *personal) export() *cobra.Command {
	file, over := "", false
	cmd := d.aboutOwner(&cobra.Command{
		Use:   "export",
		Short: "Export an owner's data as a tar archive",
		Long: `export writes an owner's data to a tar archive: conversations, files, and every row of the
database as JSON. README.txt in it explains the contents. A bridge cannot import it.`,
		Example: `  apbridge data export --owner corp:alice --out alice.tar
  apbridge data export --owner corp:alice --out - | tar -tf -`,
	}, func(ctx context.Context, c *api.Client, who api.Owner) error {
		switch file {
		case "":
			return console.Misuse("flag --out is required: a file to write, or - for standard output")
		case console.Standard:
			return c.ExportData(ctx, who, d.p.Out)
		}
		return d.exportInto(file, over, func(w io.Writer) error { return c.ExportData(ctx, who, w) })
	})
	cmd.Flags().StringVar(&file, "out", "", "tar `FILE` to write; - is standard output")
	cmd.Flags().BoolVar(&over, "force", false, "overwrite an existing file")
	return cmd
}

// exportInto writes an export. It leaves no incomplete file behind.
func (d *personal) exportInto(file string, over bool, write func(io.Writer) error) error {
	draft, err := console.Draft(file, over)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(draft.Path, os.O_WRONLY, 0)
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	if err != nil {
		return errors.Join(err, draft.Drop())
	}
	if err := draft.Keep(); err != nil {
		return err
	}
	if d.json() {
		return d.printJSON(map[string]string{"file": file})
	}
	fmt.Fprintf(d.p.Out, "%s contains all data of %s.\n", file, d.owner)
	return nil
}
