package archive

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Backup copies the SQLite database at path into a file that is empty or missing, and returns what the copy contains. A
// bridge may be using the database. When Backup returns, the copy is complete and on disk. After an error the file is
// unusable.
func Backup(ctx context.Context, path, file string, said sqldb.Progress) (*Contents, error) {
	if err := sqldb.CopySQLite(ctx, path, file, said); err != nil {
		return nil, err
	}
	return inspect(ctx, file)
}

// Restore creates the SQLite database at path from a backup. There must be no database there and no bridge using it.
// After an error there is no database.
func Restore(ctx context.Context, file, path string, said sqldb.Progress) (*Contents, error) {
	if _, err := check(ctx, file); err != nil {
		return nil, err
	}
	if err := sqldb.RestoreSQLite(ctx, file, path, said); err != nil {
		return nil, err
	}
	return inspect(ctx, path)
}

// Check checks a backup and returns what it contains.
func Check(ctx context.Context, file string) (*Contents, error) {
	if err := sqldb.CheckSQLite(ctx, file); err != nil {
		return nil, err
	}
	return check(ctx, file)
}

// check returns an error if this version cannot read the backup.
func check(ctx context.Context, file string) (*Contents, error) {
	found, err := inspect(ctx, file)
	if err != nil {
		return nil, err
	}
	return found, sqldb.Known(file, found.Schema)
}

func inspect(ctx context.Context, path string) (found *Contents, err error) {
	err = sqldb.Look(ctx, path, nil, func(t *sqldb.Tx) (err error) {
		found, err = contents(t)
		return err
	})
	return found, err
}
