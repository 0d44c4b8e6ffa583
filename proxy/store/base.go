package store

import (
	"github.com/apbridge/apbridge/proxy/store/quota"
	"github.com/apbridge/apbridge/proxy/store/record"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// base is what the parts of a Store share, with what operations of several nouns do.
type base struct{ *record.Base }

func newBase(db *sqldb.DB, quotas *quota.Keeper) *base { return &base{record.NewBase(db, quotas)} }
