package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Owners counts, exports and removes the data of one owner in the principal's tenant.
type Owners struct{ base *base }

func ownerOf(ctx context.Context, id string) ownerID {
	return ownerID{Tenant: tables.TenantOf(ctx), ID: id}
}

// Overwriting calls sqldb.DB.Overwriting.
func (s *Owners) Overwriting(ctx context.Context, do func() error) error {
	return s.base.DB.Overwriting(ctx, do)
}

// Rewrite calls sqldb.DB.Rewrite.
func (s *Owners) Rewrite(ctx context.Context) (done bool, err error) { return s.base.DB.Rewrite(ctx) }

// Copies returns an agent's counterparts of a thread: the threads and tasks named in its log and its links. They
// include old ones, since an agent keeps them when it receives a new one. Each is listed once, with its newest link.
func (s *Owners) Copies(ctx context.Context, threadID string) (list []mapping.Link, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		row, err := readThread(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return tables.NoThread(err, threadID)
		}
		list = nil
		return errors.Join(linksOf(t, row.key, &list), linked(t, row.key, &list))
	})
	return list, err
}

func linksOf(t *sqldb.Tx, thread int64, list *[]mapping.Link) error {
	return t.Each(`SELECT body FROM links WHERE thread = $1`, sqldb.In{thread}, func(scan func(...any) error) error {
		var body []byte
		if err := scan(&body); err != nil {
			return err
		}
		var l mapping.Link
		err := decode(body, &l)
		addCopy(list, l, l.Agent)
		return err
	})
}

// linked reads the log. If an event does not name the agent, it is the run's agent.
func linked(t *sqldb.Tx, thread int64, list *[]mapping.Link) error {
	return t.Each(`SELECT e.seq, e.head, coalesce(r.agent, '') FROM events e LEFT JOIN runs r ON r.id = e.run WHERE e.thread = $1 AND e.kind = 'linked' ORDER BY e.seq DESC`,
		sqldb.In{thread}, func(scan func(...any) error) error {
			var seq int64
			var body []byte
			var agent string
			if err := scan(&seq, sqldb.Unsealed(&body, colEventHead, thread, &seq), &agent); err != nil || len(body) == 0 {
				return err
			}
			var h mapping.Head
			err := decode(body, &h)
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
