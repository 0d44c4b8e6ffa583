package mapping

import (
	"context"
	"slices"
	"sync"
)

// Verb is what an operation does, for the audit log.
type Verb string

// The verbs of operations.
const (
	Made      Verb = "made"
	Read      Verb = "read"
	Changed   Verb = "changed"
	Deleted   Verb = "deleted"
	Answered  Verb = "answered"
	Cancelled Verb = "cancelled"
	Told      Verb = "told"    // a webhook of the end of a run
	Refused   Verb = "refused" // nothing: the caller was not let to any operation
)

// Object is what something was done to.
type Object struct {
	Kind string `json:"kind"` // thread, run, cron…
	ID   string `json:"id"`
}

// Deed is what is done for one request, as it comes to be known. Safe for concurrent use.
type Deed struct {
	// Also is called with deeds that are no requests of their own, such as the commands of a WebSocket, with the
	// context that each was done under. nil: they leave no line.
	Also func(ctx context.Context, d *Deed, kind string, err error)
	// Background: it is no deed itself, and only has Also told.
	Background bool

	mu      sync.Mutex
	verb    Verb
	kind    string
	objects []Object
}

type deedKey struct{}

// WithDeed returns a context under which what is done is noted in d.
func WithDeed(ctx context.Context, d *Deed) context.Context {
	return context.WithValue(ctx, deedKey{}, d)
}

func deedOf(ctx context.Context) *Deed {
	d, _ := ctx.Value(deedKey{}).(*Deed)
	return d
}

// NoteObject notes what something is done to, where the path of the request does not say it. It does nothing without a
// Deed.
func NoteObject(ctx context.Context, kind, id string) {
	d := deedOf(ctx)
	if d == nil || d.Background {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := (Object{kind, id}); !slices.Contains(d.objects, o) {
		d.objects = append(d.objects, o)
	}
}

// NoteVerb notes what is done, where the route alone does not say it.
func NoteVerb(ctx context.Context, v Verb) {
	if d := deedOf(ctx); d != nil && !d.Background {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.verb = v
	}
}

// NoteKind notes what something is done to, where the route alone does not say it.
func NoteKind(ctx context.Context, kind string) {
	if d := deedOf(ctx); d != nil && !d.Background {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.kind = kind
	}
}

// NoteAlso begins a deed within that of ctx. done is called with what became of it.
func NoteAlso(ctx context.Context, kind string) (_ context.Context, done func(error)) {
	d := deedOf(ctx)
	if d == nil || d.Also == nil {
		return ctx, func(error) {}
	}
	one := &Deed{}
	within := WithDeed(ctx, one)
	return within, func(err error) { d.Also(within, one, kind, err) }
}

// Kind returns what NoteKind noted; "" for nothing.
func (d *Deed) Kind() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kind
}

// Said returns the verb and the objects that were noted; verb is "" where none was.
func (d *Deed) Said() (verb Verb, objects []Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.verb, slices.Clone(d.objects)
}
