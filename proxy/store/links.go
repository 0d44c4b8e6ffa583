package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// links say what agents call threads and tasks.
type links struct{ *base }

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

// Link reads what an agent calls a thread (taskID "") or task; zero when there
// is none.
func (s *links) Link(ctx context.Context, threadID, agent, taskID string) (l mapping.Link, err error) {
	list, err := s.readLinks(ctx, threadID, ` AND l.agent = $3 AND l.task_id = $4`, agent, taskID)
	if len(list) == 1 {
		l = list[0]
	}
	return l, err
}

// Links reads all links of a thread.
func (s *links) Links(ctx context.Context, threadID string) ([]mapping.Link, error) {
	return s.readLinks(ctx, threadID, ``)
}

func (s *links) readLinks(ctx context.Context, threadID, rest string, more ...any) (list []mapping.Link, err error) {
	sc := scopeOf(ctx)
	where, args := sc.narrow(`h.tenant = $1 AND h.thread_id = $2`+rest, append(in{sc.tenant, threadID}, more...)...)
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
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

// AgentSeen is when this database first saw a configured agent (now, the first
// time). Agents belong to no tenant.
func (s *agents) AgentSeen(ctx context.Context, name string) (at time.Time, err error) {
	// Nearly always it is known: reading must not need a writable disk.
	var us int64
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT at_us FROM agents_seen WHERE name = $1`, in{name}, out{&us})
	})
	if !errors.Is(err, sql.ErrNoRows) {
		return timeOf(us), err
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(`INSERT INTO agents_seen (name, at_us) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, t.Now); err != nil {
			return err
		}
		var us int64
		err := t.Get(`SELECT at_us FROM agents_seen WHERE name = $1`, in{name}, out{&us})
		at = timeOf(us)
		return err
	})
	return at, err
}
