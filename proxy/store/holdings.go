package store

// holdings are the runs and the updates of states that processes hold.
type holdings struct{}

// FreeOf implements Holdings.
func (holdings) FreeOf(t *tx, owner string) error {
	if err := t.put(`DELETE FROM updates WHERE holder = $1`, owner); err != nil {
		return err
	}
	return t.put(`UPDATE runs SET holder = '' WHERE ended_us = 0 AND status = 'running' AND parked = 0 AND holder = $1`, owner)
}

// FreeOthers implements Holdings.
func (holdings) FreeOthers(t *tx, owner string) error {
	if _, err := t.exec(`UPDATE runs SET holder = '' WHERE ended_us = 0 AND status = 'running' AND parked = 0 AND holder <> '' AND holder <> $1`, owner); err != nil {
		return err
	}
	_, err := t.exec(`DELETE FROM updates WHERE holder <> $1`, owner)
	return err
}

// FreeLapsed implements Holdings. A process that is only slow finds that out at its next
// write: the fence names it.
func (holdings) FreeLapsed(t *tx) (freed int64, err error) {
	held, err := t.exec(`DELETE FROM updates WHERE ` + NoLease(`updates.holder`))
	if err != nil {
		return 0, err
	}
	freed, err = t.exec(`UPDATE runs SET holder = '' WHERE ended_us = 0 AND status = 'running' AND parked = 0 AND holder <> ''
 AND ` + NoLease(`runs.holder`))
	return held + freed, err
}
