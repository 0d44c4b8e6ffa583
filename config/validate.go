package config

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// validate reports invalid values.
func (r *report) validate(cfg *Config, o Options) {
	netCheck{r, cfg}.check()
	databaseCheck{r, cfg}.check()
	indexCheck{r, cfg.Store.Index, o.Path}.check()
	r.atLeast("store.vector_cache", int64(cfg.Store.VectorCache), 0)
	r.checkTTL(cfg.Store.TTL)
	storeCheck{r, cfg}.check()
	r.checkWebhooks(cfg.Webhooks)
	r.checkAgents(cfg, o.Dialects)
	r.checkAudit(cfg.Audit)
	r.checkA2A(cfg.A2A)
	r.checkChoices("", reflect.ValueOf(cfg).Elem())
	r.checkAuth(cfg)
}

// checkChoices refuses values that are not in their choice tags.
func (r *report) checkChoices(key string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			at := join(key, field.Tag.Get("yaml"))
			if allowed := field.Tag.Get("choice"); allowed != "" {
				r.oneOf(at, v.Field(i).String(), strings.Fields(allowed)...)
			}
			r.checkChoices(at, v.Field(i))
		}
	case reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			r.checkChoices(join(key, name.String()), v.MapIndex(name))
		}
	}
}

// databaseCheck checks the database, and limits of stored data and memory.
type databaseCheck struct {
	*report
	cfg *Config
}

func (d databaseCheck) check() {
	d.checkDatabase()
	d.checkKeys()
	d.checkLimits()
}

func (d databaseCheck) checkDatabase() {
	if d.cfg.Database == "" {
		d.problem("database", "is empty; write the path of a SQLite file, like apbridge.db")
	}
	switch scheme, rest, isURL := strings.Cut(d.cfg.Database, "://"); {
	case scheme == "postgres" || scheme == "postgresql":
		d.checkServer(rest)
	case keywords.MatchString(d.cfg.Database):
		d.problem("database", "describes a PostgreSQL server by keywords; write it like postgres://user:password@host:5432/name")
	case isURL:
		d.problem("database", "is a URL of %q; write the path of a SQLite file, or postgres://user:password@host:5432/name", scheme)
	}
	if d.cfg.SecureDelete && strings.Contains(d.cfg.Database, "://") {
		d.problem("secure_delete", "only applies to SQLite files; PostgreSQL keeps deleted rows until its VACUUM, so leave this out")
	}
}

// keywords matches the beginning of a connection string in libpq's other form, which is an unlikely file name.
var keywords = regexp.MustCompile(`^(host|hostaddr|port|dbname|user|password|service|sslmode)=`)

// checkServer requires the URL of a PostgreSQL server to name a database. Otherwise the tables would be created in the
// default database of the environment or the user. The problem does not show the URL, which may contain a password. The
// URL is parsed by hand, because net/url refuses several servers (host:5432,other:5432).
func (d databaseCheck) checkServer(rest string) {
	rest, query, _ := strings.Cut(rest, "?")
	_, name, _ := strings.Cut(rest, "/")
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(pair, "="); key == "dbname" || key == "database" || key == "service" {
			name += value
		}
	}
	if name == "" {
		d.problem("database", "names no database of the PostgreSQL server; write it like postgres://user:password@host:5432/name")
	}
}

func (d databaseCheck) checkLimits() {
	m := d.cfg.Limits
	d.positive("limits.body", m.Body > 0)
	if m.RequestMemory < m.Body {
		d.problem("limits.request_memory", "cannot be less than limits.body, because a body of that length could never be accepted")
	}
	d.positive("limits.artifact", m.Artifact > 0)
	d.atLeast("limits.upload_rate", int64(m.UploadRate), 0)
	d.positive("limits.event", m.Event > 0)
	d.atLeast("limits.run_events", int64(m.RunEvents), 0)
	d.atLeast("limits.run_bytes", int64(m.RunBytes), 0)
	d.atLeast("limits.max_json_depth", int64(m.MaxJSONDepth), 1)
	d.atLeast("limits.queue", int64(m.Queue), 0)
	d.atLeast("limits.thread_queue", int64(m.ThreadQueue), 0)
	d.atLeast("limits.max_files_per_request", int64(m.MaxFilesPerRequest), 1)
	d.atLeast("limits.messages", int64(m.Messages), 1)
	d.atLeast("limits.max_state_keys", int64(m.MaxStateKeys), 1)
	d.atLeast("limits.max_supersteps", int64(m.MaxSupersteps), 1)
	d.atLeast("limits.max_prune_threads", int64(m.MaxPruneThreads), 1)
	d.atLeast("limits.crons", int64(m.Crons), 1)
	d.checkAllowance("limits.tenant", m.Tenant)
	for _, name := range sortedNames(m.Tenants) {
		d.checkAllowance("limits.tenants."+name, m.Tenants[name])
	}
	if m.Database != 0 {
		d.atLeast("limits.database", int64(m.Database), 1<<20)
		if strings.Contains(d.cfg.Database, "://") {
			d.problem("limits.database", "only limits a SQLite file; set a quota in PostgreSQL, and leave this out")
		}
	}
}

func sortedNames[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
