package tables

import (
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Kinds of quotas.
const (
	QuotaThreads = "threads"
	QuotaCrons   = "crons"
	QuotaItems   = "items"
	QuotaFiles   = "files"
	QuotaDisk    = "disk" // bytes of files, including versions replaced by runs, and of the values of items
)

// The values of Quota.Of.
const (
	QuotaOfKey    = "key"
	QuotaOfTenant = "tenant"
)

// Quota limits the number of objects or bytes that a key or a tenant may keep.
type Quota struct {
	Of, Name string // QuotaOfKey or QuotaOfTenant, and its name
	Most     int64
	Place    string // where it is configured
}

func (q Quota) row(limit string) string { return q.Of + "/" + limit + "/" + q.Name }

// AllowedQuotas returns the quotas of a kind for objects of a tenant's key.
type AllowedQuotas func(limit, tenant, owner string) []Quota

// Quotas counts objects and refuses those beyond a quota. Safe for concurrent use.
type Quotas struct {
	allowed AllowedQuotas
	refused func(limit, of string)
	full    *fullness
}

// NewQuotas returns Quotas. If allowed is nil, nothing is counted. refused is called at each refusal and may be nil.
func NewQuotas(allowed AllowedQuotas, refused func(limit, of string)) *Quotas {
	if allowed == nil {
		allowed = func(string, string, string) []Quota { return nil }
	}
	if refused == nil {
		refused = func(string, string) {}
	}
	return &Quotas{allowed: allowed, refused: refused, full: newFullness()}
}

// Added counts n more objects of a key, which t has already added. It fails with class Limited if they exceed a quota.
// Concurrent additions of several bridges wait for each other, so that no quota is exceeded.
func (k *Quotas) Added(t *sqldb.Tx, limit, tenant, owner string, n int64) error {
	for _, q := range k.allowed(limit, tenant, owner) {
		there, err := raiseCount(t, q.row(limit), n, q.Most)
		if err == nil && !there {
			err = k.recount(t, limit, tenant, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Noted counts n more objects of a key without refusing them, because they exist already.
func (k *Quotas) Noted(t *sqldb.Tx, limit, tenant, owner string, n int64) error {
	for _, q := range k.allowed(limit, tenant, owner) {
		if err := t.Put(`UPDATE quota_counts SET n = n + CAST($2 AS BIGINT) WHERE name = $1`, q.row(limit), n); err != nil {
			return err
		}
	}
	return nil
}

// raiseCount raises a count unless it would exceed the quota. The count is never below the number of rows.
func raiseCount(t *sqldb.Tx, row string, n, most int64) (bool, error) {
	changed, err := t.Exec(`UPDATE quota_counts SET n = n + CAST($2 AS BIGINT) WHERE name = $1 AND n + CAST($2 AS BIGINT) <= CAST($3 AS BIGINT)`, row, n, most)
	return changed > 0, err
}

// recount counts the existing rows, including those that t has added.
func (k *Quotas) recount(t *sqldb.Tx, limit, tenant string, q Quota) error {
	if wait := k.full.wait(q.row(limit)); wait > 0 {
		return k.refuseUncounted(limit, q, wait)
	}
	// Lock the row before counting, so that concurrent additions come after.
	if _, err := t.Exec(`INSERT INTO quota_counts (name, n) VALUES ($1, 0) ON CONFLICT (name) DO UPDATE SET n = quota_counts.n`, q.row(limit)); err != nil {
		return err
	}
	began := time.Now()
	n, err := Usage(t, limit, q.Of, tenant, q.Name, q.Most+1)
	if err != nil {
		return err
	}
	if n > q.Most {
		k.full.note(q.row(limit), time.Since(began))
		return k.refuse(limit, q)
	}
	return t.Put(`UPDATE quota_counts SET n = $2 WHERE name = $1`, q.row(limit), n)
}

// quotaNouns describes, for each limit, the objects and how to make room.
var quotaNouns = map[string][2]string{
	QuotaThreads: {"threads", "Delete threads that are not needed"},
	QuotaCrons:   {"crons", "Delete one that is not needed"},
	QuotaItems:   {"items in the store", "Delete items that are not needed"},
	QuotaFiles:   {"files", "Delete threads whose files are not needed"},
	QuotaDisk:    {"bytes of files and items", "Delete items, or threads with their files, that are not needed"},
}

func (k *Quotas) refuse(limit string, q Quota) error {
	k.refused(limit, q.Of)
	e := mapping.Errorf(mapping.Limited, "quota_"+limit, "%s %q may keep %d %s (%s), and this would exceed that. %s, or ask for a higher quota; waiting does not help.",
		whose(q), q.Name, q.Most, quotaNouns[limit][0], q.Place, quotaNouns[limit][1])
	e.Wait = mapping.NoWait
	return e
}

// refuseUncounted refuses at a quota that was full at the last count. Deletions since then may have made room.
func (k *Quotas) refuseUncounted(limit string, q Quota, wait time.Duration) error {
	k.refused(limit, q.Of)
	e := mapping.Errorf(mapping.Limited, "quota_"+limit, "%s %q may keep %d %s (%s), and had that many at the last count, which takes a while. %s, or ask for a higher quota; they are counted again in %s.",
		whose(q), q.Name, q.Most, quotaNouns[limit][0], q.Place, quotaNouns[limit][1], wait.Round(time.Millisecond))
	e.Wait = wait
	return e
}

func whose(q Quota) string {
	return map[string]string{QuotaOfKey: "Key", QuotaOfTenant: "Tenant"}[q.Of]
}
