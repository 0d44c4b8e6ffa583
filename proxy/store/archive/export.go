package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// format is the version of the export format.
const format = 1

// Rows is called with the number of rows exported or imported so far.
type Rows func(n int64)

// Export writes all rows of a consistent snapshot of the database at dsn. A bridge may be using the database. Sealed
// bodies are opened with keys (which may be nil), because an export is plain text. Only one row is in memory at a time.
func Export(ctx context.Context, dsn string, keys *seal.Ring, w io.Writer, said Rows) (*Contents, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	var found *Contents
	err := sqldb.Look(ctx, dsn, keys, func(t *sqldb.Tx) (err error) {
		if found, err = contents(t); err != nil {
			return err
		}
		if want := sqldb.Schema(); found.Schema != want {
			return fmt.Errorf("the database has the tables of another version of apbridge (schema %d, this one has %d): %s", found.Schema, want, otherVersion(found.Schema, want))
		}
		if err := sqldb.CheckKeys(t, dsn); err != nil {
			return err
		}
		e := exporter{ctx: ctx, tx: t, out: out, said: said}
		return e.all()
	})
	if err != nil {
		return nil, err
	}
	return found, out.Flush()
}

func otherVersion(have, want int64) string {
	if have > want {
		return "export it with that version"
	}
	return "start this version once with it, which brings them up to date, or export it with that version"
}

type exporter struct {
	ctx  context.Context
	tx   *sqldb.Tx
	out  *bufio.Writer
	line []byte
	rows int64
	said Rows
}

func (e *exporter) all() error {
	if _, err := fmt.Fprintf(e.out, "{\"apbridge_export\":%d,\"schema\":%d}\n", format, sqldb.Schema()); err != nil {
		return err
	}
	for i := range tables {
		if err := e.table(&tables[i]); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(e.out, "{\"end\":{\"rows\":%d}}\n", e.rows)
	return err
}

func (e *exporter) table(t *table) error {
	row, places := make([]sqldb.Buffer, len(t.columns)), make([]any, len(t.columns))
	for i := range row {
		places[i] = &row[i]
	}
	return e.tx.Each(t.selection(), nil, func(scan func(...any) error) error {
		if err := scan(places...); err != nil {
			return err
		}
		if err := t.open(e.tx, row); err != nil {
			return err
		}
		return e.write(t, row)
	})
}

// kept is the maximum size of a line buffer that is reused for the next line.
const kept = 1 << 20

func (e *exporter) write(t *table, row []sqldb.Buffer) error {
	if err := e.ctx.Err(); err != nil {
		return err
	}
	e.line = t.line(e.line[:0], row)
	_, err := e.out.Write(e.line)
	if cap(e.line) > kept {
		e.line = nil
	}
	e.rows++
	e.said(e.rows)
	return err
}
