package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Links maps threads and tasks to their ids at agents.
type Links struct{ base *base }

func putLinks(t *sqldb.Tx, thread int64, links []mapping.Link) error {
	for i := range links {
		body, err := encode(&links[i])
		if err != nil {
			return err
		}
		if err := t.Put(`INSERT INTO links (thread, agent, task_id, remote, body) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (thread, agent, task_id) DO UPDATE SET remote = excluded.remote, body = excluded.body`,
			thread, links[i].Agent, links[i].TaskID, links[i].Remote, body); err != nil {
			return err
		}
	}
	return nil
}

// undo marks a thread's link if a rolled-back run may have reached its agent, unless a later run agreed. It must be
// called before the run's events are deleted. A run that had started may have reached the agent although nothing is
// logged of it: the agent's response may not have been read yet. In that case the link is that of another run.
func undo(t *sqldb.Tx, row *runRow) error {
	var body []byte
	var linked bool // by this run or a later one
	err := t.Get(`SELECT body, EXISTS (SELECT 1 FROM events WHERE thread = $1 AND seq > $3 AND kind = 'linked') FROM links
 WHERE thread = $1 AND agent = $5 AND task_id = ''
 AND EXISTS (SELECT 1 FROM events WHERE thread = $1 AND run = $2 AND seq > $3 AND seq <= $4 AND kind = 'started')`,
		sqldb.In{row.thread, row.key, row.from, row.to(), row.Agent}, sqldb.Out{&body, &linked})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	var l mapping.Link
	if err == nil {
		err = decode(body, &l)
	}
	if err != nil || linked && l.Agreed() {
		return err
	}
	l.Undone = true
	return putLinks(t, row.thread, []mapping.Link{l})
}

// Get returns an agent's id for a thread (with an empty taskID) or a task. It returns the zero Link if there is none.
func (s *Links) Get(ctx context.Context, threadID, agent, taskID string) (l mapping.Link, err error) {
	list, err := s.readLinks(ctx, threadID, ` AND l.agent = $3 AND l.task_id = $4`, agent, taskID)
	if len(list) == 1 {
		l = list[0]
	}
	return l, err
}

// Before returns the ids that the agent of a checkpoint's run used for the thread and the run, as last logged before
// the checkpoint. It returns the zero Link if no run of this thread created the checkpoint, as on a copied thread. If
// threadID is "", it considers all threads, since a copied checkpoint keeps the number of its original.
func (s *Links) Before(ctx context.Context, threadID string, c mapping.Checkpoint) (l mapping.Link, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		l = mapping.Link{}
		sc := tables.ScopeOf(ctx)
		if threadID != "" {
			if _, err := tables.ThreadKey(t, sc, threadID); err != nil {
				return err
			}
		}
		where, args := sc.Narrow(`r.run_id = $1 AND r.tenant = $2 AND ($3 = '' OR h.thread_id = $3) AND e.seq >= r.from_seq AND e.seq <= $4 AND e.kind = $5`,
			c.RunID, sc.Tenant, threadID, c.Seq, string(mapping.KindLinked))
		return t.Each(`SELECT h.id, e.seq, e.head, r.agent FROM runs r JOIN threads h ON h.id = r.thread JOIN events e ON e.thread = r.thread AND e.run = r.id
 WHERE `+where+` ORDER BY e.seq DESC LIMIT 1`,
			args, func(scan func(...any) error) error {
				var thread, seq int64
				var body []byte
				var agent string
				if err := scan(&thread, &seq, sqldb.Unsealed(&body, colEventHead, &thread, &seq), &agent); err != nil {
					return err
				}
				var h mapping.Head
				err := decode(body, &h)
				if h.Link != nil {
					l = *h.Link
					l.Agent = agent
				}
				return err
			})
	})
	return l, err
}

// List returns all links of a thread.
func (s *Links) List(ctx context.Context, threadID string) ([]mapping.Link, error) {
	return s.readLinks(ctx, threadID, ``)
}

func (s *Links) readLinks(ctx context.Context, threadID, rest string, more ...any) (list []mapping.Link, err error) {
	sc := tables.ScopeOf(ctx)
	where, args := sc.Narrow(`h.tenant = $1 AND h.thread_id = $2`+rest, append(sqldb.In{sc.Tenant, threadID}, more...)...)
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT l.body FROM links l JOIN threads h ON h.id = l.thread WHERE `+where+` ORDER BY l.agent, l.task_id`,
			args, func(scan func(...any) error) error {
				var body []byte
				var l mapping.Link
				if err := scan(&body); err != nil {
					return err
				}
				list = append(list, l)
				return decode(body, &list[len(list)-1])
			})
	})
	return list, err
}
