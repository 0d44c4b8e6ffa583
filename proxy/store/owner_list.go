package store

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// ownedPage is the maximum number of ids in a list.
const ownedPage = 256

// Threads returns the ids of some of the owner's threads, starting after behind, oldest first.
func (s *Owners) Threads(ctx context.Context, owner, behind string) ([]string, error) {
	return s.ids(ctx, `SELECT r.thread_id FROM threads r WHERE r.tenant = $1 AND r.owner = $2 AND r.thread_id > $3 ORDER BY r.thread_id LIMIT $4`, owner, behind)
}

// Crons returns the ids of some of the owner's crons, starting after behind, oldest first.
func (s *Owners) Crons(ctx context.Context, owner, behind string) ([]string, error) {
	return s.ids(ctx, `SELECT r.cron_id FROM crons r WHERE r.tenant = $1 AND r.owner = $2 AND r.cron_id > $3 ORDER BY r.cron_id LIMIT $4`, owner, behind)
}

// Assistants returns the ids of some of the owner's assistants, starting after behind, oldest first.
func (s *Owners) Assistants(ctx context.Context, owner, behind string) ([]string, error) {
	return s.ids(ctx, `SELECT r.assistant_id FROM assistants r WHERE r.tenant = $1 AND r.owner = $2 AND r.assistant_id > $3 ORDER BY r.assistant_id LIMIT $4`, owner, behind)
}

func (s *Owners) ids(ctx context.Context, text, owner, behind string) (list []string, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		return t.Each(text, append(ownerOf(ctx, owner).args(), behind, ownedPage), func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			list = append(list, id)
			return err
		})
	})
	return list, err
}

// Guest is a run, or a task without runs, that the owner created on another owner's thread.
type Guest struct{ ThreadID, ID string }

// GuestRuns returns some of the owner's runs on threads of others, starting after behind.
func (s *Owners) GuestRuns(ctx context.Context, owner, behind string) ([]Guest, error) {
	return s.guests(ctx, `SELECT h.thread_id, r.run_id FROM runs r JOIN threads h ON h.id = r.thread
 WHERE r.tenant = $1 AND r.owner = $2 AND h.owner <> $2 AND r.run_id > $3 ORDER BY r.run_id LIMIT $4`, owner, behind)
}

// GuestTasks returns some of the owner's tasks without runs on threads of others, starting after behind.
func (s *Owners) GuestTasks(ctx context.Context, owner, behind string) ([]Guest, error) {
	return s.guests(ctx, `SELECT h.thread_id, r.task_id FROM tasks r JOIN threads h ON h.id = r.thread
 WHERE r.tenant = $1 AND r.owner = $2 AND h.owner <> $2 AND r.task_id > $3 ORDER BY r.task_id LIMIT $4`, owner, behind)
}

func (s *Owners) guests(ctx context.Context, text, owner, behind string) (list []Guest, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		return t.Each(text, append(ownerOf(ctx, owner).args(), behind, ownedPage), func(scan func(...any) error) error {
			var g Guest
			err := scan(&g.ThreadID, &g.ID)
			list = append(list, g)
			return err
		})
	})
	return list, err
}
