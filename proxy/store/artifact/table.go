package artifact

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Table holds the files of threads.
type Table struct {
	db     *sqldb.DB
	quotas *tables.Quotas
}

// New returns the files of a database, counted by quotas.
func New(db *sqldb.DB, quotas *tables.Quotas) *Table { return &Table{db, quotas} }

const artifactColumns = `a.id, a.blob, h.tenant, a.artifact_id, h.thread_id, a.task_id, a.path, a.size, a.mime, a.sum, a.agent_created, a.created_us, a.modified_us, a.remote_id, a.run
 FROM artifacts a JOIN threads h ON h.id = a.thread`

// artifactRow is an artifact with the keys of its row, its bytes and the run that wrote it (see version).
type artifactRow struct {
	key, blob, run int64
	mapping.Artifact
}

func (r *artifactRow) scan(scan func(...any) error) error {
	var created, modified int64
	err := scan(&r.key, &r.blob, &r.Tenant, &r.ID, &r.ThreadID, &r.TaskID, &r.Path, &r.Size, &r.MIMEType, &r.Sum, &r.AgentCreated, &created, &modified, &r.RemoteID, &r.run)
	r.CreatedAt, r.ModifiedAt = sqldb.TimeOf(created), sqldb.TimeOf(modified)
	r.Brought = r.run != 0 && !r.AgentCreated
	return err
}

func readArtifact(t *sqldb.Tx, where string, args ...any) (row artifactRow, err error) {
	err = t.Each(`SELECT `+artifactColumns+` WHERE `+where+` LIMIT 1`, args, row.scan)
	if err == nil && row.key == 0 {
		err = sql.ErrNoRows
	}
	return row, err
}

// Get returns a visible artifact, or one of a line that the thread has left.
func (s *Table) Get(ctx context.Context, threadID, id string) (mapping.Artifact, error) {
	row, err := s.visible(ctx, threadID, id)
	return row.Artifact, err
}

func (s *Table) visible(ctx context.Context, threadID, id string) (row artifactRow, err error) {
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		sc := tables.ScopeOf(ctx)
		where, args := sc.Narrow(`h.tenant = $1 AND h.thread_id = $2 AND a.artifact_id = $3 AND (a.staged = 0 OR a.staged = -1 AND a.until_run = -2)`, sc.Tenant, threadID, id)
		where += ` ORDER BY a.staged DESC, a.id DESC`
		row, err = readArtifact(t, where, args...)
		return tables.NotFound(err, mapping.CodeArtifactNotFound, "artifact", id)
	})
	return row, err
}

// List returns the visible artifacts: agent-created ones first, root before nested, then by path. A limit of 0 means
// all.
func (s *Table) List(ctx context.Context, threadID string, limit, offset int) (found []mapping.Artifact, total int, err error) {
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		key, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		if err := t.Get(`SELECT count(*) FROM artifacts WHERE thread = $1 AND staged = 0`, sqldb.In{key}, sqldb.Out{&total}); err != nil {
			return err
		}
		return t.Each(`SELECT `+artifactColumns+` WHERE a.thread = $1 AND a.staged = 0
 ORDER BY a.agent_created DESC, a.nested, a.path LIMIT CAST($2 AS BIGINT) OFFSET CAST($3 AS BIGINT)`, sqldb.In{key, sqldb.LimitOf(limit), offset}, func(scan func(...any) error) error {
			var row artifactRow
			err := row.scan(scan)
			found = append(found, row.Artifact)
			return err
		})
	})
	return found, total, err
}

// Uploads lists the visible artifacts of a thread that were not made by an agent, root before nested, then by path. It
// returns none if the thread does not exist.
func (s *Table) Uploads(ctx context.Context, threadID string) (found []mapping.Artifact, err error) {
	sc := tables.ScopeOf(ctx)
	where, args := sc.Narrow(`h.tenant = $1 AND h.thread_id = $2`, sc.Tenant, threadID)
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT `+artifactColumns+` WHERE a.thread = (SELECT h.id FROM threads h WHERE `+where+`)
 AND a.staged = 0 AND a.agent_created = 0 ORDER BY a.nested, a.path`, args, func(scan func(...any) error) error {
			var row artifactRow
			err := row.scan(scan)
			found = append(found, row.Artifact)
			return err
		})
	})
	return found, err
}

// known returns a row of a path, whether visible, staged or replaced. All of them have the path's id.
func known(t *sqldb.Tx, thread int64, path string) (artifactRow, bool, error) {
	return findArtifact(t, `a.thread = $1 AND a.path = $2 ORDER BY a.staged, a.id`, thread, path)
}

// findArtifact is like readArtifact, but reports whether there is such a row.
func findArtifact(t *sqldb.Tx, where string, args ...any) (row artifactRow, there bool, err error) {
	row, err = readArtifact(t, where, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// insertArtifact adds a row. An earlier visible row of the path must have been removed.
func insertArtifact(t *sqldb.Tx, thread, run, blob int64, a mapping.Artifact, staged bool) error {
	_, err := t.Exec(`INSERT INTO artifacts (thread, artifact_id, task_id, path, nested, size, mime, sum, agent_created, remote_id, staged, blob, created_us, modified_us, run)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		thread, a.ID, a.TaskID, a.Path, sqldb.Number(strings.Contains(a.Path, "/")), a.Size, a.MIMEType, a.Sum, sqldb.Number(a.AgentCreated), a.RemoteID,
		sqldb.Number(staged), blob, sqldb.Micros(a.CreatedAt), sqldb.Micros(a.ModifiedAt), run)
	return err
}

// adopt copies the fields that a new version of a path keeps from the old one: id, creator and creation time.
func adopt(t *sqldb.Tx, a *mapping.Artifact, old artifactRow, there bool) {
	now := sqldb.TimeOf(t.Now)
	if there {
		a.ID, a.CreatedAt = old.ID, old.CreatedAt
		if old.TaskID != "" {
			a.TaskID = old.TaskID
		}
		if a.RemoteID == "" {
			a.RemoteID = old.RemoteID
		}
	}
	if a.ID == "" {
		a.ID = mapping.NewID()
	}
	if a.CreatedAt.IsZero() {
		a.CreatedAt = now
	}
	if a.ModifiedAt.IsZero() {
		a.ModifiedAt = now
	}
	a.CreatedAt, a.ModifiedAt = sqldb.TimeOf(sqldb.Micros(a.CreatedAt)), sqldb.TimeOf(sqldb.Micros(a.ModifiedAt))
}

// show makes a row the visible one of its path, written by a run or, if run is 0, by a client. If a run writes the same
// bytes again, they still belong to the first writer.
func show(t *sqldb.Tx, thread, run, blob int64, a mapping.Artifact) error {
	old, there, err := visibleAt(t, thread, a.Path)
	if err != nil {
		return err
	}
	if there && run != 0 && old.Sum == a.Sum {
		run = old.run
		err = dropArtifact(t, old.key, old.blob)
	} else if there {
		err = giveWay(t, thread, old, run)
	} else if run == 0 {
		err = dropVersions(t, thread, a.Path)
	}
	if err != nil {
		return err
	}
	return insertArtifact(t, thread, run, blob, a, false)
}

func visibleAt(t *sqldb.Tx, thread int64, path string) (artifactRow, bool, error) {
	return findArtifact(t, `a.thread = $1 AND a.path = $2 AND a.staged = 0`, thread, path)
}

func dropPath(t *sqldb.Tx, thread, run int64, path string) error {
	old, there, err := visibleAt(t, thread, path)
	if err != nil || !there {
		return err
	}
	return giveWay(t, thread, old, run)
}

func dropArtifact(t *sqldb.Tx, key, blob int64) error {
	if err := t.Put(`DELETE FROM artifacts WHERE id = $1`, key); err != nil {
		return err
	}
	return dropBlob(t, blob)
}

// dropBlob removes bytes to which no artifact refers any longer, since copied threads share bytes. The row is locked
// first, so that if two threads drop the bytes at once, the second one sees that it is the last.
func dropBlob(t *sqldb.Tx, blob int64) error {
	const unused = ` AND NOT EXISTS (SELECT 1 FROM artifacts WHERE blob = $1)`
	return tables.PutAll(t, []string{
		`UPDATE blobs SET loose = loose WHERE id = $1`,
		`DELETE FROM chunks WHERE blob = $1` + unused,
		`DELETE FROM blobs WHERE id = $1` + unused,
	}, blob)
}

// Changes lists the changes of a thread's files that belong to events.
type Changes struct {
	Staged []string    // ids of staged artifacts that become visible (see Table.Save)
	Files  []FileWrite // small files, written with the events
	Drop   []string    // paths of removed files
}

// FileWrite is a small artifact written together with an event.
type FileWrite struct {
	Artifact mapping.Artifact // an empty ID becomes the path's id or a new one
	Content  []byte
}

// Publish makes staged artifacts visible, writes small files and drops paths, in the transaction of the events that
// belong to these changes.
func Publish(quotas *tables.Quotas, t *sqldb.Tx, thread, run int64, c Changes) (list []mapping.Artifact, err error) {
	if len(c.Staged)+len(c.Files)+len(c.Drop) == 0 {
		return nil, nil
	}
	var tenant, threadID string
	if err := t.Get(`SELECT tenant, thread_id FROM threads WHERE id = $1`, sqldb.In{thread}, sqldb.Out{&tenant, &threadID}); err != nil {
		return nil, err
	}
	for _, id := range c.Staged {
		art, err := unstage(t, thread, run, id)
		if err != nil {
			return nil, err
		}
		list = append(list, art)
	}
	for _, f := range c.Files {
		f.Artifact.Tenant, f.Artifact.ThreadID = tenant, threadID
		art, err := writeFile(quotas, t, thread, run, f)
		if err != nil {
			return nil, err
		}
		list = append(list, art)
	}
	for _, path := range c.Drop {
		if err := dropPath(t, thread, run, path); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// unstage shows the newest staged row of an id. If there is none, a visible row remains unchanged.
func unstage(t *sqldb.Tx, thread, run int64, id string) (mapping.Artifact, error) {
	row, err := readArtifact(t, `a.thread = $1 AND a.artifact_id = $2 AND a.staged >= 0 ORDER BY a.staged DESC, a.id DESC`, thread, id)
	if err != nil {
		return row.Artifact, tables.NotFound(err, mapping.CodeArtifactNotFound, "artifact", id)
	}
	var staged bool
	if err := t.Get(`SELECT staged FROM artifacts WHERE id = $1`, sqldb.In{row.key}, sqldb.Out{&staged}); err != nil || !staged {
		return row.Artifact, err
	}
	if _, err := t.Exec(`DELETE FROM artifacts WHERE id = $1`, row.key); err != nil {
		return row.Artifact, err
	}
	if err := publishBlob(t, row.blob); err != nil {
		return row.Artifact, err
	}
	return row.Artifact, show(t, thread, run, row.blob, row.Artifact)
}
