package artifact

import (
	"context"
	"io"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// FileVersion is a file of a thread, visible or not.
type FileVersion struct {
	mapping.Artifact
	Key       int64
	RunID     string // of the run that wrote it; "" if there was none or it is gone
	Visible   bool
	OtherLine bool // hidden by a fork and not by a run
}

const pastColumns = `a.id, a.blob, h.tenant, a.artifact_id, h.thread_id, a.task_id, a.path, a.size, a.mime, a.sum, a.agent_created, a.created_us, a.modified_us, a.remote_id, a.run,
 COALESCE(r.run_id, ''), a.staged = 0, a.until_run FROM artifacts a JOIN threads h ON h.id = a.thread LEFT JOIN runs r ON r.id = a.run`

// Versions lists all stored versions of a thread's files by path, the visible version first and then the newest.
func (s *Table) Versions(ctx context.Context, threadID string) (list []FileVersion, err error) {
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		list = nil
		thread, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		return t.Each(`SELECT `+pastColumns+` WHERE a.thread = $1 AND a.staged <> 1 ORDER BY a.path, a.staged DESC, a.id DESC`, sqldb.In{thread}, func(scan func(...any) error) error {
			v, _, err := scanVersion(scan)
			list = append(list, v)
			return err
		})
	})
	return list, err
}

func scanVersion(scan func(...any) error) (v FileVersion, blob int64, err error) {
	var row artifactRow
	var until int64
	err = row.scan(func(to ...any) error { return scan(append(to, &v.RunID, &v.Visible, &until)...) })
	v.Artifact, v.Key, v.OtherLine = row.Artifact, row.key, until == otherLine
	return v, row.blob, err
}

// OpenVersion reads one of Versions by its key. It returns a NotFound error if the thread has no such version.
func (s *Table) OpenVersion(ctx context.Context, threadID string, key int64) (v FileVersion, body io.ReadSeekCloser, err error) {
	var blob int64
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		thread, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		v = FileVersion{}
		err = t.Each(`SELECT `+pastColumns+` WHERE a.thread = $1 AND a.id = $2 AND a.staged <> 1`, sqldb.In{thread, key}, func(scan func(...any) error) (err error) {
			v, blob, err = scanVersion(scan)
			return err
		})
		if err == nil && v.Key == 0 {
			return mapping.Errorf(mapping.NotFound, mapping.CodeArtifactNotFound, "Thread %s has no version %d of a file, or no longer has it.", threadID, key)
		}
		return err
	})
	if err != nil {
		return v, nil, err
	}
	return v, &chunks{ctx: ctx, db: s.db, key: v.Key, blob: blob, sum: v.Sum, size: v.Size}, nil
}
