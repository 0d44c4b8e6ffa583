package item

import (
	"cmp"
	"context"

	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Embedder makes vectors of texts; embedding.Client implements it. All have the length 1 and equally many numbers. Safe
// for concurrent use.
type Embedder interface {
	// Query makes the vector of a search's words. A search waits for it.
	Query(ctx context.Context, text string) ([]float32, error)
	// Documents makes the vectors of texts, in their order; nil is of one that cannot have any.
	Documents(ctx context.Context, texts []string) ([][]float32, error)
}

// Index says how items become vectors.
type Index struct {
	Embed  Embedder
	Fields []itemquery.ItemPath // of items whose PUT names no paths
	Dims   int                  // numbers of a vector
	// Mark is what vectors are of: model, fields and all else that makes them other ones. When it changes, all are made
	// anew.
	Mark string
	// Cache is how many bytes of vectors a process keeps, of all tenants together: of a tenant that has more a byte for
	// each number, or, where that does not fit either, nothing. What is missing of them is read from the database by
	// each search.
	Cache int64
	// ExactMost is how many items of a tenant are kept with their vectors as they are; of more a byte is kept for each
	// number, though there be room. 0: 250,000.
	ExactMost int
}

// exactMost is ExactMost where it is not said: of so many items it is the memory that counts.
const exactMost = 250_000

func (ix *Index) exactMost() int { return cmp.Or(ix.ExactMost, exactMost) }

// indexState is the row of item_index.
type indexState struct {
	mark                string
	generation, version int64
	clearing            bool
}

func readIndex(t *sqldb.Tx) (s indexState, err error) {
	var clearing int64
	err = t.Get(`SELECT mark, generation, version, clearing FROM item_index WHERE id = 1`, nil, out{&s.mark, &s.generation, &s.version, &clearing})
	s.clearing = clearing != 0
	return s, err
}

// ready reports whether the vectors that are there are those of an index.
func (s indexState) ready(ix *Index) bool { return s.mark == ix.Mark && !s.clearing }
