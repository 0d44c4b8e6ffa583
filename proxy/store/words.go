package store

// words is text as a parameter of a column of bytes. Unlike []byte(s) it takes no copy of a
// long text on SQLite, which keeps the same bytes.
type words string

// BytesValue is the argument for PostgreSQL (pgtype.BytesValuer).
func (w words) BytesValue() ([]byte, error) { return []byte(w), nil }
