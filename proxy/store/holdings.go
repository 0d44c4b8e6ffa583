package store

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// holdings releases the runs and state updates that processes hold.
type holdings struct{}

// FreeOf implements Holdings.
func (holdings) FreeOf(t *sqldb.Tx, owner string) error {
	if err := t.Put(`DELETE FROM updates WHERE holder = $1`, owner); err != nil {
		return err
	}
	return t.Put(`UPDATE runs SET left_by = holder, holder = '' WHERE ended_us = 0 AND status = 'running' AND parked = 0 AND holder = $1`, owner)
}

// FreeOthers implements Holdings.
func (holdings) FreeOthers(t *sqldb.Tx, owner string) error {
	if _, err := t.Exec(`UPDATE runs SET left_by = holder, holder = '' WHERE ended_us = 0 AND status = 'running' AND parked = 0 AND holder <> '' AND holder <> $1`, owner); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM updates WHERE holder <> $1`, owner)
	return err
}

// FreeLapsed implements Holdings. A process that is merely slow finds out at its next write, which fails because of the
// fence.
func (holdings) FreeLapsed(t *sqldb.Tx) (freed int64, err error) {
	held, err := t.Exec(`DELETE FROM updates WHERE ` + sqldb.NoLease(`updates.holder`))
	if err != nil {
		return 0, err
	}
	freed, err = t.Exec(`UPDATE runs SET left_by = holder, holder = '' WHERE ended_us = 0 AND status = 'running' AND parked = 0 AND holder <> ''
 AND ` + sqldb.NoLease(`runs.holder`))
	return held + freed, err
}
