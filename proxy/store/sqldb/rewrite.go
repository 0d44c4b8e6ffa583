package sqldb

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Overwriting runs do. Until do returns, data deleted from a SQLite file is overwritten with zeros, as with
// Options.SecureDelete. If calls overlap, the first one to end turns overwriting off for all. PostgreSQL is not
// affected.
func (d *DB) Overwriting(ctx context.Context, do func() error) error {
	if err := d.on.overwrite(ctx, true); err != nil {
		return d.on.classify(err)
	}
	err := do()
	return errors.Join(err, d.on.classify(d.on.overwrite(context.WithoutCancel(ctx), false)))
}

// Rewrite rebuilds a SQLite file from its live data and empties its write-ahead log, so that neither contains deleted
// data. Writes wait until it is done. It needs free space for another copy of the file, next to it and in the system's
// temporary folder. An error of class Unavailable means that a reader prevented emptying the log. done is false for
// PostgreSQL, where the server runs VACUUM.
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

// vacuum runs VACUUM. Its temporary copy goes to disk, because in memory it would be as large as the database. The
// temporary file has no name.
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

// readersPatience is the maximum time for which emptyLog waits for readers of an older state of the file. readersEvery
// is the interval at which it checks.
const (
	readersPatience = 30 * time.Second
	readersEvery    = 100 * time.Millisecond
)

// emptyLog moves the log into the file and truncates the log. It waits for readers of an older state.
func (d *sqlite) emptyLog(ctx context.Context, patience time.Duration) error {
	for end := time.Now().Add(patience); ; {
		busy := int64(0)
		err := d.writer.betweenTransactions(ctx, func(conn *sqlite3.Conn) error {
			if err := d.present(); err != nil {
				return err
			}
			conn.SetBusyTimeout(readersEvery) // writes wait just as long
			defer conn.SetBusyTimeout(busyTimeout)
			return sqliteTx{conn}.get(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, []any{&busy, nil, nil})
		})
		switch {
		case err != nil || busy == 0:
			return err
		case time.Now().After(end):
			return mapping.Errorf(mapping.Unavailable, codeLogInUse,
				"Another program, such as a backup, is reading the database, so its write-ahead log still contains the deleted data. Try again when that program has finished.")
		}
		if err := pause.For(ctx, readersEvery); err != nil {
			return err
		}
	}
}
