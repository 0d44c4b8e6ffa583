package sqldb

import "fmt"

// Buffer scans a column's bytes into memory that is reused for the next row.
type Buffer []byte

// Scan implements sql.Scanner. It sets the buffer to nil only for NULL.
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
