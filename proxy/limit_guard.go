package proxy

import (
	"context"
	"io"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/guard"
)

// Limits bound what a principal may use. limit.Limiter has them. Safe for concurrent use.
type Limits interface {
	// Request counts a request, or refuses it with an error of class Limited.
	Request(ctx context.Context, who mapping.Principal) error
	// Body counts the bytes of a request's body as they are read.
	Body(ctx context.Context, body io.ReadCloser, who mapping.Principal) (io.ReadCloser, error)
	// OpenStream counts a stream until done is called.
	OpenStream(who mapping.Principal) (done func(), err error)
}

// limitGuard refuses what is more than the principal may ask for. What operators and probes ask is not counted.
type limitGuard struct {
	refuser
	ops    operations
	limits Limits // nil: there are none
}

func (g limitGuard) Pass(x *guard.Exchange) bool {
	r := x.Request
	if g.limits == nil || g.open(r.URL.Path) || g.ops.own(r.URL.Path) {
		return true
	}
	who := mapping.PrincipalOf(r.Context())
	if err := g.count(r, who); err != nil {
		g.refuse(x.Writer, r, err)
		return false
	}
	x.Request = r.WithContext(adapter.WithStreams(r.Context(), func() (func(), error) { return g.limits.OpenStream(who) }))
	return true
}

func (g limitGuard) count(r *http.Request, who mapping.Principal) error {
	if err := g.limits.Request(r.Context(), who); err != nil || r.Body == nil || r.Body == http.NoBody {
		return err
	}
	body, err := g.limits.Body(r.Context(), r.Body, who)
	if err == nil {
		r.Body = body
	}
	return err
}
