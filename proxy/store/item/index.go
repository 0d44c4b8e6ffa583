package item

import (
	"context"

	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Embedder makes vectors of texts; embedding.Client implements it. All have the length 1 and equally many numbers. Safe
// for concurrent use.
type Embedder interface {
	// Query makes the vector of a search's words. A search waits for it.
	Query(ctx context.Context, text string) ([]float32, error)
	// Documents makes the vectors of texts, in their order, up to the first that it refuses while it takes others.
	// err is why it takes none.
	Documents(ctx context.Context, texts []string) (vectors [][]float32, refused, err error)
}

// Index says how items become vectors.
type Index struct {
	Embed  Embedder
	Fields []itemquery.ItemPath // of items whose PUT names no paths
	Dims   int                  // numbers of a vector
	// Mark is what vectors are of: model, fields and all else that makes them other ones. When it changes, all are made
	// anew.
	Mark string
	// Cache bounds the bytes of vectors that a process keeps, of all tenants together. The vectors of a tenant that has
	// more are read from the database by each search.
	Cache int64
}

// indexState is the row of item_index.
type indexState struct {
	mark                string
	generation, version int64
	clearing            bool
}

func readIndex(t *sqldb.Tx) (s indexState, err error) {
	var clearing int64
	err = t.Get(`SELECT mark, generation, version, clearing FROM item_index WHERE id = 1`, nil, sqldb.Out{&s.mark, &s.generation, &s.version, &clearing})
	s.clearing = clearing != 0
	return s, err
}

// ready reports whether the vectors that are there are those of an index.
func (s indexState) ready(ix *Index) bool { return s.mark == ix.Mark && !s.clearing }
