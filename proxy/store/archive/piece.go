package archive

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Piece reads rows of one table in batches, in the order of an export. Not safe for concurrent use.
type Piece struct {
	of    *table
	where string
	args  []any
	after []any // key of the last row read; nil before the first
}

// NewPiece returns a Piece of the rows r of a table that satisfy a condition with the parameters args. It panics if the
// table is not part of an export.
func NewPiece(table, where string, args ...any) *Piece {
	t := tableOf(table)
	if t == nil {
		panic("archive: there is no table " + table)
	}
	return &Piece{of: t, where: where, args: args}
}

// Limits of one call of Next. It stops after pieceRows rows or once it has pieceBytes bytes.
const (
	pieceRows  = 500
	pieceBytes = 1 << 20
)

// Next appends the next rows to lines, as one JSON object per line. JSON in a column is included as JSON, and bodies
// are opened. more is false if there are no more rows.
func (p *Piece) Next(t *sqldb.Tx, lines []byte) (_ []byte, more bool, err error) {
	row, places := make([]sqldb.Buffer, len(p.of.columns)), make([]any, len(p.of.columns))
	for i := range row {
		places[i] = &row[i]
	}
	n, after := 0, p.after
	text, args := p.selection()
	err = t.Until(text, args, func(scan func(...any) error) (bool, error) {
		if err := scan(places...); err != nil {
			return false, err
		}
		n++
		if err := p.of.open(t, row); err != nil {
			return false, err
		}
		lines = append(lines, p.of.legible(row)...)
		after = p.of.keyOf(row)
		return len(lines) < pieceBytes, nil
	})
	if err != nil {
		return lines, false, err
	}
	p.after = after
	return lines, n == pieceRows || len(lines) >= pieceBytes, nil
}

func (p *Piece) selection() (text string, args []any) {
	var list []string
	for _, c := range p.of.columns {
		if c.kind == number {
			list = append(list, "CAST(r."+c.name+" AS TEXT)")
		} else {
			list = append(list, "r."+c.name)
		}
	}
	order, where, args := "r."+strings.ReplaceAll(p.of.order, ", ", ", r."), "("+p.where+")", p.args
	if p.after != nil {
		var later []string
		for i := range p.after {
			later = append(later, "$"+strconv.Itoa(len(args)+1+i))
		}
		where += " AND (" + order + ") > (" + strings.Join(later, ", ") + ")"
		args = append(append([]any{}, args...), p.after...)
	}
	return fmt.Sprintf("SELECT %s FROM %s r WHERE %s ORDER BY %s LIMIT %d", strings.Join(list, ", "), p.of.name, where, order, pieceRows), args
}

// keyOf returns the values by which rows are ordered.
func (t *table) keyOf(row []sqldb.Buffer) (key []any) {
	for name := range strings.SplitSeq(t.order, ", ") {
		for i, c := range t.columns {
			if c.name == name {
				key = append(key, c.argument(row[i]))
			}
		}
	}
	return key
}

// argument converts a scanned value to a parameter.
func (c column) argument(v sqldb.Buffer) any {
	switch c.kind {
	case number:
		n, _ := strconv.ParseInt(string(v), 10, 64) // always a number, because the database formatted it
		return n
	case text:
		return string(v)
	}
	return append([]byte{}, v...)
}

// legible formats a row for people to read: without the table's name, and with JSON included as JSON.
func (t *table) legible(row []sqldb.Buffer) []byte {
	var w rawjson.Writer
	w.Open('{')
	for i, c := range t.columns {
		w.Key(c.name)
		if c.kind == raw && rawjson.Valid(row[i]) {
			w.Raw(json.RawMessage(row[i]), "null")
		} else {
			write(&w, row[i], c.kind)
		}
	}
	return append(w.Close('}').Bytes, '\n')
}
