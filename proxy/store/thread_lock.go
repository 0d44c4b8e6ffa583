package store

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// lockThread keeps other operations away from a thread until this one is over. What
// decides about a thread and its runs is read after it. The row of a thread's
// numbers stands for the thread; it is taken before rows of runs in each
// operation, so that none waits in a circle. A single writer needs none of that.
func lockThread(t *sqldb.Tx, thread int64) error {
	if !t.Shared() {
		return nil
	}
	return t.Put(`SELECT 1 FROM thread_seq WHERE thread = $1 FOR UPDATE`, thread)
}

// lockThreadNamed is lockThread of a thread whose key is not known, and is read next. One that is
// not there is no error.
func lockThreadNamed(t *sqldb.Tx, tenant, id string) error {
	if !t.Shared() {
		return nil
	}
	return t.Put(`SELECT 1 FROM thread_seq q JOIN threads h ON h.id = q.thread WHERE h.tenant = $1 AND h.thread_id = $2 FOR UPDATE OF q`, tenant, id)
}
