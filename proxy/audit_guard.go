package proxy

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/audit"
	"github.com/apbridge/apbridge/proxy/guard"
)

// auditGuard writes one line to the audit log for each operation. It does so when the response begins, so a run that is
// streamed for an hour is logged at its start. Requests without a matching route did nothing and are not logged.
type auditGuard struct {
	refuser
	auditor
	ops  operations
	does func(method, route, path string) (adapter.Effect, bool)
}

// auditor writes the audit lines of requests.
type auditor struct {
	trusted trustedProxies
	audit   *audit.Log // nil: disabled
}

// attempted writes a line for a request that was refused because of its key or a limit, unless there are too many.
func (w auditor) attempted(r *http.Request, who mapping.Principal, status int, code string) {
	e := w.entry(r, who)
	e.Status, e.Code = status, code
	w.audit.Refuse(e)
}

// longestMethod limits the logged method, because a client may send one of any length.
const longestMethod = 32

func (w auditor) entry(r *http.Request, who mapping.Principal) audit.Entry {
	return audit.Entry{
		Time: time.Now().UTC(), Key: who.ID, Tenant: who.Tenant, From: w.trusted.client(r),
		RequestID: r.Header.Get(headerRequestID), Method: r.Method[:min(len(r.Method), longestMethod)],
	}
}

func (g *auditGuard) Pass(x *guard.Exchange) bool {
	r := x.Request
	rec := tapOf(r.Context())
	if g.audit == nil || g.does == nil || rec == nil || g.open(r.URL.Path) || g.ops.own(r.URL.Path) {
		return true
	}
	verb := mapping.Changed
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		verb = mapping.Read
	}
	if g.audit.Wants(verb) {
		if err := g.audit.Ready(); err != nil {
			g.refuse(x.Writer, r, err)
			return false
		}
	}
	record := &mapping.AuditRecord{Also: g.also(r)}
	rec.begun = sync.OnceFunc(func() { g.write(r, rec, record) })
	x.AtEnd(rec.begun)
	x.Request = r.WithContext(mapping.WithAuditRecord(r.Context(), record))
	return true
}

func (g *auditGuard) write(r *http.Request, rec *responseTap, record *mapping.AuditRecord) {
	op, ok := g.does(r.Method, rec.route, r.URL.Path)
	if !ok {
		if rec.status == http.StatusTooManyRequests {
			g.attempted(r, mapping.PrincipalOf(r.Context()), rec.status, rec.cause)
		}
		return
	}
	verb, noted := record.Said()
	if verb == "" {
		verb = op.Verb
	}
	e := g.entry(r, mapping.PrincipalOf(r.Context()))
	e.Operation, e.Kind, e.Status, e.Outcome = verb, cmp.Or(record.Kind(), op.Kind), rec.status, audit.OutcomeOf(rec.status)
	e.Route, e.Objects = rec.route, objects(rec.vars, noted)
	g.audit.Write(e)
}

// also returns a function that logs the operation of a WebSocket message.
func (g *auditGuard) also(r *http.Request) func(context.Context, *mapping.AuditRecord, string, error) {
	return func(ctx context.Context, d *mapping.AuditRecord, kind string, err error) {
		e := g.entry(r, mapping.PrincipalOf(ctx))
		Complete(&e, d, kind, err)
		g.audit.Write(e)
	}
}

// Complete fills in the outcome of an operation that is not a request.
func Complete(e *audit.Entry, d *mapping.AuditRecord, kind string, err error) {
	e.Operation, e.Objects = d.Said()
	if e.Operation == "" {
		e.Operation = mapping.Read
	}
	e.Kind, e.Outcome = cmp.Or(d.Kind(), kind), audit.Done
	if err != nil {
		failed := mapping.Classify(err)
		e.Code, e.Outcome = failed.Code, audit.OutcomeOf(adapter.Status(failed.Class))
	}
}

// objects returns the objects in the path and the recorded ones, without duplicates.
func objects(vars map[string]string, noted []mapping.Object) (list []mapping.Object) {
	for name, id := range vars {
		list = append(list, mapping.Object{Kind: strings.TrimSuffix(name, "_id"), ID: id})
	}
	for _, o := range noted {
		if !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b mapping.Object) int { return strings.Compare(a.Kind, b.Kind) })
	return list
}
