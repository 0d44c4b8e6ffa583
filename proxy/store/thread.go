package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// ThreadCreation describes a thread to create.
type ThreadCreation struct {
	Thread mapping.Thread
	OrGet  bool                 // return an existing thread
	Events []mapping.Event      // state events with checkpoints (supersteps); may be empty
	Files  []artifact.FileWrite // files of the states, see mapping.Artifact.Brought
	Links  []mapping.Link       // agents that already have the states
	Task   *mapping.Task        // for a v1 task that creates its thread
	Agent  string               // agent for which the thread is, as if a run had been created for it; "" if there is none yet
	Key    IdempotencyKey       // a repeated request gets the thread of the first
}

// Create creates a thread with its first state and task. Thread.ID must be set; Status defaults to idle. If the thread
// exists, it returns Conflict thread_exists or, with OrGet, the existing thread. If an earlier request with the same
// Key created a thread, it returns that.
func (s *Threads) Create(ctx context.Context, n ThreadCreation) (th mapping.Thread, existed bool, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		th, existed, err = s.createThread(t, p, n)
		return err
	})
	return th, existed, err
}

func (s *Threads) createThread(t *sqldb.Tx, p mapping.Principal, n ThreadCreation) (mapping.Thread, bool, error) {
	earlier, err := claimKey(t, p, n.Key, n.Thread.ID)
	if err != nil {
		return mapping.Thread{}, false, err
	}
	if earlier != "" {
		th, err := earlierThread(t, p, earlier)
		return th, true, err
	}
	row, fresh, err := s.base.insertThread(t, p, n.Thread, n.agents())
	if errors.Is(err, sql.ErrNoRows) { // it exists, but the caller cannot see it
		err = mapping.Errorf(mapping.Conflict, CodeThreadThere, "Thread %q already exists. Use another id.", n.Thread.ID)
	}
	if err != nil {
		return mapping.Thread{}, false, err
	}
	if !fresh {
		if n.OrGet {
			return row.Thread, true, nil
		}
		return mapping.Thread{}, true, ThreadExists(n.Thread.ID)
	}
	if n.Task != nil {
		if _, _, err := insertTask(t, p, row.key, n.Thread.ID, *n.Task); err != nil {
			return mapping.Thread{}, false, err
		}
	}
	batch := eventBatch{thread: row.key, events: n.Events}
	if err := batch.startThread(t); err != nil {
		return mapping.Thread{}, false, err
	}
	if _, err := batch.write(t, threadHead{}); err != nil {
		return mapping.Thread{}, false, err
	}
	row.Head, _ = batch.newest()
	if err := putLinks(t, row.key, n.Links); err != nil {
		return mapping.Thread{}, false, err
	}
	_, err = artifact.Publish(s.base.Quotas, t, row.key, artifact.ByUpdate, artifact.Changes{Files: n.Files})
	return row.Thread, false, err
}

// ThreadExists returns the error for the id of a thread that exists and is visible to the caller.
func ThreadExists(id string) error {
	e := mapping.Errorf(mapping.Conflict, CodeThreadThere, "There is a thread %q already. Use another id.", id)
	e.Detail = mapping.Existing{ID: id}
	return e
}

// earlierThread returns the thread that an earlier request with the same key created.
func earlierThread(t *sqldb.Tx, p mapping.Principal, id string) (mapping.Thread, error) {
	row, err := readThread(t, tables.ScopeFor(p), id)
	if errors.Is(err, sql.ErrNoRows) && p.Limited() { // it may have been created by another key
		return mapping.Thread{}, ErrKeyReused
	}
	return row.Thread, tables.NoThread(err, id)
}

func (n *ThreadCreation) agents() string {
	agents := tables.WithAgent("", n.Agent)
	if n.Task != nil {
		agents = tables.WithAgent(agents, n.Task.Agent)
	}
	return agents
}

// Threads creates, finds, changes and removes threads.
type Threads struct{ base *base }

// threadRow is a thread with its key.
type threadRow struct {
	key    int64
	agents string // see tables.Scope
	size   int    // bytes of the long columns
	mapping.Thread
}

// insertThread inserts the row of a thread for these agents, or reads the existing one. It returns sql.ErrNoRows if the
// principal cannot see that. The caller creates the row of its numbers.
func (s *base) insertThread(t *sqldb.Tx, p mapping.Principal, th mapping.Thread, agents string) (row threadRow, fresh bool, err error) {
	row.Thread, row.agents = newThread(t, p, th), agents
	interrupts, err := encodeInterrupts(row.Interrupts)
	if err != nil {
		return row, false, err
	}
	row.key, err = t.Insert(`INSERT INTO threads (tenant, thread_id, owner, status, metadata, config, interrupts, created_us, updated_us, expires_us, agents, keep_latest, ttl_us, name, named_for)
 VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (tenant, thread_id) DO NOTHING`,
		row.Tenant, row.ID, row.Owner, string(row.Status), []byte(row.Metadata), t.Sealed(row.Config, colThreadConfig, row.Tenant, row.ID),
		sqldb.Micros(row.CreatedAt), sqldb.Micros(row.UpdatedAt), sqldb.Micros(row.Expires), agents, sqldb.Number(row.KeepLatest), row.TTL.Microseconds(), row.Name, row.NamedFor)
	if sqldb.Duplicate(err) {
		return row, false, mapping.Errorf(mapping.Conflict, CodeNameTaken, "A thread named %q already exists. Try again.", row.Name)
	}
	if errors.Is(err, sql.ErrNoRows) {
		row, err = readLocked(t, tables.ScopeFor(p), th.ID)
		return row, false, err
	}
	if !row.Expires.IsZero() {
		s.Due(t, dueExpiry)
	}
	if err == nil && interrupts != nil { // its seal is bound to the new key
		err = t.Put(`UPDATE threads SET interrupts = $2 WHERE id = $1`, row.key, t.Sealed(interrupts, colThreadInterrupts, row.key))
	}
	if err == nil {
		err = s.Quotas.Added(t, tables.QuotaThreads, row.Tenant, row.Owner, 1)
	}
	return row, err == nil, err
}

// newThread fills in the fields that every new thread has.
func newThread(t *sqldb.Tx, p mapping.Principal, th mapping.Thread) mapping.Thread {
	th.Tenant = p.Tenant
	if th.Owner == "" {
		th.Owner = p.ID
	}
	if th.Status == "" {
		th.Status = mapping.ThreadIdle
	}
	th.Metadata, th.Config = objectOrEmpty(th.Metadata), objectOrEmpty(th.Config)
	if th.CreatedAt.IsZero() {
		th.CreatedAt = sqldb.TimeOf(t.Now)
	}
	th.CreatedAt = th.CreatedAt.UTC().Truncate(time.Microsecond)
	th.UpdatedAt = sqldb.TimeOf(t.Now)
	th.Expires = sqldb.TimeOf(sqldb.Micros(th.Expires))
	th.Values, th.Head = nil, ""
	return th
}

// Get returns a thread without Values.
func (s *Threads) Get(ctx context.Context, id string) (th mapping.Thread, err error) {
	sc := tables.ScopeOf(ctx)
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		row, err := readThread(t, sc, id)
		th = row.Thread
		return tables.NoThread(err, id)
	})
	return th, err
}

// Named returns the id of the caller's thread that was named for an agent, or "" if there is none.
func (s *Threads) Named(ctx context.Context, agent, name string) (id string, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return ifAny(t.Get(`SELECT thread_id FROM threads WHERE tenant = $1 AND owner = $2 AND named_for = $3 AND name = $4 AND name <> ''`,
			sqldb.In{p.Tenant, p.ID, agent, name}, sqldb.Out{&id}))
	})
	return id, err
}

// readLocked is like readThread, but locks the thread first; see tables.LockThread.
func readLocked(t *sqldb.Tx, sc tables.Scope, id string) (threadRow, error) {
	if err := lockThreadNamed(t, sc.Tenant, id); err != nil {
		return threadRow{}, err
	}
	return readThread(t, sc, id)
}

// threadColumns begin with the columns by which lists filter.
const threadColumns = `h.thread_id, h.metadata, h.id, h.tenant, h.owner, h.status, h.config, h.interrupts, h.created_us, h.updated_us, h.expires_us, h.agents, h.keep_latest, h.ttl_us, h.name, h.named_for, q.head
 FROM threads h JOIN thread_seq q ON q.thread = h.id`

const threadWidth = 17

func readThread(t *sqldb.Tx, sc tables.Scope, id string) (row threadRow, err error) {
	where, args := sc.Narrow(`h.tenant = $1 AND h.thread_id = $2`, sc.Tenant, id)
	err = t.Each(`SELECT `+threadColumns+` WHERE `+where, args, row.scan)
	return row, row.found(err)
}

func readThreadByKey(t *sqldb.Tx, key int64) (row threadRow, err error) {
	err = t.Each(`SELECT `+threadColumns+` WHERE h.id = $1`, sqldb.In{key}, row.scan)
	return row, row.found(err)
}

func (r *threadRow) found(err error) error {
	if err == nil && r.key == 0 {
		return sql.ErrNoRows
	}
	return err
}

func (r *threadRow) scan(scan func(...any) error) error {
	var interrupts []byte
	var created, updated, expires, ttl int64
	err := scan(&r.ID, rawOf(&r.Metadata), &r.key, &r.Tenant, &r.Owner, (*string)(&r.Status), sqldb.Unsealed(rawOf(&r.Config), colThreadConfig, &r.Tenant, &r.ID),
		sqldb.Unsealed(&interrupts, colThreadInterrupts, &r.key),
		&created, &updated, &expires, &r.agents, &r.KeepLatest, &ttl, &r.Name, &r.NamedFor, &r.Head)
	if err != nil {
		return err
	}
	r.CreatedAt, r.UpdatedAt, r.Expires = sqldb.TimeOf(created), sqldb.TimeOf(updated), sqldb.TimeOf(expires)
	r.TTL = time.Duration(ttl) * time.Microsecond
	r.size = len(r.Metadata) + len(r.Config) + len(interrupts)
	return decode(interrupts, &r.Interrupts)
}

// setThread applies a run's changes to its thread. A nil metadata leaves the existing one.
func setThread(t *sqldb.Tx, key int64, status mapping.ThreadStatus, metadata json.RawMessage) error {
	return t.Put(`UPDATE threads SET status = $2, metadata = coalesce($3, metadata), updated_us = $4 WHERE id = $1`,
		key, string(status), sqldb.Blob(metadata), t.Now)
}

func noteAgent(t *sqldb.Tx, row *threadRow, name string) error {
	agents := tables.WithAgent(row.agents, name)
	if agents == row.agents {
		return nil
	}
	row.agents = agents
	return t.Put(`UPDATE threads SET agents = $2 WHERE id = $1`, row.key, agents)
}

// lockThreadNamed is LockThread for a thread whose key is not known. A missing thread is not an error.
func lockThreadNamed(t *sqldb.Tx, tenant, id string) error {
	if !t.Shared() {
		return nil
	}
	return t.Put(`SELECT 1 FROM thread_seq q JOIN threads h ON h.id = q.thread WHERE h.tenant = $1 AND h.thread_id = $2 FOR UPDATE OF q`, tenant, id)
}
