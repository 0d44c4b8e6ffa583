package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/column"
	"github.com/apbridge/apbridge/proxy/store/owned"
	"github.com/apbridge/apbridge/proxy/store/record"
	"github.com/apbridge/apbridge/proxy/store/scope"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Owners counts, exports and removes what is kept of one owner, of the principal's tenant.
type Owners struct{ base *base }

func ownerOf(ctx context.Context, id string) owned.Owner {
	return owned.Owner{Tenant: scope.TenantOf(ctx), ID: id}
}

// Holdings counts what is kept of an owner.
func (s *Owners) Holdings(ctx context.Context, owner string) ([]owned.Holding, error) {
	return owned.Holdings(ctx, s.base.DB, ownerOf(ctx, owner))
}

// Rows calls a function with the rows of an owner: see owned.Rows.
func (s *Owners) Rows(ctx context.Context, owner string, to func(table string, n int, lines []byte) error) error {
	return owned.Rows(ctx, s.base.DB, ownerOf(ctx, owner), to)
}

// Files returns some files of an owner's threads after one of them: see owned.Files.
func (s *Owners) Files(ctx context.Context, owner string, behind owned.File) ([]owned.File, error) {
	return owned.Files(ctx, s.base.DB, ownerOf(ctx, owner), behind)
}

// FileBytes calls a function with the bytes of a file, piece by piece.
func (s *Owners) FileBytes(ctx context.Context, f owned.File, to func([]byte) error) error {
	return owned.Bytes(ctx, s.base.DB, f, to)
}

// Threads returns ids of threads of an owner after one of them: see owned.Threads.
func (s *Owners) Threads(ctx context.Context, owner, behind string) ([]string, error) {
	return owned.Threads(ctx, s.base.DB, ownerOf(ctx, owner), behind)
}

// Crons returns ids of crons of an owner after one of them.
func (s *Owners) Crons(ctx context.Context, owner, behind string) ([]string, error) {
	return owned.Crons(ctx, s.base.DB, ownerOf(ctx, owner), behind)
}

// Assistants returns ids of assistants of an owner after one of them.
func (s *Owners) Assistants(ctx context.Context, owner, behind string) ([]string, error) {
	return owned.Assistants(ctx, s.base.DB, ownerOf(ctx, owner), behind)
}

// GuestRuns returns runs that an owner made on threads of others, after one of them.
func (s *Owners) GuestRuns(ctx context.Context, owner, behind string) ([]owned.Guest, error) {
	return owned.Runs(ctx, s.base.DB, ownerOf(ctx, owner), behind)
}

// GuestTasks returns tasks that an owner made on threads of others, after one of them.
func (s *Owners) GuestTasks(ctx context.Context, owner, behind string) ([]owned.Guest, error) {
	return owned.Tasks(ctx, s.base.DB, ownerOf(ctx, owner), behind)
}

// EraseThread is Threads.Delete that leaves nothing: webhooks and idempotency keys go with it.
func (s *Owners) EraseThread(ctx context.Context, id string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error { return s.base.deleteThread(ctx, t, id, owned.OfThread) })
}

// EraseTraces removes the webhooks and idempotency keys of a run, a cron or an assistant.
func (s *Owners) EraseTraces(ctx context.Context, id string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error { return owned.Of(t, scope.TenantOf(ctx), id) })
}

// EraseTask removes a task that has no runs, also one on another's thread; false where it has some.
func (s *Owners) EraseTask(ctx context.Context, id string) (removed bool, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		removed, err = owned.Task(t, scope.TenantOf(ctx), id)
		return err
	})
	return removed, err
}

// EraseRest removes the webhooks and idempotency keys of an owner that nothing else names: see owned.Rest.
func (s *Owners) EraseRest(ctx context.Context, owner string) (hooks, keys int64, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		hooks, keys, err = owned.Rest(t, ownerOf(ctx, owner))
		return err
	})
	return hooks, keys, err
}

// EraseCounts removes how much a key has used of its limits.
func (s *Owners) EraseCounts(ctx context.Context, key string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error { return owned.Counts(t, key) })
}

// Overwriting is sqldb.DB.Overwriting.
func (s *Owners) Overwriting(ctx context.Context, do func() error) error {
	return s.base.DB.Overwriting(ctx, do)
}

// Rewrite is sqldb.DB.Rewrite.
func (s *Owners) Rewrite(ctx context.Context) (done bool, err error) { return s.base.DB.Rewrite(ctx) }

// Copies returns what agents have of a thread: the threads and tasks that its log, and its links, name. An agent that
// was given a new one keeps the old. Each is there once, with its newest link.
func (s *Owners) Copies(ctx context.Context, threadID string) (list []mapping.Link, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		row, err := readThread(t, scope.ScopeOf(ctx), threadID)
		if err != nil {
			return record.NoThread(err, threadID)
		}
		list = nil
		return errors.Join(linksOf(t, row.key, &list), linked(t, row.key, &list))
	})
	return list, err
}

func linksOf(t *sqldb.Tx, thread int64, list *[]mapping.Link) error {
	return t.Each(`SELECT body FROM links WHERE thread = $1`, column.In{thread}, func(scan func(...any) error) error {
		var body []byte
		if err := scan(&body); err != nil {
			return err
		}
		var l mapping.Link
		err := column.Decode(body, &l)
		addCopy(list, l, l.Agent)
		return err
	})
}

// linked reads the log. Of an event that does not name the agent the run does.
func linked(t *sqldb.Tx, thread int64, list *[]mapping.Link) error {
	return t.Each(`SELECT e.seq, e.head, coalesce(r.agent, '') FROM events e LEFT JOIN runs r ON r.id = e.run WHERE e.thread = $1 AND e.kind = 'linked' ORDER BY e.seq DESC`,
		column.In{thread}, func(scan func(...any) error) error {
			var seq int64
			var body []byte
			var agent string
			if err := scan(&seq, sqldb.Unsealed(&body, column.EventHead, thread, &seq), &agent); err != nil || len(body) == 0 {
				return err
			}
			var h mapping.Head
			err := column.Decode(body, &h)
			if h.Link != nil {
				addCopy(list, *h.Link, cmp.Or(h.Link.Agent, agent))
			}
			return err
		})
}

func addCopy(list *[]mapping.Link, l mapping.Link, agent string) {
	l.Agent = agent
	same := func(o mapping.Link) bool { return o.Agent == l.Agent && o.Remote == l.Remote }
	if l.Remote != "" && !slices.ContainsFunc(*list, same) {
		*list = append(*list, l)
	}
}
