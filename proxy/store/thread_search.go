package store

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// ThreadQuery selects threads; empty fields select all.
type ThreadQuery struct {
	IDs           []string
	Metadata      json.RawMessage // by containment
	Status        mapping.ThreadStatus
	SortBy        string // thread_id | status | created_at (default) | updated_at
	Asc           bool
	Limit, Offset int                                // Limit 0: all
	Keep          func(mapping.Thread) (bool, error) // further filter, applied before limit; nil: all
}

// idsMost bounds the ids of one query.
const idsMost = 1000

// pageOfThreads is how many rows are read before they are filtered. Filters run
// between pages, when no connection is held: they may read the store.
const pageOfThreads = 1024

// Threads searches. total is the number of all that match, whatever the limit.
func (s *threads) Threads(ctx context.Context, q ThreadQuery) (found []mapping.Thread, total int, err error) {
	if len(q.IDs) > idsMost {
		return nil, 0, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "At most %d ids may be asked for at once.", idsMost)
	}
	where, args := q.filter(scopeOf(ctx))
	keep := containing(q.Metadata)
	switch {
	case keep == nil && q.Keep == nil:
		return s.plainThreads(ctx, q, where, args)
	case q.Keep == nil:
		return s.keptThreads(ctx, q, keep, where, args)
	}
	pick := picker{limit: q.Limit, offset: q.Offset}
	for at := 0; ; at += pageOfThreads {
		rows, err := s.threadPage(ctx, q, where, args, pageOfThreads, at)
		if err != nil {
			return nil, 0, err
		}
		for _, th := range rows {
			ok, err := q.passes(keep, th)
			if err != nil {
				return nil, 0, err
			}
			if !ok {
				continue
			}
			total++
			if pick.take() {
				found = append(found, th)
			}
		}
		if len(rows) < pageOfThreads {
			return found, total, nil
		}
	}
}

func (q ThreadQuery) passes(keep func(json.RawMessage) bool, th mapping.Thread) (bool, error) {
	if keep != nil && !keep(th.Metadata) {
		return false, nil
	}
	if q.Keep == nil {
		return true, nil
	}
	return q.Keep(th)
}

func (s *threads) plainThreads(ctx context.Context, q ThreadQuery, where string, args in) (found []mapping.Thread, total int, err error) {
	if found, err = s.threadPage(ctx, q, where, args, q.Limit, q.Offset); err != nil {
		return nil, 0, err
	}
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT count(*) FROM threads h WHERE `+where, args, out{&total})
	})
	return found, total, err
}

// keptThreads filters while it reads: its filter does not read the store.
func (s *threads) keptThreads(ctx context.Context, q ThreadQuery, keep func(json.RawMessage) bool, where string, args in) (found []mapping.Thread, total int, err error) {
	pick := picker{limit: q.Limit, offset: q.Offset}
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT `+threadColumns+` WHERE `+where+q.order(), args, func(scan func(...any) error) error {
			var row threadRow
			if err := row.scan(scan); err != nil || !keep(row.Metadata) {
				return err
			}
			total++
			if pick.take() {
				found = append(found, row.Thread)
			}
			return ctx.Err()
		})
	})
	return found, total, err
}

func (s *threads) threadPage(ctx context.Context, q ThreadQuery, where string, args in, limit, offset int) (rows []mapping.Thread, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text := `SELECT ` + threadColumns + ` WHERE ` + where + q.order() + page(len(args)+1)
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(text, append(args[:len(args):len(args)], limitOf(limit), offset), func(scan func(...any) error) error {
			var row threadRow
			err := row.scan(scan)
			rows = append(rows, row.Thread)
			return err
		})
	})
	return rows, err
}

func (q ThreadQuery) filter(sc scope) (where string, args in) {
	where, args = sc.narrow(`h.tenant = $1`, sc.tenant)
	if ids := filledUp(q.IDs); len(ids) > 0 {
		where += ` AND h.thread_id IN (` + list(len(args)+1, len(ids)) + `)`
		for _, id := range ids {
			args = append(args, id)
		}
	}
	if q.Status != "" {
		args = append(args, string(q.Status))
		where += ` AND h.status = ` + list(len(args), 1)
	}
	return where, args
}

// order has the key last: equal times keep the order they were made in.
func (q ThreadQuery) order() string {
	way := ` DESC`
	if q.Asc {
		way = ``
	}
	switch q.SortBy {
	case "thread_id":
		return ` ORDER BY h.thread_id` + way + ` `
	case "status":
		return ` ORDER BY h.status` + way + `, h.id` + way + ` `
	case "updated_at":
		return ` ORDER BY h.updated_us` + way + `, h.id` + way + ` `
	}
	return ` ORDER BY h.id` + way + ` `
}
