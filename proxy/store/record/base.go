// Package record is what the operations of all nouns share: the database, the keys of rows, the locks of threads,
// notices and refusals. Package store embeds it, and those of nouns below it hold it. It holds no operation of one
// noun.
package record

import (
	"github.com/apbridge/apbridge/proxy/store/quota"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Base is what the parts of a Store share: the database, and what operations of several nouns do.
type Base struct {
	DB    *sqldb.DB
	Owner string // id of this process in leases
	// Keys are those of runs' rows, which appends ask for again and again. Only operations that write fill it, after
	// their commit, and deletions empty it: on SQLite a key number may be used again for another row. The id of a run
	// is never used again.
	Keys   *lru.Cache[string, RunKey]
	Quotas *quota.Keeper
	Bells
}

// RunKey is where a run's rows are. Tokens: its row says that it has some; Overlaps: others may run on its thread
// meanwhile.
type RunKey struct {
	Run, Thread      int64
	Tokens, Overlaps bool
}

// keysKept bounds the cache of keys: about 2 MB when full.
const keysKept = 8192

// NewBase returns a Base with an empty cache of keys, and with bells that have not rung.
func NewBase(db *sqldb.DB, quotas *quota.Keeper) *Base {
	keys, err := lru.New[string, RunKey](keysKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Base{DB: db, Owner: db.Owner(), Keys: keys, Quotas: quotas, Bells: newBells()}
}
