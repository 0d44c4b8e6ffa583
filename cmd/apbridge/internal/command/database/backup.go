package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/spf13/cobra"
)

// Backup returns the command apbridge backup.
func Backup(process *console.Process) *cobra.Command {
	p := &program{process}
	var from databaseFlags
	over := false
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy a SQLite database, even while a bridge uses it",
		Long: `backup copies the database to FILE as of one moment, including its write-ahead log, and
checks the copy. The bridge may keep running. Until the copy is complete it is named
FILE.*.partial. It contains all conversations: protect it like the database.
For PostgreSQL it prints the pg_dump command to use.`,
		Example: `  apbridge backup apbridge-2026-05-01.db
  apbridge backup --config apbridge.yaml --force /backups/apbridge.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := from.load(p.Environ)
			if err != nil {
				return err
			}
			if isServer(cfg.Database) {
				return console.Misuse("the database is PostgreSQL; back it up with its own program, even while bridges use it: " + forServer("pg_dump --format=custom --file='"+args[0]+"'", cfg.Database))
			}
			return p.backup(cmd.Context(), cfg.Database, args[0], over)
		},
	}
	from.add(cmd.Flags())
	cmd.Flags().BoolVar(&over, "force", false, "overwrite FILE")
	return cmd
}

func (p *program) backup(ctx context.Context, database, file string, over bool) error {
	return p.keepWhole(file, over, func(path string) (*archive.Contents, error) {
		said, end := p.copying()
		defer end()
		return archive.Backup(ctx, database, path, said)
	})
}

// keepWhole writes a file under a temporary name, renames it when it is complete, and prints its contents.
func (p *program) keepWhole(file string, over bool, write func(path string) (*archive.Contents, error)) error {
	d, err := console.Draft(file, over)
	if err != nil {
		return err
	}
	held, err := write(d.Path)
	if err != nil {
		return errors.Join(err, d.Drop())
	}
	if err := d.Keep(); err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "%s contains %s.\n", file, held)
	return nil
}

// Restore returns the command apbridge restore.
func Restore(process *console.Process) *cobra.Command {
	p := &program{process}
	var to databaseFlags
	only := false
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore the database from a backup, or check the backup",
		Long: `restore checks the backup FILE and copies it to the configured database, which must not
exist or be in use. The next start migrates it and continues the runs that were in
progress at the time of the backup.
For PostgreSQL it prints the pg_restore command to use.`,
		Example: `  apbridge restore --check apbridge-2026-05-01.db
  apbridge restore apbridge-2026-05-01.db --database /var/lib/apbridge/apbridge.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := to.load(p.Environ)
			switch {
			case err != nil:
				return err
			case only:
				return p.checkBackup(cmd.Context(), args[0])
			case isServer(cfg.Database):
				return console.Misuse("the database is PostgreSQL; restore a file of pg_dump with its own program: " + forServer("pg_restore --exit-on-error --single-transaction", cfg.Database) + " '" + args[0] + "'. To read an export, use apbridge import")
			}
			return p.restore(cmd.Context(), args[0], cfg.Database)
		},
	}
	to.add(cmd.Flags())
	cmd.Flags().BoolVar(&only, "check", false, "only check FILE and print a summary")
	return cmd
}

func (p *program) checkBackup(ctx context.Context, file string) error {
	held, err := archive.Check(ctx, file)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "%s is complete. It contains %s.\n", file, held)
	return nil
}

func (p *program) restore(ctx context.Context, file, database string) error {
	said, end := p.copying()
	held, err := archive.Restore(ctx, file, database, said)
	end()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "Restored %s. It contains %s.\n", database, held)
	return nil
}
