package owned

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Rows calls a function with all rows that are kept of an owner, some of one table at a time: JSON objects, one on each
// line. What is made from other rows is left out, and the bytes of files are (Files).
func Rows(ctx context.Context, db *sqldb.DB, o Owner, to func(table string, n int, lines []byte) error) error {
	for i := range parts {
		if err := rows(ctx, db, o, &parts[i], to); err != nil {
			return err
		}
	}
	return nil
}

func rows(ctx context.Context, db *sqldb.DB, o Owner, p *part, to func(table string, n int, lines []byte) error) error {
	from := archive.NewPiece(p.table, p.where, o.args()...)
	var lines []byte
	for n, more := 1, true; more; n++ {
		err := db.ReadOne(ctx, func(t *sqldb.Tx) (err error) {
			lines, more, err = from.Next(t, lines[:0])
			return err
		})
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			if err := to(p.table, n, lines); err != nil {
				return err
			}
		}
	}
	return nil
}

// File is a file of a thread, or an older version of one.
type File struct {
	ThreadID, Path, ArtifactID string
	Size                       int64
	key, blob                  int64
}

// Files returns some files of an owner's threads, those that come after one of them; the zero File is before the first.
func Files(ctx context.Context, db *sqldb.DB, o Owner, behind File) (list []File, err error) {
	err = db.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		return t.Each(`SELECT r.id, h.thread_id, r.path, r.artifact_id, r.size, r.blob FROM artifacts r JOIN threads h ON h.id = r.thread
 WHERE h.tenant = $1 AND h.owner = $2 AND r.id > $3 ORDER BY r.id LIMIT $4`, append(o.args(), behind.key, listed), func(scan func(...any) error) error {
			var f File
			err := scan(&f.key, &f.ThreadID, &f.Path, &f.ArtifactID, &f.Size, &f.blob)
			list = append(list, f)
			return err
		})
	})
	return list, err
}

// chunkData is the column of the bytes of files, as what seals its bodies has it.
const chunkData = "chunks.data"

// errShort is of a file that was removed while it was read.
var errShort = errors.New("a file was removed while it was read")

// Bytes calls a function with the bytes of a file, piece by piece.
func Bytes(ctx context.Context, db *sqldb.DB, f File, to func([]byte) error) error {
	left, piece := f.Size, sqldb.Buffer{}
	for n := 0; left > 0; n++ {
		err := db.ReadBlob(ctx, func(t *sqldb.Tx) error {
			return t.Get(`SELECT data FROM chunks WHERE blob = $1 AND n = $2`, []any{f.blob, n}, []any{sqldb.Unsealed(&piece, chunkData, f.blob, n)})
		})
		if errors.Is(err, sql.ErrNoRows) || err == nil && int64(len(piece)) > left {
			return fmt.Errorf("%s: %w", f.ArtifactID, errShort)
		}
		if err == nil {
			err = to(piece)
		}
		if err != nil {
			return err
		}
		left -= int64(len(piece))
	}
	return nil
}
