package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
)

// CreateTask makes a task on a thread that is there (NotFound otherwise): a
// task of a topic, whose first run is still to come.
func (s *Store) CreateTask(ctx context.Context, k mapping.Task) (made mapping.Task, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.write(ctx, func(t *tx) error {
		row, err := holdThread(t, p.Tenant, k.ThreadID)
		if err != nil {
			return noThread(err, k.ThreadID)
		}
		_, made, err = insertTask(t, p, row.key, row.ID, k)
		return err
	})
	return made, err
}
