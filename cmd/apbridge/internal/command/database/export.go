package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// Export returns the command apbridge export.
func Export(process *console.Process) *cobra.Command {
	p := &program{process}
	var from databaseFlags
	over := false
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Export the whole database as JSON lines",
		Long: `export writes every row of the database to FILE, one JSON object a line, as of one moment;
- is standard output. Use it to move between SQLite and PostgreSQL with import. Stop the
bridge first, or later changes will be missing. The export is plain text, even with
encryption.keys. docs/operations.md describes the format.`,
		Example: `  apbridge export all.ndjson
  apbridge export - | gzip > all.ndjson.gz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := from.load(p.Environ)
			if err != nil {
				return err
			}
			if args[0] == console.Standard {
				_, err := p.exportTo(cmd.Context(), cfg, p.Out)
				return err
			}
			return p.export(cmd.Context(), cfg, args[0], over)
		},
	}
	from.add(cmd.Flags())
	cmd.Flags().BoolVar(&over, "force", false, "overwrite FILE")
	return cmd
}

func (p *program) export(ctx context.Context, cfg *config.Config, file string, over bool) error {
	return p.keepWhole(file, over, func(path string) (*archive.Contents, error) { return p.exportInto(ctx, cfg, path) })
}

func (p *program) exportInto(ctx context.Context, cfg *config.Config, path string) (*archive.Contents, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	held, err := p.exportTo(ctx, cfg, f)
	return held, errors.Join(err, f.Close())
}

func (p *program) exportTo(ctx context.Context, cfg *config.Config, w io.Writer) (*archive.Contents, error) {
	keys, err := bridge.Keys(cfg.Encryption)
	if err != nil {
		return nil, err
	}
	if len(keys.Keys()) > 0 {
		fmt.Fprintln(p.Err, "The export is plain text, including data that encryption.keys encrypts in the database.")
	}
	said, end := p.counting("exporting")
	defer end()
	return archive.Export(ctx, cfg.Database, keys, w, said)
}

// Import returns the command apbridge import.
func Import(process *console.Process) *cobra.Command {
	p := &program{process}
	var to databaseFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import an export into an empty database",
		Long: `import writes the export FILE to an empty SQLite or PostgreSQL database that no bridge
uses; - is standard input. A missing SQLite file is created. The import is one transaction: if it
fails or is stopped, nothing is imported.`,
		Example: `  apbridge import all.ndjson --database postgres://user@127.0.0.1:5432/apbridge
  gunzip < all.ndjson.gz | apbridge import - --database new.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := to.load(p.Environ)
			if err != nil {
				return err
			}
			if args[0] == console.Standard && p.In != nil {
				return p.imported(cmd.Context(), cfg, "standard input", p.In)
			}
			f, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("%s cannot be read: %w; choose a file written by apbridge export", args[0], console.ReasonOf(err))
			}
			defer f.Close()
			return p.imported(cmd.Context(), cfg, args[0], f)
		},
	}
	to.add(cmd.Flags())
	return cmd
}

func (p *program) imported(ctx context.Context, cfg *config.Config, name string, r io.Reader) error {
	keys, err := bridge.Keys(cfg.Encryption)
	if err != nil {
		return err
	}
	said, end := p.counting("importing")
	held, err := archive.Import(ctx, cfg.Database, archive.Options{Synchronous: cfg.Synchronous, Limit: int64(cfg.Limits.Database), Keys: keys}, r, zap.NewNop(), said)
	end()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(p.Out, "%s contains %s.\n", namedDatabase(cfg.Database), held)
	return nil
}
