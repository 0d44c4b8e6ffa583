package owned

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// listed is how many ids a list has at the most.
const listed = 256

// Threads returns ids of the owner's threads, the oldest first, that come after one of them.
func Threads(ctx context.Context, db *sqldb.DB, o Owner, behind string) ([]string, error) {
	return idsOf(ctx, db, `SELECT r.thread_id FROM threads r WHERE r.tenant = $1 AND r.owner = $2 AND r.thread_id > $3 ORDER BY r.thread_id LIMIT $4`, o, behind)
}

// Crons returns ids of crons that the owner made, in the same way.
func Crons(ctx context.Context, db *sqldb.DB, o Owner, behind string) ([]string, error) {
	return idsOf(ctx, db, `SELECT r.cron_id FROM crons r WHERE r.tenant = $1 AND r.owner = $2 AND r.cron_id > $3 ORDER BY r.cron_id LIMIT $4`, o, behind)
}

// Assistants returns ids of assistants that the owner made, in the same way.
func Assistants(ctx context.Context, db *sqldb.DB, o Owner, behind string) ([]string, error) {
	return idsOf(ctx, db, `SELECT r.assistant_id FROM assistants r WHERE r.tenant = $1 AND r.owner = $2 AND r.assistant_id > $3 ORDER BY r.assistant_id LIMIT $4`, o, behind)
}

func idsOf(ctx context.Context, db *sqldb.DB, text string, o Owner, behind string) (list []string, err error) {
	err = db.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		return t.Each(text, append(o.args(), behind, listed), func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			list = append(list, id)
			return err
		})
	})
	return list, err
}

// Guest is a run, or a task that has none, that the owner made on a thread of another's.
type Guest struct{ ThreadID, ID string }

// Runs returns runs of the owner's on threads of others, after one of them.
func Runs(ctx context.Context, db *sqldb.DB, o Owner, behind string) ([]Guest, error) {
	return guests(ctx, db, `SELECT h.thread_id, r.run_id FROM runs r JOIN threads h ON h.id = r.thread
 WHERE r.tenant = $1 AND r.owner = $2 AND h.owner <> $2 AND r.run_id > $3 ORDER BY r.run_id LIMIT $4`, o, behind)
}

// Tasks returns tasks of the owner's on threads of others, after one of them.
func Tasks(ctx context.Context, db *sqldb.DB, o Owner, behind string) ([]Guest, error) {
	return guests(ctx, db, `SELECT h.thread_id, r.task_id FROM tasks r JOIN threads h ON h.id = r.thread
 WHERE r.tenant = $1 AND r.owner = $2 AND h.owner <> $2 AND r.task_id > $3 ORDER BY r.task_id LIMIT $4`, o, behind)
}

func guests(ctx context.Context, db *sqldb.DB, text string, o Owner, behind string) (list []Guest, err error) {
	err = db.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		return t.Each(text, append(o.args(), behind, listed), func(scan func(...any) error) error {
			var g Guest
			err := scan(&g.ThreadID, &g.ID)
			list = append(list, g)
			return err
		})
	})
	return list, err
}
