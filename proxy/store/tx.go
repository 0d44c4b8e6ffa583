package store

// in and out are the parameters of a statement and where its columns go.
type (
	in  = []any
	out = []any
)

// statements is one connection in the middle of an operation: a sqliteTx or
// a *pgTx.
type statements interface {
	exec(text string, args in) (int64, error)
	put(text string, args in) error
	get(text string, args in, dest out) error
	insert(text string, args in) (key int64, err error)
	until(text string, args in, row func(scan func(...any) error) (more bool, err error)) error
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
func (t *tx) get(text string, args in, dest out) error { return t.on.get(text, args, dest) }

// insert adds one row and tells the key it was given (the column id);
// sql.ErrNoRows when the text says that a conflict adds none.
func (t *tx) insert(text string, args ...any) (key int64, err error) {
	return t.on.insert(text, args)
}

// each calls row for every row. row must not use the same tx.
func (t *tx) each(text string, args in, row func(scan func(...any) error) error) error {
	return t.until(text, args, func(scan func(...any) error) (bool, error) { return true, row(scan) })
}

// until is each that goes on while row says so.
func (t *tx) until(text string, args in, row func(scan func(...any) error) (more bool, err error)) error {
	return t.on.until(text, args, row)
}

// after has f run once the operation is committed.
func (t *tx) after(f func()) { t.committed = append(t.committed, f) }

// hold keeps other operations away from a thread until this one is over. What
// decides about a thread and its runs is read after it. The row of a thread's
// numbers stands for the thread; it is taken before rows of runs, by everybody,
// so that nobody waits in a circle. A single writer needs none of that.
func (t *tx) hold(thread int64) error {
	if !t.on.shared() {
		return nil
	}
	return t.put(`SELECT 1 FROM thread_seq WHERE thread = $1 FOR UPDATE`, thread)
}

// holdNamed is hold of a thread whose key is not known, and is read next. One that is
// not there is no error.
func (t *tx) holdNamed(tenant, id string) error {
	if !t.on.shared() {
		return nil
	}
	return t.put(`SELECT 1 FROM thread_seq q JOIN threads h ON h.id = q.thread WHERE h.tenant = $1 AND h.thread_id = $2 FOR UPDATE OF q`, tenant, id)
}
