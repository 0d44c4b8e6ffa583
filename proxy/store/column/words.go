package column

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// Said returns text as the parameter of a column of bodies (sqldb.Tx.Sealed).
func Said(t *sqldb.Tx, text, column string, row ...any) any {
	if t.Sealing() {
		return t.Sealed([]byte(text), column, row...)
	}
	return words(text)
}

// words is text as a parameter of a column of bytes. Unlike []byte(s) it takes no copy of a long text on SQLite, which
// keeps the same bytes.
type words string

// BytesValue returns the argument for PostgreSQL (pgtype.BytesValuer).
func (w words) BytesValue() ([]byte, error) { return []byte(w), nil }
