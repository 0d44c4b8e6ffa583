package tables

import (
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// ThreadKey returns the key of a thread's row.
func ThreadKey(t *sqldb.Tx, sc Scope, id string) (key int64, err error) {
	where, args := sc.Narrow(`h.tenant = $1 AND h.thread_id = $2`, sc.Tenant, id)
	err = t.Get(`SELECT h.id FROM threads h WHERE `+where, args, sqldb.Out{&key})
	return key, NoThread(err, id)
}

// LockThread locks a thread for other operations until the transaction ends. Anything that decisions about the thread
// and its runs depend on must be read afterwards. Each operation locks this row before rows of runs, to avoid
// deadlocks. SQLite's single writer needs no lock.
func LockThread(t *sqldb.Tx, thread int64) error {
	if !t.Shared() {
		return nil
	}
	return t.Put(`SELECT 1 FROM thread_seq WHERE thread = $1 FOR UPDATE`, thread)
}

// PutAll runs statements with the same parameters.
func PutAll(t *sqldb.Tx, texts []string, args ...any) error {
	for _, text := range texts {
		if err := t.Put(text, args...); err != nil {
			return err
		}
	}
	return nil
}
