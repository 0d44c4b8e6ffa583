package item

import (
	"context"

	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Embedder computes vectors of texts; embedding.Client implements it. All vectors have length 1 and the same dimension.
// Safe for concurrent use.
type Embedder interface {
	// Query computes the vector of a search's query. The search waits for it.
	Query(ctx context.Context, text string) ([]float32, error)
	// Documents computes the vectors of texts, in order, up to the first text that is refused although others are
	// accepted. err is set if none are accepted.
	Documents(ctx context.Context, texts []string) (vectors [][]float32, refused, err error)
}

// Index configures how items become vectors.
type Index struct {
	Embed  Embedder
	Fields []itemquery.ItemPath // for items put without paths
	Dims   int                  // dimension of a vector
	// Mark identifies how vectors are computed: the model, the fields and anything else that affects them. When it
	// changes, all vectors are computed again.
	Mark string
	// Cache limits the memory for the vectors of all tenants in a process, in bytes. If a tenant has more, each of its
	// searches reads them from the database.
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

// ready reports whether the stored vectors belong to the index ix.
func (s indexState) ready(ix *Index) bool { return s.mark == ix.Mark && !s.clearing }
