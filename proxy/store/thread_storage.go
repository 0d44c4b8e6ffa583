package store

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// ThreadStorage is the size of a thread in the database.
type ThreadStorage struct {
	Events, States, Files             int64
	EventBytes, StateBytes, FileBytes int64
	More                              bool // only the newest storageMost events or files are counted
}

// storageMost limits the number of rows that Storage reads. Only lengths are read, not the contents.
const storageMost = 200_000

// Storage returns the size of a thread.
func (s *Threads) Storage(ctx context.Context, id string) (use ThreadStorage, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		row, err := readThread(t, tables.ScopeOf(ctx), id)
		if err != nil {
			return tables.NoThread(err, id)
		}
		use, err = storageOf(t, row.key, storageMost)
		return err
	})
	return use, err
}

func storageOf(t *sqldb.Tx, thread, most int64) (use ThreadStorage, err error) {
	err = t.Get(`SELECT count(*), coalesce(sum(logged), 0), count(kept), coalesce(sum(kept), 0) FROM
 (SELECT coalesce(length(head), 0) + coalesce(length(data), 0) AS logged, length(snapshot) AS kept FROM events WHERE thread = $1 ORDER BY seq DESC LIMIT $2) found`,
		sqldb.In{thread, most + 1}, []any{&use.Events, &use.EventBytes, &use.States, &use.StateBytes})
	if err != nil {
		return use, err
	}
	err = t.Get(`SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT) FROM
 (SELECT DISTINCT blob, size FROM (SELECT blob, size FROM artifacts WHERE thread = $1 ORDER BY artifact_id DESC LIMIT $2) newest) found`,
		sqldb.In{thread, most + 1}, []any{&use.Files, &use.FileBytes})
	use.More = use.Events > most || use.Files > most
	return use, err
}
