package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Expire is the time at which a thread expires (zero means never), and whether the thread is then deleted or only its
// states other than the newest.
type Expire struct {
	At         time.Time
	After      time.Duration // duration from the request
	KeepLatest bool
}

// Patch merges metadata key by key and sets the expiry. Nil arguments leave their part unchanged.
func (s *Threads) Patch(ctx context.Context, id string, metadata json.RawMessage, expires *Expire) (th mapping.Thread, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := readLocked(t, tables.ScopeOf(ctx), id)
		if err != nil {
			return tables.NoThread(err, id)
		}
		if metadata != nil {
			if row.Metadata, err = rule.MergeMetadata(row.Metadata, metadata); err != nil {
				return err
			}
		}
		if expires != nil {
			row.Expires, row.TTL, row.KeepLatest = sqldb.TimeOf(sqldb.Micros(expires.At)), expires.After, expires.KeepLatest
			s.base.Due(t, dueExpiry)
		}
		row.UpdatedAt = sqldb.TimeOf(t.Now)
		_, err = t.Exec(`UPDATE threads SET metadata = $2, expires_us = $3, keep_latest = $4, updated_us = $5, ttl_us = $6 WHERE id = $1`,
			row.key, []byte(row.Metadata), sqldb.Micros(row.Expires), sqldb.Number(row.KeepLatest), t.Now, row.TTL.Microseconds())
		th = row.Thread
		return err
	})
	return th, err
}

// Copy copies a thread with its checkpoints, the events they are folded from and its artifacts, all with their numbers
// and ids, and its agents. It does not copy links, tasks, runs and expiry: the copy is idle and does not expire. A
// repeated request with the same key returns the existing copy.
func (s *Threads) Copy(ctx context.Context, id, newID string, key IdempotencyKey) (th mapping.Thread, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		earlier, err := claimKey(t, p, key, newID)
		if err == nil && earlier != "" {
			th, err = earlierThread(t, p, earlier)
			return err
		}
		if err != nil {
			return err
		}
		old, err := readLocked(t, tables.ScopeFor(p), id)
		if err != nil {
			return tables.NoThread(err, id)
		}
		row, fresh, err := s.base.insertThread(t, p, mapping.Thread{ID: newID, Metadata: old.Metadata, Config: old.Config}, old.agents)
		if err != nil {
			return err
		}
		if !fresh {
			return mapping.Errorf(mapping.Conflict, CodeThreadThere, "Thread %q already exists.", newID)
		}
		row.Head = old.Head
		th = row.Thread
		return s.base.copyHistory(t, old.key, row.key)
	})
	return th, err
}

func (s *base) copyHistory(t *sqldb.Tx, from, to int64) error {
	if err := tables.PutAll(t, []string{
		`INSERT INTO thread_seq (thread, seq, head, prev_head, line, base, prev_base)
 SELECT $2, seq, head, prev_head, line, base, prev_base FROM thread_seq WHERE thread = $1`,
		`INSERT INTO events (thread, seq, run, kind, at_us, line, checkpoint, base, head, data, snapshot)
 SELECT $2, seq, NULL, kind, at_us, line, checkpoint, base, head, data, snapshot FROM events WHERE thread = $1 AND line IS NOT NULL ORDER BY seq`,
	}, from, to); err != nil {
		return err
	}
	if err := resealCopied(t, from, to); err != nil {
		return err
	}
	return artifact.Copy(s.Quotas, t, from, to)
}
