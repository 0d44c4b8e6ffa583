package store

import (
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
	lru "github.com/hashicorp/golang-lru/v2"
)

// base is shared by the parts of a Store: the database, and operations that concern several nouns.
type base struct {
	DB    *sqldb.DB
	Owner string // id of this process in leases
	// Keys caches the row keys of runs, which appends need often. Only writing operations fill it, after their commit.
	// Deletions empty it, because SQLite may reuse the key of a deleted row. Run ids are never reused.
	Keys   *lru.Cache[string, runKey]
	Quotas *tables.Quotas
	wakeups
}

// runKey locates a run's rows. Tokens means that its row is already marked as having tokens. Overlaps means that other
// runs may run on its thread at the same time.
type runKey struct {
	Run, Thread      int64
	Tokens, Overlaps bool
}

// keysKept limits the cache of keys to about 2 MB.
const keysKept = 8192

// newBase returns a base with an empty cache of keys and without pending notifications.
func newBase(db *sqldb.DB, quotas *tables.Quotas) *base {
	keys, err := lru.New[string, runKey](keysKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &base{DB: db, Owner: db.Owner(), Keys: keys, Quotas: quotas, wakeups: newWakeups()}
}
