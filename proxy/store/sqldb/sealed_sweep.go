package sqldb

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/proxy/store/seal"
)

// sweepRows is the number of rows a sweep reads in one statement. sweepWrites and sweepBytes limit the rows and bytes
// that it writes in one operation, because other writes wait for it.
const (
	sweepRows   = 128
	sweepWrites = 32
	sweepBytes  = 4 << 20
)

// Reseal rewrites all bodies in the form that this process writes, sealed under its key or plain, a few at a time. It
// returns the number of changed bodies and passes the running total to told. Bodies that others change during the sweep
// are skipped. Items whose index depends on the form are marked for reindexing (item.Maintenance.Reindex).
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

type sweep struct {
	db      *DB
	table   string
	key     []columnName // identifies a row and orders the rows
	columns []SealedColumn
	after   []any
}

// numbered lists the tables whose rows have an id. Rows of other tables are identified by the key to which their seals
// are bound.
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

// nextRows returns the keys of the rows in the next batch that must be rewritten.
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

// due returns the condition that a body must be rewritten. Tokens that change between sealed and plain are rebuilt
// together with their rows.
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

// indexedTokens also have index rows, which are blinded if bodies are sealed. indexedValue is the source of the tokens.
const (
	indexedTokens = "items.tokens"
	indexedValue  = "items.value"
)

// write rewrites the first of the due rows and returns their number.
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

// writeBody rewrites one body. If other processes may write, it does so only if the body is unchanged since it was
// read.
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

// list joins the names of columns for a statement.
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

// placesOf returns scan destinations for columns, by type.
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
