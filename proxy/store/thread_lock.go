package store

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// lockThreadNamed is like LockThread, for a thread whose key is not known. A missing thread is not an error.
func lockThreadNamed(t *sqldb.Tx, tenant, id string) error {
	if !t.Shared() {
		return nil
	}
	return t.Put(`SELECT 1 FROM thread_seq q JOIN threads h ON h.id = q.thread WHERE h.tenant = $1 AND h.thread_id = $2 FOR UPDATE OF q`, tenant, id)
}
