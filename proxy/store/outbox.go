package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Outbox holds the webhooks that are due or were delivered recently. The sender of webhooks uses it.
type Outbox struct{ base *base }

// Webhook is a new row of the outbox.
type Webhook struct {
	URL    string
	Header map[string]string // may hold secrets; without a Content-Type, the body is JSON
	Body   []byte

	task, hook string // "" for the webhook of a run
	status     mapping.TaskStatus
}

// Delivery is a row of the outbox: the notification of a run's webhook or of a hook of its task.
type Delivery struct {
	// ID is the same for every attempt: uuid5(run id, "webhook"); for a hook the name also includes hook and status. It
	// is unique because a run ends once and sets each status of its task at most once.
	ID            string
	Tenant, RunID string
	Hook          string // id of the hook; "": the webhook of the run
	Status        mapping.TaskStatus
	URL           string
	Header        map[string]string // nil in lists
	Body          []byte            // nil in lists
	Attempts      int               // number of attempts that have begun
	Error         string            // of the newest failed attempt; "" after a success
	CreatedAt     time.Time
	Due           time.Time // of the next attempt; zero if there is none
	Done          time.Time // when it was delivered or, if Error is set, given up
	key           int64
}

// Dead reports whether the delivery was given up.
func (d Delivery) Dead() bool { return !d.Done.IsZero() && d.Error != "" }

// addWebhook writes a row of the outbox for a run. The sender is notified once it is committed.
func (b *base) addWebhook(t *sqldb.Tx, at runKey, runID string, w *Webhook) error {
	if w == nil {
		return nil
	}
	var header []byte
	if len(w.Header) > 0 {
		var err error
		if header, err = json.Marshal(w.Header); err != nil {
			return err
		}
	}
	_, err := t.Exec(`INSERT INTO outbox (tenant, run_id, owner, thread_owner, url, body, attempts, error, created_us, due_us, done_us, task_id, hook, status, headers)
 SELECT r.tenant, $2, r.owner, h.owner, $3, $4, 0, '', $5, $5, 0, $6, $7, $8, $9 FROM runs r JOIN threads h ON h.id = r.thread WHERE r.id = $1`,
		at.Run, runID, w.URL, t.Sealed(notNull(w.Body), colOutboxBody, runID, w.hook, string(w.status)), t.Now, w.task, w.hook, string(w.status),
		t.Sealed(header, colOutboxHeaders, runID, w.hook, string(w.status)))
	b.Due(t, dueWebhook)
	return err
}

// Changed returns a channel that receives when there may be something new to deliver. It has one listener.
func (s *Outbox) Changed() <-chan struct{} { return s.base.webhookWakeup }

// Claim takes up to limit due deliveries for which accept (nil means all) returns true, the longest overdue first. Each
// counts as attempted and becomes due again after lease, in case this process does not finish it. wait is the time
// until the next one is due, or 0 if there is none other than those that accept refused. It covers all tenants.
func (s *Outbox) Claim(ctx context.Context, limit int, lease time.Duration, accept func(tenant, url string) bool) (list []Delivery, wait time.Duration, err error) {
	keys, wait, ahead, err := s.dueDeliveries(ctx, limit, accept)
	if err == nil && ahead {
		if err = s.base.DB.Write(ctx, s.takeBack); err == nil {
			return s.Claim(ctx, limit, lease, accept)
		}
	}
	if err != nil || len(keys) == 0 {
		return nil, wait, err
	}
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		list = list[:0]
		for _, key := range keys {
			d := Delivery{key: key}
			err := t.Each(`UPDATE outbox SET attempts = attempts + 1, due_us = $2 WHERE id = $1 AND done_us = 0 AND due_us <= $3
 RETURNING tenant, run_id, hook, status, url, headers, body, attempts, error, created_us, due_us, done_us`, sqldb.In{key, t.Now + lease.Microseconds(), t.Now}, d.scan)
			if err != nil {
				return err
			}
			if d.RunID != "" {
				list = append(list, d)
			}
		}
		return nil
	})
	return list, 0, err
}

// LongestDeliveryWait is the longest time between two attempts, including leases. A delivery that is due later was
// scheduled while the clock was ahead.
const LongestDeliveryWait = time.Hour

// takeBack makes deliveries due that were postponed while the clock was ahead.
func (s *Outbox) takeBack(t *sqldb.Tx) error {
	if err := s.base.DB.SetClock(t); err != nil {
		return err
	}
	return t.Put(`UPDATE outbox SET due_us = $2 WHERE done_us = 0 AND due_us > $1`, t.Now+LongestDeliveryWait.Microseconds(), t.Now)
}

// noEarlier excludes deliveries to a hook that has an earlier one pending.
const noEarlier = ` AND (o.hook = '' OR NOT EXISTS (SELECT 1 FROM outbox e WHERE e.task_id = o.task_id AND e.hook = o.hook AND e.hook <> '' AND e.tenant = o.tenant AND e.done_us = 0 AND e.id < o.id))`

// dueDeliveries reads without using the writer. ahead reports whether there is work for takeBack.
func (s *Outbox) dueDeliveries(ctx context.Context, limit int, accept func(tenant, url string) bool) (keys []int64, wait time.Duration, ahead bool, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		keys, wait = nil, 0
		if err := t.Get(`SELECT EXISTS (SELECT 1 FROM outbox WHERE done_us = 0 AND due_us > $1)`, sqldb.In{t.Now + LongestDeliveryWait.Microseconds()}, sqldb.Out{&ahead}); err != nil {
			return err
		}
		return t.Until(`SELECT id, tenant, url, due_us FROM outbox AS o WHERE done_us = 0`+noEarlier+` ORDER BY due_us, id`, nil, func(scan func(...any) error) (bool, error) {
			var key, due int64
			var tenant, url string
			if err := scan(&key, &tenant, &url, &due); err != nil {
				return false, err
			}
			if due > t.Now {
				wait = time.Duration(due-t.Now) * time.Microsecond
				return false, nil
			}
			if accept == nil || accept(tenant, url) {
				keys = append(keys, key)
			}
			return len(keys) < limit, nil
		})
	})
	return keys, wait, ahead, err
}

func (d *Delivery) scan(scan func(...any) error) error {
	var created, due, done int64
	var header []byte
	err := scan(&d.Tenant, &d.RunID, &d.Hook, (*string)(&d.Status), &d.URL, sqldb.Unsealed(&header, colOutboxHeaders, &d.RunID, &d.Hook, (*string)(&d.Status)),
		sqldb.Unsealed(&d.Body, colOutboxBody, &d.RunID, &d.Hook, (*string)(&d.Status)), &d.Attempts, &d.Error, &created, &due, &done)
	if err == nil && header != nil {
		err = json.Unmarshal(header, &d.Header)
	}
	d.CreatedAt, d.Done = sqldb.TimeOf(created), sqldb.TimeOf(done)
	if done == 0 {
		d.Due = sqldb.TimeOf(due)
	}
	d.ID = mapping.MessageID(d.RunID, "webhook")
	if d.Hook != "" {
		d.ID = mapping.MessageID(d.RunID, "webhook "+d.Hook+" "+string(d.Status))
	}
	return err
}

// Delivered records a success. It deletes the body, which is no longer needed.
func (s *Outbox) Delivered(ctx context.Context, d Delivery) error {
	return s.settleDelivery(ctx, `UPDATE outbox SET done_us = $2, error = '', body = $3, headers = NULL WHERE id = $1`, d, s.base.DB.Clock().Now, []byte{})
}

// Failed records a failed attempt and its reason. The next attempt is due after wait.
func (s *Outbox) Failed(ctx context.Context, d Delivery, why string, wait time.Duration) error {
	return s.settleDelivery(ctx, `UPDATE outbox SET due_us = $2, error = $3 WHERE id = $1`, d, s.base.DB.Clock().Now+wait.Microseconds(), mapping.ToText(why))
}

// Dead gives a delivery up. Its row remains, with the reason, until Sweep removes it.
func (s *Outbox) Dead(ctx context.Context, d Delivery, why string) error {
	return s.settleDelivery(ctx, `UPDATE outbox SET done_us = $2, error = $3, headers = NULL WHERE id = $1`, d, s.base.DB.Clock().Now, mapping.ToText(why))
}

// Returned gives back a claimed delivery as if it had not been attempted.
func (s *Outbox) Returned(ctx context.Context, d Delivery) error {
	return s.settleDelivery(ctx, `UPDATE outbox SET due_us = $2, attempts = attempts - 1 WHERE id = $1 AND attempts = $3`, d, s.base.DB.Clock().Now, d.Attempts)
}

// settleDelivery updates the row of a pending delivery. It also compares the run, hook and status, because the row may have
// been deleted with its hook during the attempt, and SQLite may have reused its key.
func (s *Outbox) settleDelivery(ctx context.Context, text string, d Delivery, args ...any) error {
	n := len(args) + 2
	text += fmt.Sprintf(` AND done_us = 0 AND run_id = $%d AND hook = $%d AND status = $%d`, n, n+1, n+2)
	args = append(args, d.RunID, d.Hook, string(d.Status))
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(text, append(sqldb.In{d.key}, args...)...)
		return err
	})
}

// List returns the tenant's deliveries, newest first, and only those of a run if runID is set. Deliveries of deleted
// runs are included. A limit of 0 means all.
func (s *Outbox) List(ctx context.Context, runID string, limit int) (list []Delivery, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT tenant, run_id, hook, status, url, NULL, NULL, attempts, error, created_us, due_us, done_us FROM outbox
 WHERE tenant = $1 AND ($2 = '' OR run_id = $2) ORDER BY id DESC LIMIT $3`, sqldb.In{tables.TenantOf(ctx), runID, sqldb.LimitOf(limit)}, func(scan func(...any) error) error {
			var d Delivery
			err := d.scan(scan)
			list = append(list, d)
			return err
		})
	})
	return list, err
}

// Sweep removes deliveries that succeeded more than delivered ago, and those given up more than dead ago. It covers all
// tenants.
func (s *Outbox) Sweep(ctx context.Context, delivered, dead time.Duration) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`DELETE FROM outbox WHERE done_us > 0 AND ((error = '' AND done_us <= $1) OR (error <> '' AND done_us <= $2))`,
			t.Horizon-delivered.Microseconds(), t.Horizon-dead.Microseconds())
		return err
	})
}
