package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"go.uber.org/zap"
)

// Options configures the target database.
type Options = sqldb.Options

// Import writes an export into the database at dsn, which must be empty and not used by a bridge. It runs in one
// transaction: if it fails or the process dies, the database stays empty. Only a few rows are in memory at a time.
func Import(ctx context.Context, dsn string, o Options, r io.Reader, log *zap.Logger, said Rows) (found *Contents, err error) {
	in := &importer{ctx: ctx, lines: newLines(r), said: said}
	if err := in.header(); err != nil {
		return nil, err // before the database is created
	}
	err = sqldb.Fill(ctx, dsn, o, log, func(t *sqldb.Tx) error {
		in.tx = t
		if err := in.prepare(); err != nil {
			return err
		}
		if err := in.all(); err != nil {
			return err
		}
		found, err = contents(t)
		return err
	})
	if err != nil && in.at != "" && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w; nothing was imported", in.at, err)
	}
	return found, err
}

type importer struct {
	ctx      context.Context
	tx       *sqldb.Tx
	lines    *lines
	said     Rows
	rows     int64
	waiting  int // rows whose insertion the database has not confirmed yet
	waitSize int
	at       string // position for errors while rows are read
}

func (in *importer) header() error {
	line, err := in.lines.first()
	if errors.Is(err, io.EOF) {
		err = errNoExport
	}
	if err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	h, err := headerOf(line)
	switch {
	case err != nil:
		return fmt.Errorf("line 1: %w", err)
	case h.format != format:
		return fmt.Errorf("line 1: the export has version %d of the format, and this apbridge reads version %d. Import it with the version that created it", h.format, format)
	case h.schema != sqldb.Schema():
		return fmt.Errorf("line 1: the export has the tables of another version of apbridge (schema %d, this one has %d). Import it with the version that created it; that database is brought up to date when this version starts with it", h.schema, sqldb.Schema())
	}
	return nil
}

// prepare refuses a database that is in use or contains data, and empties the tables that a bridge fills itself.
func (in *importer) prepare() error {
	if err := in.tx.Alone(names()); err != nil {
		return err
	}
	if err := in.refuseBridges(); err != nil {
		return err
	}
	for i := range tables {
		if err := in.prepareTable(&tables[i]); err != nil {
			return err
		}
	}
	return nil
}

func (in *importer) refuseBridges() error {
	var n int64
	if err := in.tx.Get(`SELECT count(*) FROM processes WHERE until_us > $1`, []any{in.tx.Now}, []any{&n}); err != nil {
		return err
	}
	if n > 0 && in.tx.Shared() {
		return errors.New("a bridge uses the database. Stop it, wait a few seconds, and import again")
	}
	return nil
}

// prepareTable empties a table that a bridge fills itself, and refuses rows in any other.
func (in *importer) prepareTable(t *table) error {
	if t.own {
		text := `DELETE FROM ` + t.name
		if t.only != "" {
			text += ` WHERE ` + t.only
		}
		_, err := in.tx.Exec(text)
		return err
	}
	var n int64
	if err := in.tx.Get(`SELECT count(*) FROM (SELECT 1 FROM `+t.name+` LIMIT 1) found`, nil, []any{&n}); err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("the database already contains data (in table %s), but an import needs an empty one. Choose another with --database", t.name)
	}
	return nil
}

// all imports the rows up to the end line.
func (in *importer) all() error {
	for {
		in.at = fmt.Sprintf("line %d", in.lines.number+1)
		if err := in.ctx.Err(); err != nil {
			return err
		}
		line, err := in.lines.next()
		if errors.Is(err, io.EOF) {
			return errors.New("the export ends here without its last line, {\"end\":…}: it is truncated. Export again")
		}
		if err != nil {
			return err
		}
		done, err := in.line(line)
		if done || err != nil {
			return err
		}
	}
}

func (in *importer) line(line []byte) (done bool, err error) {
	name, row, err := rowOf(line)
	if err != nil {
		return false, err
	}
	if name == "end" {
		return true, in.finish(row)
	}
	t := tableOf(name)
	if t == nil {
		return false, fmt.Errorf("there is no table %q", name)
	}
	args, err := t.values(row)
	if err != nil {
		return false, err
	}
	return false, in.add(t, args, len(line))
}

// Limits of a batch sent to a database over a network, in rows and bytes.
const (
	waitingMost  = 200
	waitingBytes = 1 << 20
)

func (in *importer) add(t *table, args []any, size int) error {
	t.seal(in.tx, args)
	in.rows++
	in.waiting++
	in.waitSize += size
	if in.tx.Shared() && in.waiting < waitingMost && in.waitSize < waitingBytes {
		return in.tx.Put(t.insertion(), args...)
	}
	if in.tx.Shared() && in.waiting > 1 {
		in.at = fmt.Sprintf("lines %d to %d", in.lines.number-in.waiting+1, in.lines.number)
	}
	in.waiting, in.waitSize = 0, 0
	_, err := in.tx.Exec(t.insertion(), args...)
	in.said(in.rows)
	return err
}

// finish compares the number of rows, and moves key sequences past the imported keys.
func (in *importer) finish(said map[string]json.RawMessage) error {
	if want := string(said["rows"]); want != fmt.Sprint(in.rows) {
		return fmt.Errorf("according to the last line there are %s rows before it, but there are %d: the export is incomplete", want, in.rows)
	}
	if _, err := in.lines.next(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the last line")
	}
	in.at = fmt.Sprintf("lines %d to %d", max(2, in.lines.number-in.waiting), in.lines.number)
	for i := range tables {
		if t := &tables[i]; t.keyed {
			if err := in.tx.KeysGiven(t.name); err != nil {
				return err
			}
		}
	}
	return nil
}
