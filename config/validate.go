package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// validate complains about values that cannot be meant.
func (l *loader) validate() {
	l.checkListen()
	l.checkHosts()
	l.checkDatabase()
	l.checkLimits()
	l.checkAgents()
	l.checkAuth()
	l.checkOrigins()
	l.checkTLS()
}

func (l *loader) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		l.complain(key, "cannot be %q; choose one of %s", value, strings.Join(allowed, ", "))
	}
}

func (l *loader) atLeast(key string, value, least int64) {
	if value < least {
		l.complain(key, "cannot be %d; the least is %d", value, least)
	}
}

func (l *loader) positive(key string, ok bool) {
	if !ok {
		l.complain(key, "cannot be 0; leave the key out for the default")
	}
}

func (l *loader) checkDatabase() {
	if l.cfg.Database == "" {
		l.complain("database", "is empty; write the path of a SQLite file, like apbridge.db")
	}
	if scheme, rest, _ := strings.Cut(l.cfg.Database, "://"); scheme == "postgres" || scheme == "postgresql" {
		l.checkServer(rest)
	}
	l.oneOf("synchronous", l.cfg.Synchronous, "full", "normal")
}

// checkServer wants the URL of a PostgreSQL database to name it: else the tables would be made in
// whatever the environment, or the name of the user, has for a default. The complaint does not show the
// URL, which may hold a password. It is taken apart by hand: one of several servers
// (host:5432,other:5432) is none for net/url.
func (l *loader) checkServer(rest string) {
	rest, query, _ := strings.Cut(rest, "?")
	_, name, _ := strings.Cut(rest, "/")
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(pair, "="); key == "dbname" || key == "database" || key == "service" {
			name += value
		}
	}
	if name == "" {
		l.complain("database", "names no database of the PostgreSQL server; write it like postgres://user:password@host:5432/name")
	}
}

func (l *loader) checkLimits() {
	m := l.cfg.Limits
	l.positive("limits.body", m.Body > 0)
	if m.Bodies < m.Body {
		l.complain("limits.bodies", "cannot be less than limits.body: a body of that length could never be taken")
	}
	l.positive("limits.artifact", m.Artifact > 0)
	l.atLeast("limits.upload_rate", int64(m.UploadRate), 0)
	l.positive("limits.event", m.Event > 0)
	l.atLeast("limits.run_events", int64(m.RunEvents), 0)
	l.atLeast("limits.run_bytes", int64(m.RunBytes), 0)
	l.atLeast("limits.depth", int64(m.Depth), 1)
	l.atLeast("limits.queue", int64(m.Queue), 0)
	l.atLeast("limits.thread_queue", int64(m.ThreadQueue), 0)
	l.atLeast("limits.files", int64(m.Files), 1)
	l.atLeast("limits.messages", int64(m.Messages), 1)
	l.atLeast("limits.keys", int64(m.Keys), 1)
	l.atLeast("limits.states", int64(m.States), 1)
	l.atLeast("limits.prune", int64(m.Prune), 1)
	l.atLeast("limits.crons", int64(m.Crons), 1)
	if m.Database != 0 {
		l.atLeast("limits.database", int64(m.Database), 1<<20)
		if strings.Contains(l.cfg.Database, "://") {
			l.complain("limits.database", "bounds a SQLite file; give PostgreSQL a quota of its own, and leave this out")
		}
	}
}

// checkURL wants an address that can be called without further knowledge.
func (l *loader) checkURL(key, raw string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		l.complain(key, "is not a URL; write it like http://127.0.0.1:8000")
	case u.User != nil: // before the rest: the complaint must not show it
		l.complain(key, "holds a user name or password; send credentials with headers instead")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		l.complain(key, "cannot be %q; write it like http://127.0.0.1:8000", raw)
	case u.RawQuery != "" || u.Fragment != "":
		l.complain(key, "cannot have a query or fragment; end it with the path")
	}
}

func sortedNames[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
