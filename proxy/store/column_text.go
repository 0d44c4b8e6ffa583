package store

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// sealedText returns text as the parameter of a column of bodies (sqldb.Tx.Sealed).
func sealedText(t *sqldb.Tx, text, column string, row ...any) any {
	if t.Sealing() {
		return t.Sealed([]byte(text), column, row...)
	}
	return textBytes(text)
}

// textBytes is text as a parameter of a column of bytes. Unlike []byte(s), it does not copy a long text on SQLite.
type textBytes string

// BytesValue returns the argument for PostgreSQL (pgtype.BytesValuer).
func (w textBytes) BytesValue() ([]byte, error) { return []byte(w), nil }
