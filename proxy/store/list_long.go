package store

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

const (
	// listAtOnce is the number of bytes of rows that a list holds at a time. A single longer row is held alone.
	listAtOnce = 4 << 20
	// wholeList is the limit of a list that holds all of its rows.
	wholeList = math.MaxInt
)

// longList is a list of rows, of which there may be many, and each may be long. Its ids are fixed when it is created.
// It keeps rows in memory up to a limit. For the others it keeps only the ids and reads the rows again when the list
// reaches them.
type longList[R any] struct {
	Room int // bytes that may still be kept
	Rows []R // of the first ids
	ids  []string
}

// Full reports whether only the ids of further rows are kept.
func (l *longList[R]) Full() bool { return l.Room <= 0 }

// Add adds a row of the given size in bytes.
func (l *longList[R]) Add(id string, row R, size int) {
	if !l.Full() {
		l.Rows = append(l.Rows, row)
		l.Room -= size
	}
	l.ids = append(l.ids, id)
}

// readRow reads a row again. It returns sql.ErrNoRows or NotFound if the row was deleted.
type readRow[R any] func(t *sqldb.Tx, id string) (row R, size int, err error)

// Each yields the rows in order. Rows that are read again have their current values, and deleted ones are skipped. It
// can be ranged over once.
func (l *longList[R]) Each(ctx context.Context, db *sqldb.DB, read readRow[R]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		for next, left := l.Rows, l.ids[len(l.Rows):]; ; {
			for i := range next {
				row := next[i]
				next[i] = none // frees yielded rows
				if !yield(row, nil) {
					return
				}
			}
			if len(left) == 0 {
				return
			}
			var err error
			if next, left, err = readAgain(ctx, db, left, read); err != nil {
				yield(none, err)
				return
			}
		}
	}
}

// readAgain reads as many rows as may be held, starting with the first, and returns the remaining ids.
func readAgain[R any](ctx context.Context, db *sqldb.DB, ids []string, read readRow[R]) (rows []R, left []string, err error) {
	err = db.ReadOne(ctx, func(t *sqldb.Tx) error {
		rows, left = nil, ids
		for room := listAtOnce; room > 0 && len(left) > 0; left = left[1:] {
			row, size, err := read(t, left[0])
			switch {
			case err == nil:
				rows, room = append(rows, row), room-size
			case !errors.Is(err, sql.ErrNoRows) && mapping.Classify(err).Class != mapping.NotFound:
				return err
			}
		}
		return ctx.Err()
	})
	return rows, left, err
}

// firstColumns reads the first columns of a row with width columns and skips the others, which may be long.
func firstColumns(scan func(...any) error, width int, dest ...any) error {
	return scan(append(dest, make([]any, width-len(dest))...)...)
}

// failedList returns a list that yields only err.
func failedList[R any](err error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		yield(none, err)
	}
}
