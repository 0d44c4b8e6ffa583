package sqldb

import (
	"crypto/rand"
	"database/sql"
	"errors"
)

// Holdings is what processes hold in the tables of operations, each by the name of its owner: what is to be free when
// the owner has no lease any more. Its methods are parts of an operation.
type Holdings interface {
	// FreeOf frees what a process holds.
	FreeOf(t *Tx, owner string) error
	// FreeOthers frees what all processes but one hold.
	FreeOthers(t *Tx, owner string) error
	// FreeLapsed frees what processes without a lease hold (NoLease), and counts it.
	FreeLapsed(t *Tx) (freed int64, err error)
}

// NoLease returns the condition that the owner in a column has no lease.
func NoLease(column string) string {
	return `NOT EXISTS (SELECT 1 FROM processes p WHERE p.owner = ` + column + `)`
}

// LeaseEnd returns when the lease of a process ends, in microseconds; ok is false when it has none.
func LeaseEnd(t *Tx, owner string) (until int64, ok bool, err error) {
	err = t.Get(`SELECT until_us FROM processes WHERE owner = $1`, []any{owner}, []any{&until})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return until, err == nil, err
}

// nothingHeld are the holdings where there are none.
type nothingHeld struct{}

func (nothingHeld) FreeOf(*Tx, string) error      { return nil }
func (nothingHeld) FreeOthers(*Tx, string) error  { return nil }
func (nothingHeld) FreeLapsed(*Tx) (int64, error) { return 0, nil }

// newOwner makes an id for this process: never used before, so that no lease of an earlier one is mistaken for its own.
func newOwner() string { return rand.Text() }
