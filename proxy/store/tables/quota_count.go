package tables

import (
	"strings"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// quotaCounts selects the rows of each limit, up to $2 of them. If a key is given, owner is $3.
var quotaCounts = map[string][]string{
	// Leftovers of a stateless run do not count, since they are removed automatically.
	QuotaThreads: {`SELECT count(*) FROM (SELECT 1 FROM threads o WHERE o.tenant = $1 {of} AND NOT (o.ttl_us < 0 AND o.status <> 'busy') LIMIT CAST($2 AS BIGINT)) AS c`},
	QuotaCrons:   {`SELECT count(*) FROM (SELECT 1 FROM crons o WHERE o.tenant = $1 {of} LIMIT CAST($2 AS BIGINT)) AS c`},
	QuotaItems:   {`SELECT count(*) FROM (SELECT 1 FROM items o WHERE o.tenant = $1 {of} LIMIT CAST($2 AS BIGINT)) AS c`},
	// A staged file counts unless it replaces another one.
	QuotaFiles: {`SELECT count(*) FROM (SELECT 1 FROM artifacts a JOIN threads o ON o.id = a.thread WHERE o.tenant = $1 {of} AND (a.staged = 0 OR a.staged = 1
 AND NOT EXISTS (SELECT 1 FROM artifacts v WHERE v.thread = a.thread AND v.path = a.path AND v.staged = 0)) LIMIT CAST($2 AS BIGINT)) AS c`},
	QuotaDisk: {
		`SELECT CAST(coalesce(sum(a.size), 0) AS BIGINT) FROM artifacts a JOIN threads o ON o.id = a.thread WHERE o.tenant = $1 {of} AND CAST($2 AS BIGINT) > 0`,
		`SELECT CAST(coalesce(sum(length(o.value)), 0) AS BIGINT) FROM items o WHERE o.tenant = $1 {of} AND CAST($2 AS BIGINT) > 0`,
	},
}

// Usage returns the current count of a quota, up to most rows.
func Usage(t *sqldb.Tx, limit, of, tenant, name string, most int64) (total int64, err error) {
	args, narrow := []any{tenant, most}, ""
	if of == QuotaOfKey {
		args, narrow = append(args, name), `AND o.owner = $3`
	}
	for _, text := range quotaCounts[limit] {
		var n int64
		if err := t.Get(strings.Replace(text, "{of}", narrow, 1), args, []any{&n}); err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}
