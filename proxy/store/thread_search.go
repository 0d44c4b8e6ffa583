package store

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// ThreadFilter reports whether a thread matches. It may read the store.
type ThreadFilter func(mapping.Thread) (bool, error)

// idsMost limits the ids of one query.
const idsMost = 1000

// pageOfThreads is the maximum number of rows read before they are filtered. Filters run between pages, when no
// connection is held, because they may read the store.
const pageOfThreads = 1024

// List returns the matching threads. total is the number of all matches, regardless of the limit.
func (s *Threads) List(ctx context.Context, q mapping.ThreadQuery) (found []mapping.Thread, total int, err error) {
	list, total, err := s.find(ctx, q, nil, wholeList)
	return list.Rows, total, err
}

// Search is like List, but holds only a few megabytes in memory at a time. Threads have their values at the time they
// are yielded, and deleted ones are skipped. The result can be ranged over once. Threads for which keep returns false
// do not count towards q.Limit; a nil keep accepts all.
func (s *Threads) Search(ctx context.Context, q mapping.ThreadQuery, keep ThreadFilter) (found iter.Seq2[mapping.Thread, error], total int, err error) {
	list, total, err := s.find(ctx, q, keep, listAtOnce)
	if err != nil {
		return nil, 0, err
	}
	sc := tables.ScopeOf(ctx)
	return list.Each(ctx, s.base.DB, func(t *sqldb.Tx, id string) (mapping.Thread, int, error) {
		row, err := readThread(t, sc, id)
		return row.Thread, row.size, err
	}), total, nil
}

// find lists threads. The first ones are read completely, as many as fit in room.
func (s *Threads) find(ctx context.Context, q mapping.ThreadQuery, keep ThreadFilter, room int) (found longList[mapping.Thread], total int, err error) {
	if len(q.IDs) > idsMost {
		return found, 0, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "At most %d ids may be requested at once.", idsMost)
	}
	where, args := threadFilter(tables.ScopeOf(ctx), q)
	tagged := containing(q.Metadata)
	switch {
	case tagged == nil && keep == nil:
		return s.plainThreads(ctx, q, room, where, args)
	case keep == nil:
		return s.taggedThreads(ctx, q, room, tagged, where, args)
	}
	found.Room = room
	pick := picker{Limit: q.Limit, Offset: q.Offset}
	for at, more := 0, true; more; {
		var rows []threadRow
		if rows, more, err = s.threadPage(ctx, q, where, args, at); err != nil {
			return found, 0, err
		}
		at += len(rows)
		for _, row := range rows {
			ok, err := passes(row.Thread, tagged, keep)
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

func passes(th mapping.Thread, tagged func(json.RawMessage) bool, keep ThreadFilter) (bool, error) {
	if tagged != nil && !tagged(th.Metadata) {
		return false, nil
	}
	return keep(th)
}

func (s *Threads) plainThreads(ctx context.Context, q mapping.ThreadQuery, room int, where string, args sqldb.In) (found longList[mapping.Thread], total int, err error) {
	text := `SELECT ` + threadColumns + ` WHERE ` + where + threadOrder(q) + limitOffset(len(args)+1)
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		found = longList[mapping.Thread]{Room: room}
		return t.Each(text, append(args[:len(args):len(args)], sqldb.LimitOf(q.Limit), q.Offset), func(scan func(...any) error) error {
			return listThread(&found, scan)
		})
	})
	if err != nil {
		return found, 0, err
	}
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT count(*) FROM threads h WHERE `+where, args, sqldb.Out{&total})
	})
	return found, total, err
}

// listThread adds a row to a list. It reads all columns if there is room for them.
func listThread(found *longList[mapping.Thread], scan func(...any) error) (err error) {
	var row threadRow
	if found.Full() {
		err = firstColumns(scan, threadWidth, &row.ID)
	} else {
		err = row.scan(scan)
	}
	found.Add(row.ID, row.Thread, row.size)
	return err
}

// taggedThreads filters by metadata while reading, because that filter does not read the store.
func (s *Threads) taggedThreads(ctx context.Context, q mapping.ThreadQuery, room int, tagged func(json.RawMessage) bool, where string, args sqldb.In) (found longList[mapping.Thread], total int, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		found, total = longList[mapping.Thread]{Room: room}, 0
		pick := picker{Limit: q.Limit, Offset: q.Offset}
		return t.Each(`SELECT `+threadColumns+` WHERE `+where+threadOrder(q), args, func(scan func(...any) error) error {
			var row threadRow
			if err := firstColumns(scan, threadWidth, &row.ID, rawOf(&row.Metadata)); err != nil || !tagged(row.Metadata) {
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

// threadPage reads some rows, at most a few megabytes. more reports whether there are others.
func (s *Threads) threadPage(ctx context.Context, q mapping.ThreadQuery, where string, args sqldb.In, offset int) (rows []threadRow, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	text := `SELECT ` + threadColumns + ` WHERE ` + where + threadOrder(q) + limitOffset(len(args)+1)
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		rows, more = nil, false
		room := listAtOnce
		return t.Until(text, append(args[:len(args):len(args)], sqldb.LimitOf(pageOfThreads), offset), func(scan func(...any) error) (bool, error) {
			var row threadRow
			err := row.scan(scan)
			rows, room = append(rows, row), room-row.size
			more = room <= 0 || len(rows) == pageOfThreads
			return !more, err
		})
	})
	return rows, more, err
}

// threadFilter leaves out threads of stateless runs (mapping.OfOneRun) unless the query includes them or names ids,
// because clients list only the threads that they created.
func threadFilter(sc tables.Scope, q mapping.ThreadQuery) (where string, args sqldb.In) {
	where, args = sc.Narrow(`h.tenant = $1`, sc.Tenant)
	if ids := filledUp(q.IDs); len(ids) > 0 {
		where += ` AND h.thread_id IN (` + sqldb.Params(len(args)+1, len(ids)) + `)`
		for _, id := range ids {
			args = append(args, id)
		}
	}
	if len(q.IDs) == 0 && !q.OfOneRun {
		where += ` AND h.ttl_us >= 0`
	}
	if q.Status != "" {
		args = append(args, string(q.Status))
		where += ` AND h.status = ` + sqldb.Params(len(args), 1)
	}
	return where, args
}

// threadOrder ends with the key, so that equal times keep the order of creation.
func threadOrder(q mapping.ThreadQuery) string {
	way := ` DESC`
	if q.Asc {
		way = ``
	}
	switch q.SortBy {
	case mapping.SortByID:
		return ` ORDER BY h.thread_id` + way + ` `
	case mapping.SortByStatus:
		return ` ORDER BY h.status` + way + `, h.id` + way + ` `
	case mapping.SortByUpdated:
		return ` ORDER BY h.updated_us` + way + `, h.id` + way + ` `
	}
	return ` ORDER BY h.id` + way + ` `
}
