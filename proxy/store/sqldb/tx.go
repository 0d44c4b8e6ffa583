package sqldb

import (
	"database/sql"

	"github.com/apbridge/apbridge/proxy/store/clock"
)

// stmtRunner is a connection during an operation: a sqliteTx or a *pgTx.
type stmtRunner interface {
	exec(text string, args []any) (int64, error)
	put(text string, args []any) error
	get(text string, args []any, dest []any) error
	insert(text string, args []any) (key int64, err error)
	until(text string, args []any, row func(scan func(...any) error) (more bool, err error)) error
	// shared reports whether others may change the database at the same time.
	shared() bool
}

// Tx runs the statements of an operation. They see each other's effects.
type Tx struct {
	on            stmtRunner
	clock.Reading          // the same for the whole operation
	committed     []func() // run after the commit, before the caller learns of it
	keys
}

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(text string, args ...any) (int64, error) { return t.on.exec(text, args) }

// Put runs a statement whose result is not needed. It may fail as late as the commit, and then the whole operation
// fails.
func (t *Tx) Put(text string, args ...any) error { return t.on.put(text, args) }

// Get reads one row, including that of a statement that writes and returns. It returns sql.ErrNoRows if there is none.
func (t *Tx) Get(text string, args []any, dest []any) error {
	for _, d := range dest {
		if _, ok := d.(*Body); ok {
			return t.getBodies(text, args, dest)
		}
	}
	return t.on.get(text, args, dest)
}

func (t *Tx) getBodies(text string, args []any, dest []any) error {
	err := sql.ErrNoRows
	if e := t.Until(text, args, func(scan func(...any) error) (bool, error) {
		err = nil
		return false, scan(dest...)
	}); e != nil {
		return e
	}
	return err
}

// Insert adds one row and returns its generated key (column id). It returns sql.ErrNoRows if the statement ignored the
// row because of a conflict.
func (t *Tx) Insert(text string, args ...any) (key int64, err error) {
	return t.on.insert(text, args)
}

// Each calls row for every row. row must not use the same tx.
func (t *Tx) Each(text string, args []any, row func(scan func(...any) error) error) error {
	return t.Until(text, args, func(scan func(...any) error) (bool, error) { return true, row(scan) })
}

// Until is like Each, but stops when row returns false.
func (t *Tx) Until(text string, args []any, row func(scan func(...any) error) (more bool, err error)) error {
	var columns func(...any) error
	scan := func(dest ...any) error { return t.scanned(columns, dest) }
	return t.on.until(text, args, func(of func(...any) error) (more bool, err error) {
		columns = of
		return row(scan)
	})
}

// Shared reports whether others may change the database at the same time.
func (t *Tx) Shared() bool { return t.on.shared() }

// After registers f to run once the operation is committed.
func (t *Tx) After(f func()) { t.committed = append(t.committed, f) }
