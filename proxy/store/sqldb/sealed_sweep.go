package sqldb

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/proxy/store/seal"
)

// sweepRows is how many rows a sweep looks at in one statement, sweepWrites how many it writes in one operation, which
// others wait for, but for those after sweepBytes.
const (
	sweepRows   = 128
	sweepWrites = 32
	sweepBytes  = 4 << 20
)

// Reseal brings all bodies under the key that this process writes under, or makes them plain again where it writes them
// so, a few at a time. n is how many it changed, which told is told now and then. What others write meanwhile stays.
// Items whose index changes with it are left to be indexed anew (item.Chores.Reindex).
func (d *DB) Reseal(ctx context.Context, told func(n int64)) (n int64, err error) {
	for _, s := range d.sweeps() {
		for more := true; more; {
			var due [][]any
			if due, more, err = s.nextRows(ctx); err != nil {
				return n, err
			}
			for len(due) > 0 {
				var done int
				if done, err = s.write(ctx, due); err != nil {
					return n, err
				}
				n += int64(done)
				due = due[done:]
				told(n)
			}
		}
	}
	return n, nil
}

// sweep goes over one table.
type sweep struct {
	db      *DB
	table   string
	key     []columnName // what finds a row, and puts the rows in order
	columns []SealedColumn
	after   []any
}

// numbered are the tables whose rows have a number of their own; those of others are found by what their seals are
// bound to.
var numbered = []string{"threads", "tasks", "runs", "events", "outbox", "crons", "assistants"}

func (d *DB) sweeps() (list []*sweep) {
	for _, c := range SealedColumns() {
		if len(list) == 0 || list[len(list)-1].table != c.Table {
			s := &sweep{db: d, table: c.Table, key: c.Row}
			if slices.Contains(numbered, c.Table) {
				s.key = []columnName{"#id"}
			}
			list = append(list, s)
		}
		last := list[len(list)-1]
		last.columns = append(last.columns, c)
	}
	return list
}

// nextRows are the keys of those of the next rows that have something to be written anew.
func (s *sweep) nextRows(ctx context.Context) (due [][]any, more bool, err error) {
	var args []any
	text := s.selection(&args)
	err = s.db.ReadOne(ctx, func(t *Tx) error {
		due, more = nil, false
		rows := 0
		last := s.after
		err := t.Each(text, args, func(scan func(...any) error) error {
			places, wanted := placesOf(s.key), false
			if err := scan(append(slices.Clone(places), &wanted)...); err != nil {
				return err
			}
			last, rows = values(places), rows+1
			if wanted {
				due = append(due, last)
			}
			return ctx.Err()
		})
		s.after, more = last, rows == sweepRows
		return err
	})
	return due, more, err
}

func (s *sweep) selection(args *[]any) string {
	names := list(s.key)
	where := []string{"1 = 1"}
	if s.after != nil {
		where[0] = "(" + names + ") > (" + parameters(args, s.after...) + ")"
	}
	if s.table == "secrets" {
		where = append(where, "("+NoKeyRow+" OR name = '"+blindRow+"')")
	}
	var due []string
	for _, c := range s.columns {
		due = append(due, s.due(c, args))
	}
	return "SELECT " + names + ", CASE WHEN " + strings.Join(due, " OR ") + " THEN 1 ELSE 0 END FROM " + s.table +
		" WHERE " + strings.Join(where, " AND ") + " ORDER BY " + names + " LIMIT " + strconv.Itoa(sweepRows)
}

// due is the condition that a body is to be written anew. Tokens that change from the one to the other are made anew
// with their rows.
func (s *sweep) due(c SealedColumn, args *[]any) string {
	begins := func(with []byte) string {
		return "substr(" + c.Name + ", 1, " + strconv.Itoa(len(with)) + ") = " + parameters(args, with)
	}
	if !s.db.Sealing() && c.String() == indexedTokens {
		return "1 = 0"
	}
	wanted := s.db.ring.Wanted()
	if wanted == nil {
		wanted = seal.Literally()
	}
	due := "length(" + c.Name + ") > 0 AND NOT (" + begins(wanted) + ")"
	if !s.db.Sealing() || c.String() == indexedTokens {
		due += " AND " + begins(mark)
	}
	return "(" + due + ")"
}

// indexedTokens have rows besides, which are blinded where this is sealed; indexedValue is what they are made of.
const (
	indexedTokens = "items.tokens"
	indexedValue  = "items.value"
)

// write writes the first of some rows anew.
func (s *sweep) write(ctx context.Context, due [][]any) (done int, err error) {
	err = s.db.WriteRelaxed(ctx, func(t *Tx) error {
		done = 0
		for size := 0; done < len(due) && done < sweepWrites && size < sweepBytes; done++ {
			n, err := s.writeRow(t, due[done])
			if err != nil {
				return err
			}
			size += n
		}
		return nil
	})
	return done, err
}

func (s *sweep) writeRow(t *Tx, key []any) (size int, err error) {
	for _, c := range s.columns {
		n, err := s.writeBody(t, c, key)
		if size += n; err != nil {
			return size, err
		}
	}
	return size, nil
}

// writeBody writes one body anew. Where others write, too, only if it is still what was read.
func (s *sweep) writeBody(t *Tx, c SealedColumn, key []any) (size int, err error) {
	var old []byte
	row := placesOf(c.Row)
	var args []any
	found := false
	err = t.Each("SELECT "+list(c.Row)+", "+c.Name+" FROM "+c.Table+" WHERE ("+list(s.key)+") = ("+parameters(&args, key...)+")", args,
		func(scan func(...any) error) error {
			found = true
			return scan(append(slices.Clone(row), &old)...)
		})
	_, was := seal.Sealed(old)
	if err != nil || !found || len(old) == 0 || c.String() == indexedTokens && was != t.Sealing() {
		return 0, err
	}
	at := values(row)
	plain, err := t.Opened(bytes.Clone(old), c.String(), at...)
	if err != nil {
		return 0, err
	}
	args = nil
	text := "UPDATE " + c.Table + " SET " + c.Name + " = " + parameters(&args, t.Sealed(plain, c.String(), at...))
	if c.String() == indexedValue && was != t.Sealing() {
		text += ", members_us = 0"
	}
	text += " WHERE (" + list(s.key) + ") = (" + parameters(&args, key...) + ")"
	if t.Shared() {
		text += " AND " + c.Name + " = " + parameters(&args, old)
	}
	return len(old), t.Put(text, args...)
}

// list are the names of columns as a statement has them.
func list(columns []columnName) string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name())
	}
	return strings.Join(names, ", ")
}

func parameters(args *[]any, more ...any) string {
	var list []string
	for _, v := range more {
		*args = append(*args, v)
		list = append(list, "$"+strconv.Itoa(len(*args)))
	}
	return strings.Join(list, ", ")
}

// placesOf are where columns go, by what they hold.
func placesOf(columns []columnName) (places []any) {
	for _, c := range columns {
		switch c[0] {
		case '#':
			places = append(places, new(int64))
		case '*':
			places = append(places, new([]byte))
		default:
			places = append(places, new(string))
		}
	}
	return places
}

func values(places []any) (list []any) {
	for _, p := range places {
		switch v := p.(type) {
		case *int64:
			list = append(list, *v)
		case *[]byte:
			list = append(list, *v)
		case *string:
			list = append(list, *v)
		}
	}
	return list
}
