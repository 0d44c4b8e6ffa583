package store

import (
	"database/sql"
	"fmt"
	"reflect"

	sqlite3 "zombiezen.com/go/sqlite"
)

// bind gives a statement its arguments, the first one to the parameter $1. There
// must be as many as it has.
func (p *prepared) bind(args in) error {
	if n := p.BindParamCount(); n != len(args) {
		return fmt.Errorf("store: %d arguments for %d parameters", len(args), n)
	}
	for i, a := range args {
		if err := p.bindOne(i+1, a); err != nil {
			return err
		}
	}
	return nil
}

func (p *prepared) bindOne(at int, arg any) error {
	switch a := arg.(type) {
	case nil:
		p.BindNull(at)
	case string:
		p.text(at, a)
	case int64:
		p.BindInt64(at, a)
	case int:
		p.BindInt64(at, int64(a))
	case bool:
		p.BindBool(at, a)
	case float64:
		p.BindFloat(at, a)
	case []byte:
		p.bytes(at, a)
	default:
		simple, err := plain(arg)
		if err != nil {
			return err
		}
		return p.bindOne(at, simple)
	}
	return nil
}

// plain is an argument as one of the types that SQLite knows: nil, int64, float64,
// bool, string, []byte.
func plain(arg any) (any, error) {
	switch a := arg.(type) {
	case nil, string, int64, bool, float64, []byte:
		return arg, nil
	case int:
		return int64(a), nil
	}
	return kind(reflect.ValueOf(arg))
}

// kind takes a type of its own for what it is underneath.
func kind(v reflect.Value) (any, error) {
	switch {
	case v.Kind() == reflect.String:
		return v.String(), nil
	case v.Kind() == reflect.Bool:
		return v.Bool(), nil
	case v.CanInt():
		return v.Int(), nil
	case v.CanFloat():
		return v.Float(), nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return v.Bytes(), nil
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil, nil
	case v.Kind() == reflect.Pointer:
		return plain(v.Elem().Interface())
	}
	return nil, fmt.Errorf("store: an argument is a %s", v.Type())
}

func (p *prepared) text(at int, s string) {
	p.heavy = p.heavy || len(s) > heavyMost
	p.BindText(at, s)
}

// bytes: none at all are NULL, as with database/sql.
func (p *prepared) bytes(at int, b []byte) {
	if b == nil {
		p.BindNull(at)
		return
	}
	p.heavy = p.heavy || len(b) > heavyMost
	p.BindBytes(at, b)
}

// scan reads the columns of the row that the last step came to.
func (p *prepared) scan(dest ...any) error {
	if n := p.ColumnCount(); n != len(dest) {
		return fmt.Errorf("store: %d places for %d columns", len(dest), n)
	}
	for i, d := range dest {
		if err := p.scanOne(i, d); err != nil {
			return fmt.Errorf("store: column %s: %w", p.ColumnName(i), err)
		}
	}
	return nil
}

// scanOne: a column with a nil place is passed over.
func (p *prepared) scanOne(at int, dest any) error {
	switch d := dest.(type) {
	case nil:
		return nil
	case *[]byte:
		*d = p.fresh(at, nil)
		return nil
	case *held:
		*d = p.fresh(at, *d)
		return nil
	case sql.Scanner:
		return d.Scan(p.value(at))
	}
	if p.ColumnIsNull(at) {
		return fmt.Errorf("NULL does not go into a %T", dest)
	}
	switch d := dest.(type) {
	case *string:
		*d = p.ColumnText(at)
	case *int64:
		*d = p.ColumnInt64(at)
	case *int:
		*d = int(p.ColumnInt64(at))
	case *bool:
		*d = p.ColumnInt64(at) != 0
	case *float64:
		*d = p.ColumnFloat(at)
	default:
		return p.scanKind(at, reflect.ValueOf(dest).Elem())
	}
	return nil
}

// scanKind fills in a type of its own by what it is underneath.
func (p *prepared) scanKind(at int, v reflect.Value) error {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(p.ColumnText(at))
	case v.Kind() == reflect.Bool:
		v.SetBool(p.ColumnInt64(at) != 0)
	case v.CanInt():
		v.SetInt(p.ColumnInt64(at))
	case v.CanFloat():
		v.SetFloat(p.ColumnFloat(at))
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		v.SetBytes(p.fresh(at, nil))
	default:
		return fmt.Errorf("nothing goes into a %s", v.Type())
	}
	return nil
}

// fresh copies a column into room, or into memory of its own where that is too
// small; nil for NULL.
func (p *prepared) fresh(at int, room []byte) []byte {
	if p.ColumnIsNull(at) {
		return nil
	}
	n := p.ColumnLen(at)
	if cap(room) < n || room == nil {
		room = make([]byte, n)
	}
	room = room[:n]
	p.ColumnBytes(at, room)
	return room
}

// value is a column for a sql.Scanner.
func (p *prepared) value(at int) any {
	switch p.ColumnType(at) {
	case sqlite3.TypeInteger:
		return p.ColumnInt64(at)
	case sqlite3.TypeFloat:
		return p.ColumnFloat(at)
	case sqlite3.TypeText:
		return p.ColumnText(at)
	case sqlite3.TypeBlob:
		return p.fresh(at, nil)
	}
	return nil
}
