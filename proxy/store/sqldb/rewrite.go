package sqldb

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Overwriting runs do, during which what is deleted from a SQLite file is overwritten with zeros, as with
// Options.SecureDelete. Of calls at the same time the first that ends ends it for all. PostgreSQL is left as it is.
func (d *DB) Overwriting(ctx context.Context, do func() error) error {
	if err := d.on.overwrite(ctx, true); err != nil {
		return d.on.classify(err)
	}
	err := do()
	return errors.Join(err, d.on.classify(d.on.overwrite(context.WithoutCancel(ctx), false)))
}

// Rewrite makes a SQLite file anew from what it holds, and empties its write-ahead log: no byte of what was deleted is
// left in either. Writes wait meanwhile, and it takes as much room again as the file has, beside the file and in the
// system's folder for temporary files. An error of class Unavailable says that a reader kept the log from being
// emptied. done is false for PostgreSQL, whose VACUUM is the server's.
func (d *DB) Rewrite(ctx context.Context) (done bool, err error) {
	done, err = d.on.rewrite(ctx)
	return done, d.on.classify(err)
}

func (p *postgres) overwrite(context.Context, bool) error { return nil }

func (p *postgres) rewrite(context.Context) (done bool, err error) { return false, nil }

func (d *sqlite) overwrite(ctx context.Context, on bool) error {
	if d.zeros {
		return nil
	}
	return d.writer.betweenTransactions(ctx, func(conn *sqlite3.Conn) error { return d.exec(conn, "PRAGMA "+secureDelete(on)) })
}

func (d *sqlite) rewrite(ctx context.Context) (done bool, err error) {
	if err := d.writer.betweenTransactions(ctx, d.vacuum); err != nil {
		return false, err
	}
	return true, d.emptyLog(ctx, readersPatience)
}

// vacuum is SQLite's. Its copy goes to the disk: in memory it would be as large as the database. The file has no name
// there.
func (d *sqlite) vacuum(conn *sqlite3.Conn) (err error) {
	if err := d.present(); err != nil {
		return err
	}
	if err := d.exec(conn, "PRAGMA temp_store = FILE"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.exec(conn, "PRAGMA temp_store = MEMORY")) }()
	d.disk.commitBegins()
	defer d.disk.commitEnds()
	return d.exec(conn, "VACUUM")
}

const codeLogInUse = "log_in_use"

// How long a reader is waited for that stands on an older state of the file, and how often it is looked for.
const (
	readersPatience = 30 * time.Second
	readersEvery    = 100 * time.Millisecond
)

// emptyLog takes the log over into the file and cuts it to nothing. Readers of an older state are waited for.
func (d *sqlite) emptyLog(ctx context.Context, patience time.Duration) error {
	for end := time.Now().Add(patience); ; {
		busy := int64(0)
		err := d.writer.betweenTransactions(ctx, func(conn *sqlite3.Conn) error {
			if err := d.present(); err != nil {
				return err
			}
			conn.SetBusyTimeout(readersEvery) // writes wait as long
			defer conn.SetBusyTimeout(busyTimeout)
			return sqliteTx{conn}.get(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, []any{&busy, nil, nil})
		})
		switch {
		case err != nil || busy == 0:
			return err
		case time.Now().After(end):
			return mapping.Errorf(mapping.Unavailable, codeLogInUse,
				"Another program, such as a backup, reads the database, and so its write-ahead log still has what was deleted. Try again when that has ended.")
		}
		if err := pause.For(ctx, readersEvery); err != nil {
			return err
		}
	}
}
