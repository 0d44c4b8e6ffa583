package mapping

import (
	"context"
	"slices"
	"sync"
)

// Verb is the action of an operation, for the audit log.
type Verb string

// The verbs of operations.
const (
	Created   Verb = "created"
	Read      Verb = "read"
	Changed   Verb = "changed"
	Deleted   Verb = "deleted"
	Answered  Verb = "answered"
	Cancelled Verb = "cancelled"
	Notified  Verb = "notified" // a webhook at the end of a run
	Refused   Verb = "refused"  // the caller was refused before any operation began
)

// Object is an object that an operation acted on.
type Object struct {
	Kind string `json:"kind"` // thread, run, cron…
	ID   string `json:"id"`
}

// AuditRecord collects the effects of one request for its line in the audit log. Safe for concurrent use.
type AuditRecord struct {
	// Also is called for each operation that has no request of its own, such as a command on a WebSocket, with the
	// operation's context. If it is nil, such operations are not logged.
	Also func(ctx context.Context, d *AuditRecord, kind string, err error)
	// Background marks a record that is not itself an operation and only carries Also.
	Background bool

	mu      sync.Mutex
	verb    Verb
	kind    string
	objects []Object
}

type auditRecordKey struct{}

// WithAuditRecord returns a context in which operations are recorded in d.
func WithAuditRecord(ctx context.Context, d *AuditRecord) context.Context {
	return context.WithValue(ctx, auditRecordKey{}, d)
}

func auditRecordOf(ctx context.Context) *AuditRecord {
	d, _ := ctx.Value(auditRecordKey{}).(*AuditRecord)
	return d
}

// AddAuditObject records an object of the operation that is not named in the request's path. It does nothing without an
// AuditRecord.
func AddAuditObject(ctx context.Context, kind, id string) {
	d := auditRecordOf(ctx)
	if d == nil || d.Background {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := (Object{kind, id}); !slices.Contains(d.objects, o) {
		d.objects = append(d.objects, o)
	}
}

// SetAuditVerb records the verb, if the route alone does not determine it.
func SetAuditVerb(ctx context.Context, v Verb) {
	if d := auditRecordOf(ctx); d != nil && !d.Background {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.verb = v
	}
}

// SetAuditKind records the kind of object, if the route alone does not determine it.
func SetAuditKind(ctx context.Context, kind string) {
	if d := auditRecordOf(ctx); d != nil && !d.Background {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.kind = kind
	}
}

// BeginAudited begins an operation within that of ctx. The caller must call done with its result.
func BeginAudited(ctx context.Context, kind string) (_ context.Context, done func(error)) {
	d := auditRecordOf(ctx)
	if d == nil || d.Also == nil {
		return ctx, func(error) {}
	}
	one := &AuditRecord{}
	within := WithAuditRecord(ctx, one)
	return within, func(err error) { d.Also(within, one, kind, err) }
}

// Kind returns the kind set by SetAuditKind, or "".
func (d *AuditRecord) Kind() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kind
}

// Said returns the verb and the objects that were recorded. The verb is "" if none was.
func (d *AuditRecord) Said() (verb Verb, objects []Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.verb, slices.Clone(d.objects)
}
