package sqldb

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// pgTx is one operation on one connection. A round trip to the server costs more than most statements, so statements
// whose result is not needed are queued and sent with the next statement that needs one, or with the commit: the start
// of the transaction, locks, and calls of put. They run in order, each separately and with its own view, as if they had
// been sent one by one.
type pgTx struct {
	ctx     context.Context
	conn    *pgx.Conn
	begin   []string    // statements that start the transaction; nil once sent
	kept    []statement // not sent yet
	gave    bool        // a row was passed to the caller
	owner   string      // with receipt, the transaction's row in commits
	receipt receipt
}

type statement struct {
	text string
	args []any
}

func (c *pgTx) shared() bool { return true }

func (c *pgTx) put(text string, args []any) error {
	c.kept = append(c.kept, statement{text, args})
	return nil
}

func (c *pgTx) exec(text string, args []any) (int64, error) {
	a, err := c.send(text, args)
	if err != nil {
		return 0, err
	}
	err = a.close()
	return a.rows.CommandTag().RowsAffected(), err
}

func (c *pgTx) get(text string, args []any, dest []any) error {
	err := sql.ErrNoRows
	if e := c.until(text, args, func(scan func(...any) error) (bool, error) {
		err = nil
		return false, scan(dest...)
	}); e != nil {
		return e
	}
	return err
}

func (c *pgTx) insert(text string, args []any) (key int64, err error) {
	err = c.get(text+" RETURNING id", args, []any{&key})
	return key, err
}

func (c *pgTx) until(text string, args []any, row func(scan func(...any) error) (more bool, err error)) error {
	a, err := c.send(text, args)
	if err != nil {
		return err
	}
	for a.rows.Next() {
		c.gave = true
		if more, err := row(a.scan); err != nil || !more {
			return errors.Join(err, a.close())
		}
	}
	return a.close()
}

// answer is the result of one statement.
type answer struct {
	rows  pgx.Rows
	batch pgx.BatchResults // the batch it belongs to; nil if sent alone
}

func (a *answer) close() error {
	a.rows.Close()
	err := a.rows.Err()
	if a.batch != nil {
		err = errors.Join(err, a.batch.Close())
	}
	return err
}

// send sends all queued statements and then this one.
func (c *pgTx) send(text string, args []any) (*answer, error) {
	if c.begin == nil && len(c.kept) == 0 {
		rows, err := c.conn.Query(c.ctx, text, args...)
		return &answer{rows: rows}, err
	}
	batch, err := c.flush(statement{text, args})
	if err != nil {
		return nil, err
	}
	rows, err := batch.Query()
	if err != nil {
		return nil, errors.Join(err, batch.Close())
	}
	return &answer{rows: rows, batch: batch}, nil
}

// flush sends the queued statements and one more, whose result is the only one left to read.
func (c *pgTx) flush(last statement) (pgx.BatchResults, error) {
	var b pgx.Batch
	for _, text := range c.begin {
		b.Queue(text)
	}
	for _, st := range c.kept {
		b.Queue(st.text, st.args...)
	}
	b.Queue(last.text, last.args...)
	begin, put := c.begin, c.kept
	c.begin, c.kept = nil, nil
	results := c.conn.SendBatch(c.ctx, &b)
	for range len(begin) + len(put) {
		if _, err := results.Exec(); err != nil {
			return nil, errors.Join(err, results.Close())
		}
	}
	return results, nil
}

// untouched reports whether nothing has been sent or queued.
func (c *pgTx) untouched() bool { return c.begin != nil && len(c.kept) == 0 }

// commit sends the queued statements and ends the transaction.
func (c *pgTx) commit() error {
	if c.untouched() {
		return nil
	}
	_ = c.put(putReceipt, []any{c.owner, c.receipt.slot, c.receipt.n})
	a, err := c.send("COMMIT", nil)
	if err != nil {
		return err
	}
	if err := a.close(); err != nil {
		return err
	}
	if tag := a.rows.CommandTag().String(); tag != "COMMIT" {
		return errors.New("store: the transaction was rolled back: a statement had failed before")
	}
	return nil
}

func (c *pgTx) rollback() {
	if c.begin != nil || c.conn.IsClosed() {
		return
	}
	if _, err := c.conn.Exec(c.ctx, "ROLLBACK"); err != nil {
		_ = c.conn.Close(c.ctx) // the pool then drops the connection, and the server rolls back
	}
}

// scan reads the columns of a row with the same types as on SQLite.
func (a *answer) scan(dest ...any) error {
	to := dest
	for i, d := range dest {
		if flag, ok := d.(*bool); ok && a.rows.FieldDescriptions()[i].DataTypeOID != pgtype.BoolOID {
			to = append([]any(nil), to...)
			to[i] = (*intFlag)(flag)
		}
	}
	return a.rows.Scan(to...)
}

// intFlag scans a boolean that is stored as a number.
type intFlag bool

// ScanInt64 implements pgtype.Int64Scanner.
func (f *intFlag) ScanInt64(n pgtype.Int8) error {
	*f = intFlag(n.Int64 != 0)
	return nil
}
