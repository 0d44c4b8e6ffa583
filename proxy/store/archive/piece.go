package archive

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Piece reads rows of one table, some at a time, in the order of an export. Not for concurrent use.
type Piece struct {
	of    *table
	where string
	args  []any
	after []any // the key of the last row that was read; nil before the first
}

// NewPiece returns a Piece of the rows r of a table that a condition selects, whose parameters are args. The table is
// one of an export: another is a mistake of the program, and panics.
func NewPiece(table, where string, args ...any) *Piece {
	t := tableOf(table)
	if t == nil {
		panic("archive: there is no table " + table)
	}
	return &Piece{of: t, where: where, args: args}
}

// Tables returns the names of the tables of an export.
func Tables() []string { return names() }

// A call of Next reads no more rows than pieceRows, and no more after pieceBytes.
const (
	pieceRows  = 500
	pieceBytes = 1 << 20
)

// Next appends the next rows to lines, one JSON object on each. JSON in a column stands there as it is, and bodies are
// opened. more is false when there are none left.
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

// keyOf is what the rows are in the order of.
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

// argument is a value that was read as a parameter of a statement.
func (c column) argument(v sqldb.Buffer) any {
	switch c.kind {
	case number:
		n, _ := strconv.ParseInt(string(v), 10, 64) // the database says that it is one
		return n
	case text:
		return string(v)
	}
	return append([]byte{}, v...)
}

// legible is the line of a row for people: without the table's name, and with JSON as it is.
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
