package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// ChunkData is the column of file contents, which is sealed if the bridge has keys (sqldb.Tx.Sealed).
const ChunkData = "chunks.data"

// chunkSize is the amount of a file that is stored in one write, so that other writes can run in between.
const chunkSize = 256 << 10

// Save streams a file into chunks, each with its own write. If there is already a file at the path in the thread, its
// id and creation time are kept. A staged file, created by an agent, is invisible until an Append names its id. An
// upload is visible immediately. If the body is larger than limit bytes (0 means no limit), it returns a TooLarge error
// and nothing remains. Size and Sum are computed; everything else comes from a, whose Path must be canonical.
func (s *Table) Save(ctx context.Context, a mapping.Artifact, body io.Reader, limit int64, staged bool) (mapping.Artifact, error) {
	blob, err := s.newBlob(ctx, a.ThreadID)
	if err != nil {
		return mapping.Artifact{}, err
	}
	if a.Size, a.Sum, err = s.writeChunks(ctx, blob, body, limit); err == nil {
		a.Tenant = tables.TenantOf(ctx)
		a, err = s.finish(ctx, blob, a, staged)
	}
	if err != nil {
		s.discardBlob(ctx, blob)
		return mapping.Artifact{}, err
	}
	return a, nil
}

func (s *Table) newBlob(ctx context.Context, threadID string) (blob int64, err error) {
	err = s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		if _, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID); err != nil {
			return err
		}
		blob, err = insertBlob(t, true)
		return err
	})
	return blob, err
}

func insertBlob(t *sqldb.Tx, staged bool) (blob int64, err error) {
	blob, err = t.Insert(`INSERT INTO blobs (created_us, loose) VALUES ($1, $2)`, t.Now, sqldb.Number(staged))
	return blob, err
}

// publishBlob records that the bytes belong to a visible artifact.
func publishBlob(t *sqldb.Tx, blob int64) error {
	return t.Put(`UPDATE blobs SET loose = 0 WHERE id = $1`, blob)
}

// writeChunks stores the chunks. A crash of the machine before finish may lose them.
func (s *Table) writeChunks(ctx context.Context, blob int64, body io.Reader, limit int64) (size int64, sum string, err error) {
	hash, buf := sha256.New(), make([]byte, chunkSize)
	for n := 0; ; n++ {
		got, ended, err := fill(body, buf)
		if err != nil {
			return 0, "", err
		}
		size += int64(got)
		if limit > 0 && size > limit {
			return 0, "", mapping.Errorf(mapping.TooLarge, "artifact_too_large", "The file is larger than %d bytes (limits.artifact).", limit)
		}
		hash.Write(buf[:got])
		if got > 0 {
			if err := s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error { return insertChunk(t, blob, n, buf[:got]) }); err != nil {
				return 0, "", err
			}
		}
		if ended {
			return size, hex.EncodeToString(hash.Sum(nil)), nil
		}
	}
}

// fill reads until buf is full or the body has ended. Only a bare io.EOF marks the end of a body. io.ErrUnexpectedEOF,
// which io.ReadFull would return for a short last chunk, is what net/http returns for a body that broke off.
func fill(body io.Reader, buf []byte) (n int, ended bool, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = body.Read(buf[n:])
		n += more
	}
	if err == io.EOF { //nolint:errorlint // a wrapped EOF is a body that broke off
		return n, true, nil
	}
	return n, false, err
}

func insertChunk(t *sqldb.Tx, blob int64, n int, data []byte) error {
	return t.Put(`INSERT INTO chunks (blob, n, data) VALUES ($1, $2, $3)`, blob, n, t.Sealed(data, ChunkData, blob, n))
}

// finish writes the row of the artifact.
func (s *Table) finish(ctx context.Context, blob int64, a mapping.Artifact, staged bool) (made mapping.Artifact, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		thread, err := tables.ThreadKey(t, tables.Scope{Tenant: a.Tenant}, a.ThreadID)
		if err != nil {
			return err
		}
		if err := tables.LockThread(t, thread); err != nil {
			return err
		}
		made = a
		old, there, err := known(t, thread, a.Path)
		if err != nil {
			return err
		}
		adopt(t, &made, old, there)
		if staged {
			if err := insertArtifact(t, thread, 0, blob, made, true); err != nil {
				return err
			}
			return addedFiles(s.quotas, t, thread, there, made.Size)
		}
		if made.ModifiedAt, err = afterOthers(t, thread, made.ModifiedAt); err != nil {
			return err
		}
		if err := publishBlob(t, blob); err != nil {
			return err
		}
		if err := show(t, thread, 0, blob, made); err != nil {
			return err
		}
		return addedFiles(s.quotas, t, thread, there, made.Size)
	})
	return made, err
}

// afterOthers returns a modification time later than that of every other file of the thread. That is at, unless two
// files arrived at the same moment, a clock was set back, or an upload that started later finished earlier. Uploads are
// distinguished by their times, see mapping.Uploaded.
func afterOthers(t *sqldb.Tx, thread int64, at time.Time) (time.Time, error) {
	var newest int64
	err := t.Get(`SELECT coalesce(max(modified_us), 0) FROM artifacts WHERE thread = $1`, sqldb.In{thread}, sqldb.Out{&newest})
	return sqldb.TimeOf(max(sqldb.Micros(at), newest+1)), err
}

// discardBlob removes the chunks of a failed upload. Anything it misses is swept later.
func (s *Table) discardBlob(ctx context.Context, blob int64) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	_ = s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error { return dropBlob(t, blob) })
}

// writeFile is like Table.Save, for a small file within an operation.
func writeFile(quotas *tables.Quotas, t *sqldb.Tx, thread, run int64, f FileWrite) (mapping.Artifact, error) {
	a, sum := f.Artifact, sha256.Sum256(f.Content)
	a.Size, a.Sum = int64(len(f.Content)), hex.EncodeToString(sum[:])
	old, there, err := known(t, thread, a.Path)
	if err != nil {
		return a, err
	}
	adopt(t, &a, old, there)
	blob, err := insertBlob(t, false)
	if err != nil {
		return a, err
	}
	for n, rest := 0, f.Content; len(rest) > 0; n++ {
		size := min(len(rest), chunkSize)
		if err := insertChunk(t, blob, n, rest[:size]); err != nil {
			return a, err
		}
		rest = rest[size:]
	}
	if err := show(t, thread, run, blob, a); err != nil {
		return a, err
	}
	if run > 0 {
		return a, notedFiles(quotas, t, thread, there, a.Size)
	}
	return a, addedFiles(quotas, t, thread, there, a.Size)
}

// Open returns an artifact like Get, and a reader that fetches its content chunk by chunk. If the file is replaced or
// removed, reads return an error.
func (s *Table) Open(ctx context.Context, threadID, id string) (mapping.Artifact, io.ReadSeekCloser, error) {
	row, err := s.visible(ctx, threadID, id)
	if err != nil {
		return mapping.Artifact{}, nil, err
	}
	return row.Artifact, &chunks{ctx: ctx, db: s.db, key: row.key, blob: row.blob, sum: row.Sum, size: row.Size}, nil
}

// chunks reads the content of an artifact. Reading may take minutes. On SQLite both keys may be reused for another file
// during that time, but the checksum cannot match.
type chunks struct {
	ctx  context.Context
	db   *sqldb.DB
	key  int64
	blob int64
	sum  string
	size int64
	at   int64 // offset of the next byte
	held sqldb.Buffer
	buf  bytes.Reader // unread part of held; empty after a Seek
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.at >= c.size {
		return 0, io.EOF
	}
	if c.buf.Len() == 0 {
		if err := c.fetch(); err != nil {
			return 0, err
		}
	}
	n, err := c.buf.Read(p)
	c.at += int64(n)
	return n, err
}

// Seek reads nothing.
func (c *chunks) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of the file")
	}
	c.at = offset
	c.buf.Reset(nil)
	return offset, nil
}

func (*chunks) Close() error { return nil }

// fetch reads the chunk of the next byte. Every chunk except the last has chunkSize bytes.
func (c *chunks) fetch() error {
	n := c.at / chunkSize
	err := c.db.ReadBlob(c.ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT data FROM chunks WHERE blob = $1 AND n = $2 AND EXISTS (SELECT 1 FROM artifacts WHERE id = $3 AND blob = $1 AND sum = $4)`,
			sqldb.In{c.blob, n, c.key, c.sum}, sqldb.Out{sqldb.Unsealed(&c.held, ChunkData, c.blob, int(n))})
	})
	if err != nil {
		return tables.NotFound(err, mapping.CodeArtifactNotFound, "artifact with the content it had a moment ago", "")
	}
	from := c.at % chunkSize
	if from >= int64(len(c.held)) {
		return io.ErrUnexpectedEOF
	}
	c.buf.Reset(c.held[from:])
	return nil
}

// sweepAge is how long bytes may wait for the row or event that makes them visible.
const sweepAge = 24 * time.Hour

// Sweep removes what interrupted uploads and runs have left behind.
func Sweep(t *sqldb.Tx) error {
	old := t.Horizon - sweepAge.Microseconds()
	return tables.PutAll(t, []string{
		`DELETE FROM artifacts WHERE staged = 1 AND blob IN (SELECT id FROM blobs WHERE loose = 1 AND created_us < $1)`,
		`DELETE FROM chunks WHERE blob IN (SELECT id FROM blobs WHERE loose = 1 AND created_us < $1)`,
		`DELETE FROM blobs WHERE loose = 1 AND created_us < $1`,
	}, old)
}

// Copy gives a copied thread the same files with the same ids. The threads share the bytes, which remain until no
// thread refers to them (dropBlob).
func Copy(quotas *tables.Quotas, t *sqldb.Tx, from, to int64) error {
	var rows []artifactRow
	err := t.Each(`SELECT `+artifactColumns+` WHERE a.thread = $1 AND a.staged = 0`, sqldb.In{from}, func(scan func(...any) error) error {
		var row artifactRow
		err := row.scan(scan)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := insertArtifact(t, to, 0, row.blob, row.Artifact, false); err != nil {
			return err
		}
		if err := addedFiles(quotas, t, to, false, row.Size); err != nil {
			return err
		}
	}
	return nil
}
