package sqldb

import "fmt"

// Buffer takes a column's bytes into memory that is used again for the next.
type Buffer []byte

// Scan implements sql.Scanner.
func (b *Buffer) Scan(column any) error {
	data, ok := column.([]byte)
	if !ok {
		return fmt.Errorf("store: bytes expected, not %T", column)
	}
	*b = append((*b)[:0], data...)
	return nil
}
