package sqldb

import (
	"database/sql"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	sqlite3 "zombiezen.com/go/sqlite"
)

// sqliteTx is a SQLite connection during an operation. It does not use database/sql, which queries the names of
// parameters and the types of columns at every execution. Migrations do use database/sql, as goose requires it. Not
// safe for concurrent use.
//
// The connection keeps every statement that was prepared on it. So the number of different texts must be bounded: lists
// of variable length are padded (filledUp of package store).
type sqliteTx struct{ conn *sqlite3.Conn }

// prepare binds a statement's arguments. The caller calls finish.
func (x sqliteTx) prepare(text string, args []any) (*sqlite3.Stmt, error) {
	st, err := x.conn.Prepare(text)
	if err != nil {
		return nil, err
	}
	return st, bind(st, args)
}

// finish resets a statement and frees its arguments, which may be large.
func finish(st *sqlite3.Stmt) {
	_ = st.Reset()
	_ = st.ClearBindings()
}

func (x sqliteTx) exec(text string, args []any) (int64, error) {
	st, err := x.prepare(text, args)
	if err != nil {
		return 0, err
	}
	defer finish(st)
	for more := true; more && err == nil; {
		more, err = st.Step()
	}
	return int64(x.conn.Changes()), err
}

func (x sqliteTx) put(text string, args []any) error {
	_, err := x.exec(text, args)
	return err
}

// insert reads the key from the connection, which is cheaper than returning it as a row.
func (x sqliteTx) insert(text string, args []any) (key int64, err error) {
	n, err := x.exec(text, args)
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return 0, err
	}
	return x.conn.LastInsertRowID(), nil
}

func (x sqliteTx) get(text string, args []any, dest []any) error {
	found := false
	err := x.until(text, args, func(scan func(...any) error) (more bool, err error) {
		found = true
		return false, scan(dest...)
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

func (x sqliteTx) until(text string, args []any, row func(scan func(...any) error) (more bool, err error)) error {
	st, err := x.prepare(text, args)
	if err != nil {
		return err
	}
	defer finish(st)
	columns := func(dest ...any) error { return scan(st, dest) }
	for {
		found, err := st.Step()
		if err != nil || !found {
			return err
		}
		if more, err := row(columns); err != nil || !more {
			return err
		}
	}
}

// shared returns false: only the writer changes the database.
func (sqliteTx) shared() bool { return false }

// bind binds the parameter $n to the nth argument. It uses the parameter's name, because SQLite numbers parameters in
// the order of their first use in the text.
func bind(st *sqlite3.Stmt, args []any) error {
	if n := st.BindParamCount(); n != len(args) {
		return fmt.Errorf("store: %d arguments for %d parameters", len(args), n)
	}
	for i := range args {
		name := st.BindParamName(i + 1)
		n, err := strconv.Atoi(strings.TrimPrefix(name, "$"))
		if err != nil || n < 1 || n > len(args) {
			return fmt.Errorf("store: there is no argument for the parameter %q", name)
		}
		if err := bindOne(st, i+1, reflect.ValueOf(args[n-1])); err != nil {
			return err
		}
	}
	return nil
}

// bindOne binds one value. Nil pointers and nil slices become NULL.
func bindOne(st *sqlite3.Stmt, at int, v reflect.Value) error {
	switch {
	case !v.IsValid(), (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && v.IsNil():
		st.BindNull(at)
	case v.Kind() == reflect.Pointer:
		return bindOne(st, at, v.Elem())
	case v.Kind() == reflect.String:
		st.BindText(at, v.String())
	case v.Kind() == reflect.Bool:
		st.BindBool(at, v.Bool())
	case v.CanInt():
		st.BindInt64(at, v.Int())
	case v.CanFloat():
		st.BindFloat(at, v.Float())
	case bytesLike(v):
		st.BindBytes(at, v.Bytes())
	default:
		return fmt.Errorf("store: an argument is a %s", v.Type())
	}
	return nil
}

func bytesLike(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8
}

// scan reads the columns of the current row. Columns with a nil destination are skipped.
func scan(st *sqlite3.Stmt, dest []any) error {
	if n := st.ColumnCount(); n != len(dest) {
		return fmt.Errorf("store: %d places for %d columns", len(dest), n)
	}
	for i, d := range dest {
		if d == nil {
			continue
		}
		if err := scanOne(st, i, d); err != nil {
			return fmt.Errorf("store: column %s: %w", st.ColumnName(i), err)
		}
	}
	return nil
}

func scanOne(st *sqlite3.Stmt, at int, dest any) error {
	if room, ok := dest.(*Buffer); ok {
		*room = columnBytes(st, at, *room)
		return nil
	}
	v := reflect.ValueOf(dest).Elem()
	switch {
	case bytesLike(v):
		v.SetBytes(columnBytes(st, at, nil))
	case st.ColumnIsNull(at):
		return fmt.Errorf("NULL cannot be scanned into a %T", dest)
	case v.Kind() == reflect.String:
		v.SetString(st.ColumnText(at))
	case v.Kind() == reflect.Bool:
		v.SetBool(st.ColumnInt64(at) != 0)
	case v.CanInt():
		v.SetInt(st.ColumnInt64(at))
	case v.CanFloat():
		v.SetFloat(st.ColumnFloat(at))
	default:
		return fmt.Errorf("cannot scan into a %s", v.Type())
	}
	return nil
}

// columnBytes copies a column into room, or into new memory if room is too small. It returns nil for NULL.
func columnBytes(st *sqlite3.Stmt, at int, room []byte) []byte {
	if st.ColumnIsNull(at) {
		return nil
	}
	n := st.ColumnLen(at)
	if cap(room) < n || room == nil {
		room = make([]byte, n)
	}
	room = room[:n]
	st.ColumnBytes(at, room)
	return room
}
