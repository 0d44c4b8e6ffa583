package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Crons keeps the crons that create runs at set times. It does not create runs or parse schedules.
type Crons struct {
	base *base
	most int // limit per tenant; 0 means none
}

const cronColumns = `c.id, c.tenant, c.cron_id, c.owner, coalesce(h.thread_id, ''), c.agent, c.assistant_id, c.schedule, c.timezone, c.enabled, c.keep,
 c.metadata, c.payload, c.run, c.error, c.end_us, c.next_us, c.created_us, c.updated_us FROM crons c LEFT JOIN threads h ON h.id = c.thread`

type cronRow struct {
	key int64
	mapping.Cron
}

func (r *cronRow) scan(scan func(...any) error) error {
	var end, next, created, updated int64
	err := scan(&r.key, &r.Tenant, &r.ID, &r.Owner, &r.ThreadID, &r.Agent, &r.AssistantID, &r.Schedule, &r.Timezone, &r.Enabled, &r.Keep,
		rawOf(&r.Metadata), sqldb.Unsealed(rawOf(&r.Payload), colCronPayload, &r.Tenant, &r.ID), sqldb.Unsealed(rawOf(&r.Run), colCronRun, &r.Tenant, &r.ID), &r.Error, &end, &next, &created, &updated)
	r.End, r.Next, r.CreatedAt, r.UpdatedAt = sqldb.TimeOf(end), sqldb.TimeOf(next), sqldb.TimeOf(created), sqldb.TimeOf(updated)
	return err
}

// Create stores a cron. If it names a thread, that must exist (NotFound), and the cron is deleted with it. A repeated
// request with the same key returns the existing cron.
func (s *Crons) Create(ctx context.Context, c mapping.Cron, key IdempotencyKey) (made mapping.Cron, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if earlier, err := claimKey(t, p, key, c.ID); err != nil || earlier != "" {
			if err == nil {
				var row cronRow
				row, err = readCron(t, tables.ScopeFor(p), earlier)
				made = row.Cron
			}
			return err
		}
		if err := s.roomForCron(t, p.Tenant); err != nil {
			return err
		}
		made = c
		made.Tenant, made.Owner = p.Tenant, p.ID
		made.Metadata, made.Payload = objectOrEmpty(c.Metadata), objectOrEmpty(c.Payload)
		made.CreatedAt = sqldb.TimeOf(t.Now)
		made.UpdatedAt = made.CreatedAt
		var thread int64
		if c.ThreadID != "" {
			if thread, err = tables.ThreadKey(t, tables.ScopeFor(p), c.ThreadID); err != nil {
				return err
			}
		}
		s.base.Due(t, dueCron)
		_, err := t.Exec(`INSERT INTO crons (tenant, cron_id, owner, thread, agent, assistant_id, schedule, timezone, enabled, keep, metadata, payload, run,
 error, end_us, next_us, created_us, updated_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '', $14, $15, $16, $16)`,
			made.Tenant, made.ID, made.Owner, thread, made.Agent, made.AssistantID, made.Schedule, made.Timezone, sqldb.Number(made.Enabled), sqldb.Number(made.Keep),
			[]byte(made.Metadata), t.Sealed(made.Payload, colCronPayload, made.Tenant, made.ID), t.Sealed(notNull(made.Run), colCronRun, made.Tenant, made.ID), sqldb.Micros(made.End), sqldb.Micros(made.Next), t.Now)
		if err != nil {
			return err
		}
		return s.base.Quotas.Added(t, tables.QuotaCrons, made.Tenant, made.Owner, 1)
	})
	return made, err
}

func (s *Crons) Get(ctx context.Context, id string) (c mapping.Cron, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		row, err := readCron(t, tables.ScopeOf(ctx), id)
		c = row.Cron
		return err
	})
	return c, err
}

func readCron(t *sqldb.Tx, sc tables.Scope, id string) (row cronRow, err error) {
	where, args := sc.Crons(`c.tenant = $1 AND c.cron_id = $2`, sc.Tenant, id)
	err = t.Each(`SELECT `+cronColumns+` WHERE `+where, args, row.scan)
	if err == nil && row.key == 0 {
		err = sql.ErrNoRows
	}
	return row, tables.NotFound(err, mapping.CodeCronNotFound, "cron", id)
}

// Update replaces the mutable fields of a cron: all but its ids, owner, thread and agent.
func (s *Crons) Update(ctx context.Context, c mapping.Cron) (changed mapping.Cron, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := readCron(t, tables.ScopeOf(ctx), c.ID)
		if err != nil {
			return err
		}
		changed = row.Cron
		changed.Schedule, changed.Timezone, changed.Enabled, changed.Keep = c.Schedule, c.Timezone, c.Enabled, c.Keep
		changed.Metadata, changed.Payload, changed.Run = objectOrEmpty(c.Metadata), objectOrEmpty(c.Payload), c.Run
		changed.End, changed.Next, changed.UpdatedAt = sqldb.TimeOf(sqldb.Micros(c.End)), sqldb.TimeOf(sqldb.Micros(c.Next)), sqldb.TimeOf(t.Now)
		s.base.Due(t, dueCron)
		_, err = t.Exec(`UPDATE crons SET schedule = $2, timezone = $3, enabled = $4, keep = $5, metadata = $6, payload = $7, run = $8, end_us = $9,
 next_us = $10, updated_us = $11 WHERE id = $1`, row.key, c.Schedule, c.Timezone, sqldb.Number(c.Enabled), sqldb.Number(c.Keep),
			[]byte(changed.Metadata), t.Sealed(changed.Payload, colCronPayload, changed.Tenant, changed.ID), t.Sealed(notNull(c.Run), colCronRun, changed.Tenant, changed.ID), sqldb.Micros(c.End), sqldb.Micros(c.Next), t.Now)
		return err
	})
	return changed, err
}

// Delete removes a cron. Its runs remain.
func (s *Crons) Delete(ctx context.Context, id string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := readCron(t, tables.ScopeOf(ctx), id)
		if err != nil {
			return err
		}
		return t.Put(`DELETE FROM crons WHERE id = $1`, row.key)
	})
}

// CronQuery selects crons. Empty fields match all.
type CronQuery struct {
	Agent, Assistant, ThreadID string
	Enabled                    *bool
	Metadata                   json.RawMessage // containment
	SortBy                     mapping.SortKey // as in adapter.CronQuery
	Asc                        bool
	Limit, Offset              int // Limit 0 means all
}

// List returns a page of crons and the total number of matches.
func (s *Crons) List(ctx context.Context, q CronQuery) (page []mapping.Cron, total int, err error) {
	var all []mapping.Cron
	keep := containing(q.Metadata)
	sc := tables.ScopeOf(ctx)
	where, args := sc.Crons(`c.tenant = $1 AND ($2 = '' OR c.agent = $2) AND ($3 = '' OR c.assistant_id = $3)`, sc.Tenant, q.Agent, q.Assistant)
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT `+cronColumns+` WHERE `+where+` ORDER BY c.id`, args, func(scan func(...any) error) error {
			var row cronRow
			if err := row.scan(scan); err != nil {
				return err
			}
			if (q.ThreadID == "" || q.ThreadID == row.ThreadID) && (q.Enabled == nil || *q.Enabled == row.Enabled) && (keep == nil || keep(row.Metadata)) {
				all = append(all, row.Cron)
			}
			return nil
		})
	})
	if err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(all, q.order)
	from := min(q.Offset, len(all))
	to := len(all)
	if q.Limit > 0 {
		to = min(from+q.Limit, len(all))
	}
	return all[from:to], len(all), nil
}

func (q CronQuery) order(a, b mapping.Cron) (n int) {
	switch q.SortBy {
	case mapping.SortByID:
		n = strings.Compare(a.ID, b.ID)
	case mapping.SortByAssistant:
		n = strings.Compare(a.AssistantID, b.AssistantID)
	case mapping.SortByThread:
		n = strings.Compare(a.ThreadID, b.ThreadID)
	case mapping.SortByUpdated:
		n = a.UpdatedAt.Compare(b.UpdatedAt)
	case mapping.SortByTick:
		n = a.Next.Compare(b.Next)
	}
	if n = cmp.Or(n, a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID)); !q.Asc {
		n = -n
	}
	return n
}

// Due lists crons whose tick is due or was missed, the longest overdue first. It also returns the current time and the
// time of the next tick (zero if there is none). It covers all tenants.
func (s *Crons) Due(ctx context.Context, limit int) (list []mapping.Cron, now, next time.Time, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		list, next = nil, time.Time{}
		if err := s.base.DB.SetClock(t); err != nil {
			return err
		}
		now = sqldb.TimeOf(t.Now)
		return t.Until(`SELECT `+cronColumns+` WHERE c.next_us > 0 ORDER BY c.next_us`, nil, func(scan func(...any) error) (bool, error) {
			var row cronRow
			if err := row.scan(scan); err != nil {
				return false, err
			}
			if next = row.Next; next.After(now) {
				return false, nil
			}
			next = time.Time{}
			list = append(list, row.Cron)
			return len(list) < limit, nil
		})
	})
	return list, now, next, err
}

// Later lists the crons whose tick is in the future, and those without a tick whose end is in the future, with the
// fields that Ticked and schedules need. now is the current time. It covers all tenants.
func (s *Crons) Later(ctx context.Context) (list []mapping.Cron, now time.Time, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		if err := s.base.DB.SetClock(t); err != nil {
			return err
		}
		now = sqldb.TimeOf(t.Now)
		return t.Each(`SELECT tenant, cron_id, schedule, timezone, enabled, error, end_us, next_us FROM crons WHERE next_us > $1 OR next_us = 0 AND end_us > $1`, sqldb.In{t.Now}, func(scan func(...any) error) error {
			var c mapping.Cron
			var end, next int64
			err := scan(&c.Tenant, &c.ID, &c.Schedule, &c.Timezone, &c.Enabled, &c.Error, &end, &next)
			c.End, c.Next = sqldb.TimeOf(end), sqldb.TimeOf(next)
			list = append(list, c)
			return err
		})
	})
	return list, now, err
}

// Ticked sets the next tick of a cron listed by Due or Later (zero means none), and the reason why its last tick
// created no run, if any. It does nothing if the cron has changed in the meantime.
func (s *Crons) Ticked(ctx context.Context, c mapping.Cron, next time.Time, why string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`UPDATE crons SET next_us = $4, error = $5 WHERE tenant = $1 AND cron_id = $2 AND next_us = $3`,
			c.Tenant, c.ID, sqldb.Micros(c.Next), sqldb.Micros(next), mapping.ToText(why))
		return err
	})
}

// Changed returns a channel that receives after a cron was created or changed. It has one listener.
func (s *Crons) Changed() <-chan struct{} { return s.base.cronWakeup }

// roomForCron enforces the limit of crons per tenant, since each creates runs forever.
func (s *Crons) roomForCron(t *sqldb.Tx, tenant string) error {
	if s.most == 0 {
		return nil
	}
	var n int
	if err := t.Get(`SELECT count(*) FROM crons WHERE tenant = $1`, sqldb.In{tenant}, sqldb.Out{&n}); err != nil || n < s.most {
		return err
	}
	return mapping.Errorf(mapping.Limited, "too_many_crons", "There are already %d crons, the limit set by limits.crons. Delete one that is not needed.", n)
}
