package sqldb

import "fmt"

// Buffer takes a column's bytes into memory that is used again for the next.
type Buffer []byte

// Scan implements sql.Scanner. NULL is nil, and nothing else is.
func (b *Buffer) Scan(column any) error {
	switch data := column.(type) {
	case nil:
		*b = nil
	case []byte:
		*b = append((*b)[:0:cap(*b)], data...)
	case string:
		*b = append((*b)[:0:cap(*b)], data...)
	default:
		return fmt.Errorf("store: bytes expected, not %T", column)
	}
	if *b == nil && column != nil {
		*b = Buffer{}
	}
	return nil
}
