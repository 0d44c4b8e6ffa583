package store

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/column"
	"github.com/apbridge/apbridge/proxy/store/listing"
	"github.com/apbridge/apbridge/proxy/store/scope"
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

// pageOfThreads is how many rows at most are read before they are filtered. Filters run
// between pages, when no connection is held: they may read the store.
const pageOfThreads = 1024

// Threads searches. total is the number of all that match, whatever the limit.
func (s *threads) Threads(ctx context.Context, q ThreadQuery) (found []mapping.Thread, total int, err error) {
	list, total, err := s.find(ctx, q, listing.Whole)
	return list.Rows, total, err
}

// SearchThreads is Threads of which few megabytes are held at a time: a thread is yielded as
// it is by then, and one that was removed meanwhile is left out. It is ranged over once.
func (s *threads) SearchThreads(ctx context.Context, q ThreadQuery) (found iter.Seq2[mapping.Thread, error], total int, err error) {
	list, total, err := s.find(ctx, q, listing.AtOnce)
	if err != nil {
		return nil, 0, err
	}
	sc := scope.ScopeOf(ctx)
	return list.Each(ctx, s.DB, func(t *sqldb.Tx, id string) (mapping.Thread, int, error) {
		row, err := readThread(t, sc, id)
		return row.Thread, row.size, err
	}), total, nil
}

// find lists threads, the first of them with all that they have.
func (s *threads) find(ctx context.Context, q ThreadQuery, room int) (found listing.Long[mapping.Thread], total int, err error) {
	if len(q.IDs) > idsMost {
		return found, 0, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "At most %d ids may be asked for at once.", idsMost)
	}
	where, args := q.filter(scope.ScopeOf(ctx))
	keep := listing.Containing(q.Metadata)
	switch {
	case keep == nil && q.Keep == nil:
		return s.plainThreads(ctx, q, room, where, args)
	case q.Keep == nil:
		return s.keptThreads(ctx, q, room, keep, where, args)
	}
	found.Room = room
	pick := listing.Picker{Limit: q.Limit, Offset: q.Offset}
	for at, more := 0, true; more; {
		var rows []threadRow
		if rows, more, err = s.threadPage(ctx, q, where, args, at); err != nil {
			return found, 0, err
		}
		at += len(rows)
		for _, row := range rows {
			ok, err := q.passes(keep, row.Thread)
			if err != nil {
				return found, 0, err
			}
			if !ok {
				continue
			}
			total++
			if pick.Take() {
				found.Add(row.ID, row.Thread, row.size)
			}
		}
	}
	return found, total, nil
}

func (q ThreadQuery) passes(keep func(json.RawMessage) bool, th mapping.Thread) (bool, error) {
	if keep != nil && !keep(th.Metadata) {
		return false, nil
	}
	return q.Keep(th)
}

func (s *threads) plainThreads(ctx context.Context, q ThreadQuery, room int, where string, args column.In) (found listing.Long[mapping.Thread], total int, err error) {
	text := `SELECT ` + threadColumns + ` WHERE ` + where + q.order() + column.Page(len(args)+1)
	err = s.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		found = listing.Long[mapping.Thread]{Room: room}
		return t.Each(text, append(args[:len(args):len(args)], column.LimitOf(q.Limit), q.Offset), func(scan func(...any) error) error {
			return listThread(&found, scan)
		})
	})
	if err != nil {
		return found, 0, err
	}
	err = s.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT count(*) FROM threads h WHERE `+where, args, column.Out{&total})
	})
	return found, total, err
}

// listThread adds a row to a list, with all that it has where there is room for that.
func listThread(found *listing.Long[mapping.Thread], scan func(...any) error) (err error) {
	var row threadRow
	if found.Full() {
		err = listing.FirstColumns(scan, threadWidth, &row.ID)
	} else {
		err = row.scan(scan)
	}
	found.Add(row.ID, row.Thread, row.size)
	return err
}

// keptThreads filters while it reads: its filter does not read the store.
func (s *threads) keptThreads(ctx context.Context, q ThreadQuery, room int, keep func(json.RawMessage) bool, where string, args column.In) (found listing.Long[mapping.Thread], total int, err error) {
	err = s.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		found, total = listing.Long[mapping.Thread]{Room: room}, 0
		pick := listing.Picker{Limit: q.Limit, Offset: q.Offset}
		return t.Each(`SELECT `+threadColumns+` WHERE `+where+q.order(), args, func(scan func(...any) error) error {
			var row threadRow
			if err := listing.FirstColumns(scan, threadWidth, &row.ID, column.RawOf(&row.Metadata)); err != nil || !keep(row.Metadata) {
				return err
			}
			if total++; !pick.Take() {
				return ctx.Err()
			}
			return errors.Join(listThread(&found, scan), ctx.Err())
		})
	})
	return found, total, err
}

// threadPage reads some of the rows, few megabytes at most; more: there are others behind them.
func (s *threads) threadPage(ctx context.Context, q ThreadQuery, where string, args column.In, offset int) (rows []threadRow, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	text := `SELECT ` + threadColumns + ` WHERE ` + where + q.order() + column.Page(len(args)+1)
	err = s.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		rows, more = nil, false
		room := listing.AtOnce
		return t.Until(text, append(args[:len(args):len(args)], column.LimitOf(pageOfThreads), offset), func(scan func(...any) error) (bool, error) {
			var row threadRow
			err := row.scan(scan)
			rows, room = append(rows, row), room-row.size
			more = room <= 0 || len(rows) == pageOfThreads
			return !more, err
		})
	})
	return rows, more, err
}

func (q ThreadQuery) filter(sc scope.Scope) (where string, args column.In) {
	where, args = sc.Narrow(`h.tenant = $1`, sc.Tenant)
	if ids := column.FilledUp(q.IDs); len(ids) > 0 {
		where += ` AND h.thread_id IN (` + column.List(len(args)+1, len(ids)) + `)`
		for _, id := range ids {
			args = append(args, id)
		}
	}
	if q.Status != "" {
		args = append(args, string(q.Status))
		where += ` AND h.status = ` + column.List(len(args), 1)
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
