package item

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// TokenRows returns the number of rows of tokens.
func (s *Table) TokenRows(ctx context.Context) (n int, err error) {
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error { return t.Get(`SELECT COUNT(*) FROM item_tokens`, nil, sqldb.Out{&n}) })
	return n, err
}

// VectorRows returns the number of items that have a row for their vectors.
func (s *Table) VectorRows(ctx context.Context) (n int, err error) {
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error { return t.Get(`SELECT COUNT(*) FROM item_vectors`, nil, sqldb.Out{&n}) })
	return n, err
}

// VectorBytes returns the number of bytes of vectors in memory.
func (s *Table) VectorBytes() int64 {
	s.vectors.mu.Lock()
	defer s.vectors.mu.Unlock()
	return s.vectors.size
}

// Exec changes the tables as another version or an operator might have.
func (s *Table) Exec(ctx context.Context, statements ...string) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		for _, text := range statements {
			if err := t.Put(text); err != nil {
				return err
			}
		}
		return nil
	})
}
