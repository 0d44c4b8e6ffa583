package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Rows calls to with all rows of an owner's data, in batches of one table: JSON objects, one per line. It leaves out
// data derived from other rows and the contents of files (Files).
func (s *Owners) Rows(ctx context.Context, owner string, to func(table string, n int, lines []byte) error) error {
	for i := range ownedTables {
		if err := s.rows(ctx, ownerOf(ctx, owner), &ownedTables[i], to); err != nil {
			return err
		}
	}
	return nil
}

func (s *Owners) rows(ctx context.Context, o ownerID, p *ownedTable, to func(table string, n int, lines []byte) error) error {
	from := archive.NewPiece(p.table, p.where, o.args()...)
	var lines []byte
	for n, more := 1, true; more; n++ {
		err := s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) (err error) {
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

// OwnedFile is a version of a file of a thread.
type OwnedFile struct {
	ThreadID, Path, ArtifactID string
	Size                       int64
	key, blob                  int64
}

// Files returns some files of an owner's threads, starting after behind. The zero OwnedFile precedes the first.
func (s *Owners) Files(ctx context.Context, owner string, behind OwnedFile) (list []OwnedFile, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		return t.Each(`SELECT r.id, h.thread_id, r.path, r.artifact_id, r.size, r.blob FROM artifacts r JOIN threads h ON h.id = r.thread
 WHERE h.tenant = $1 AND h.owner = $2 AND r.id > $3 ORDER BY r.id LIMIT $4`, append(ownerOf(ctx, owner).args(), behind.key, ownedPage), func(scan func(...any) error) error {
			var f OwnedFile
			err := scan(&f.key, &f.ThreadID, &f.Path, &f.ArtifactID, &f.Size, &f.blob)
			list = append(list, f)
			return err
		})
	})
	return list, err
}

// errFileRemoved means that a file was removed while it was read.
var errFileRemoved = errors.New("a file was removed while it was read")

// FileBytes calls to with the contents of a file, in chunks.
func (s *Owners) FileBytes(ctx context.Context, f OwnedFile, to func([]byte) error) error {
	left, piece := f.Size, sqldb.Buffer{}
	for n := 0; left > 0; n++ {
		err := s.base.DB.ReadBlob(ctx, func(t *sqldb.Tx) error {
			return t.Get(`SELECT data FROM chunks WHERE blob = $1 AND n = $2`, []any{f.blob, n}, []any{sqldb.Unsealed(&piece, artifact.ChunkData, f.blob, n)})
		})
		if errors.Is(err, sql.ErrNoRows) || err == nil && int64(len(piece)) > left {
			return fmt.Errorf("%s: %w", f.ArtifactID, errFileRemoved)
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
