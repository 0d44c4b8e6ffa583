package artifact

import (
	"errors"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// addedFiles counts a file against the quotas of the thread's owner, or refuses it. there reports whether there was
// already a file at its path.
func addedFiles(quotas *tables.Quotas, t *sqldb.Tx, thread int64, there bool, size int64) error {
	return countFiles(t, thread, there, size, quotas.Added)
}

// notedFiles counts a file of a run's state without refusing it, because the agent's work is done and the log could not
// continue without it.
func notedFiles(quotas *tables.Quotas, t *sqldb.Tx, thread int64, there bool, size int64) error {
	return countFiles(t, thread, there, size, quotas.Noted)
}

func countFiles(t *sqldb.Tx, thread int64, there bool, size int64, count func(t *sqldb.Tx, limit, tenant, owner string, n int64) error) error {
	var tenant, owner string
	if err := t.Get(`SELECT tenant, owner FROM threads WHERE id = $1`, sqldb.In{thread}, sqldb.Out{&tenant, &owner}); err != nil {
		return err
	}
	return errors.Join(count(t, tables.QuotaFiles, tenant, owner, sqldb.Number(!there)), count(t, tables.QuotaDisk, tenant, owner, size))
}
