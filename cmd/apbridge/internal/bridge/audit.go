package bridge

import (
	"context"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy"
	"github.com/apbridge/apbridge/proxy/audit"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/passthrough"
	"github.com/apbridge/apbridge/proxy/store"
)

// auditLog writes the operations of requests and background work to the audit log, in each dialect's terms.
type auditLog struct {
	dialects adapter.Dialects
	log      *audit.Log
}

// does returns the effect of a route according to its dialect. On a pass-through route, and if a dialect defines none,
// it depends on the method.
func (d auditLog) does(method, route, path string) (adapter.Effect, bool) {
	if passthrough.Owns(path) {
		return adapter.Effect{Verb: verbOf(method), Kind: "upstream"}, true
	}
	if inspect.Owns(path) {
		return inspect.Effect(method, route)
	}
	dialect, ok := d.dialects.Owner(path)
	switch {
	case !ok:
		return adapter.Effect{}, false
	case dialect.Effect == nil:
		return adapter.Effect{Verb: verbOf(method), Kind: dialect.Name}, route != ""
	}
	return dialect.Effect(method, route)
}

// runIn returns the run in a path. A pass-through path has none, since its runs are not the bridge's.
func (d auditLog) runIn(path string) string {
	switch {
	case passthrough.Owns(path):
		return ""
	case inspect.Owns(path):
		return inspect.RunIn(path)
	}
	return d.dialects.RunIn(path)
}

func verbOf(method string) mapping.Verb {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return mapping.Read
	case http.MethodDelete:
		return mapping.Deleted
	}
	return mapping.Changed
}

// background returns a record whose operations, which belong to no request, are logged.
func (d auditLog) background() *mapping.AuditRecord {
	return &mapping.AuditRecord{Background: true, Also: func(ctx context.Context, record *mapping.AuditRecord, kind string, err error) {
		who := mapping.PrincipalOf(ctx)
		e := audit.Entry{Time: time.Now().UTC(), Key: who.ID, Tenant: who.Tenant}
		proxy.Complete(&e, record, kind, err)
		d.log.Write(e)
	}}
}

// witnessed logs each thread that was deleted by its time to live or by retention.
type witnessed struct {
	*engine.Engine
	log *audit.Log
}

func (w witnessed) ThreadsDeleted(gone []store.Gone) {
	for _, g := range gone {
		w.log.Write(audit.Entry{
			Time: time.Now().UTC(), Operation: mapping.Deleted, Kind: "thread", Outcome: audit.Done, Tenant: g.Tenant,
			Objects: []mapping.Object{{Kind: "thread", ID: g.ThreadID}},
		})
	}
	w.Engine.ThreadsDeleted(gone)
}
