package archive

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// An export is plain text, whatever keys the database has, so that another bridge can read it, even years later.
// Imported bodies are sealed with the keys of the target database.

// body is a column with sealed bodies and the indexes of the columns to which its seal is bound.
type body struct {
	name string
	at   int
	row  []int
}

// bodies returns the sealed columns of a table.
func (t *table) bodies() (list []body) {
	for _, c := range sqldb.SealedColumns() {
		if at := t.place(c.Name); c.Table == t.name && at >= 0 {
			b := body{name: c.String(), at: at}
			for _, of := range c.Row {
				b.row = append(b.row, t.place(of.Name()))
			}
			list = append(list, b)
		}
	}
	return list
}

func (t *table) place(name string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
}

// open opens the bodies of a scanned row.
func (t *table) open(tx *sqldb.Tx, row []sqldb.Buffer) error {
	for _, b := range t.sealed {
		key := make([]any, len(b.row))
		for i, at := range b.row {
			key[i] = []byte(row[at])
			if t.columns[at].kind == number {
				n, err := strconv.ParseInt(string(row[at]), 10, 64)
				if err != nil {
					return fmt.Errorf("%s.%s: %w", t.name, t.columns[at].name, err)
				}
				key[i] = n
			}
		}
		plain, err := tx.Opened(row[b.at], b.name, key...)
		if err != nil {
			return err
		}
		row[b.at] = plain
	}
	return nil
}

// seal seals the bodies of a row that is about to be written.
func (t *table) seal(tx *sqldb.Tx, args []any) {
	for _, b := range t.sealed {
		plain, ok := args[b.at].([]byte)
		if !ok { // NULL
			continue
		}
		key := make([]any, len(b.row))
		for i, at := range b.row {
			key[i] = args[at]
		}
		args[b.at] = tx.Sealed(plain, b.name, key...)
	}
}
