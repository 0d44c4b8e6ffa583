package store

import (
	"github.com/apbridge/apbridge/proxy/store/quota"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	lru "github.com/hashicorp/golang-lru/v2"
)

// base is what the parts of a Store share: the database, and what operations of several
// nouns do.
type base struct {
	db    *sqldb.DB
	owner string // id of this process in leases
	// keys are those of runs' rows, which appends ask for again and again. Only
	// operations that write fill it, after their commit, and deletions empty it: on
	// SQLite a key number may be used again for another row. The id of a run is
	// never used again.
	keys   *lru.Cache[string, runKey]
	quotas *quota.Keeper
	bells
}

// runKey is where a run's rows are. tokens: its row says that it has some;
// overlaps: others may run on its thread meanwhile.
type runKey struct {
	run, thread      int64
	tokens, overlaps bool
}

// keysKept bounds the cache of keys: about 2 MB when full.
const keysKept = 8192

func newBase(db *sqldb.DB, quotas *quota.Keeper) *base {
	keys, err := lru.New[string, runKey](keysKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &base{db: db, owner: db.Owner(), keys: keys, quotas: quotas, bells: newBells()}
}
