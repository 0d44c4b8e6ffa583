package store

// statements is one connection in the middle of an operation: a sqliteTx or
// a *pgTx.
type statements interface {
	exec(text string, args []any) (int64, error)
	put(text string, args []any) error
	get(text string, args []any, dest []any) error
	insert(text string, args []any) (key int64, err error)
	until(text string, args []any, row func(scan func(...any) error) (more bool, err error)) error
	// shared reports whether others may change the database meanwhile.
	shared() bool
}

// tx is what an operation works with. Its statements see each other's effects.
type tx struct {
	on        statements
	now       int64    // microseconds, one value for the whole operation
	committed []func() // run after the commit, before the caller hears of it
}

// exec runs a statement and tells how many rows it changed.
func (t *tx) exec(text string, args ...any) (int64, error) { return t.on.exec(text, args) }

// put runs a statement nobody needs the count of. It may fail later, at the
// latest when the operation is committed, and then with all of it.
func (t *tx) put(text string, args ...any) error { return t.on.put(text, args) }

// get reads one row, also of a statement that writes and returns; sql.ErrNoRows when there is none.
func (t *tx) get(text string, args []any, dest []any) error { return t.on.get(text, args, dest) }

// insert adds one row and tells the key it was given (the column id);
// sql.ErrNoRows when the text says that a conflict adds none.
func (t *tx) insert(text string, args ...any) (key int64, err error) {
	return t.on.insert(text, args)
}

// each calls row for every row. row must not use the same tx.
func (t *tx) each(text string, args []any, row func(scan func(...any) error) error) error {
	return t.until(text, args, func(scan func(...any) error) (bool, error) { return true, row(scan) })
}

// until is each that goes on while row says so.
func (t *tx) until(text string, args []any, row func(scan func(...any) error) (more bool, err error)) error {
	return t.on.until(text, args, row)
}

// shared reports whether others may change the database meanwhile.
func (t *tx) shared() bool { return t.on.shared() }

// after has f run once the operation is committed.
func (t *tx) after(f func()) { t.committed = append(t.committed, f) }
