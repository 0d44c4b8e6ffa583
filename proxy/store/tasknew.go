package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// CreateTask makes a task on a thread that is there (NotFound otherwise): a
// task of a topic, whose first run is still to come. earlier is what a request
// with the same key has made before; then nothing is made.
func (s *tasks) CreateTask(ctx context.Context, k mapping.Task, key Key) (made mapping.Task, earlier string, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if earlier, err = claimKey(t, p.Tenant, key, k.ID); err != nil || earlier != "" {
			return err
		}
		row, err := holdThread(t, scopeFor(p), k.ThreadID)
		if err != nil {
			return noThread(err, k.ThreadID)
		}
		if err := noteAgent(t, &row, k.Agent); err != nil {
			return err
		}
		_, made, err = insertTask(t, p, row.key, row.ID, k)
		return err
	})
	return made, earlier, err
}
