package sqldb

import (
	"crypto/rand"
	"database/sql"
	"errors"
)

// Holdings releases the rows that processes hold in the tables of operations, by the owner's name, once the owner has
// no lease. Its methods run inside an operation.
type Holdings interface {
	// FreeOf releases everything that one process holds.
	FreeOf(t *Tx, owner string) error
	// FreeOthers releases everything that all other processes hold.
	FreeOthers(t *Tx, owner string) error
	// FreeLapsed releases everything held by processes without a lease (NoLease), and counts it.
	FreeLapsed(t *Tx) (freed int64, err error)
}

// NoLease returns the condition that the owner in a column has no lease.
func NoLease(column string) string {
	return `NOT EXISTS (SELECT 1 FROM processes p WHERE p.owner = ` + column + `)`
}

// LeaseEnd returns the time at which the lease of a process ends, in microseconds. ok is false if it has none.
func LeaseEnd(t *Tx, owner string) (until int64, ok bool, err error) {
	err = t.Get(`SELECT until_us FROM processes WHERE owner = $1`, []any{owner}, []any{&until})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return until, err == nil, err
}

// nothingHeld implements Holdings for operations that hold nothing.
type nothingHeld struct{}

func (nothingHeld) FreeOf(*Tx, string) error      { return nil }
func (nothingHeld) FreeOthers(*Tx, string) error  { return nil }
func (nothingHeld) FreeLapsed(*Tx) (int64, error) { return 0, nil }

// newOwner returns an id for this process that was never used before, so that the lease of an earlier process is not
// mistaken for its own.
func newOwner() string { return rand.Text() }
