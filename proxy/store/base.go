package store

import (
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
	lru "github.com/hashicorp/golang-lru/v2"
)

// base is what the parts of a Store share: the database, and what operations of several nouns do.
type base struct {
	DB    *sqldb.DB
	Owner string // id of this process in leases
	// Keys are those of runs' rows, which appends ask for again and again. Only operations that write fill it, after
	// their commit, and deletions empty it: on SQLite a key number may be used again for another row. The id of a run
	// is never used again.
	Keys   *lru.Cache[string, runKey]
	Quotas *tables.Quotas
	bells
}

// runKey is where a run's rows are. Tokens: its row says that it has some; Overlaps: others may run on its thread
// meanwhile.
type runKey struct {
	Run, Thread      int64
	Tokens, Overlaps bool
}

// keysKept bounds the cache of keys: about 2 MB when full.
const keysKept = 8192

// newBase returns a base with an empty cache of keys, and with bells that have not rung.
func newBase(db *sqldb.DB, quotas *tables.Quotas) *base {
	keys, err := lru.New[string, runKey](keysKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &base{DB: db, Owner: db.Owner(), Keys: keys, Quotas: quotas, bells: newBells()}
}
