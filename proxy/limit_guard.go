package proxy

import (
	"fmt"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/guard"
	"github.com/apbridge/apbridge/proxy/limit"
	"golang.org/x/sync/semaphore"
)

// limitGuard refuses requests beyond the principal's limits. Requests of operators and probes are not counted.
type limitGuard struct {
	refuser
	ops         operations
	limits      *limit.Limiter // may be nil
	connections *shares        // of the connections that the process can serve; nil: no limit
}

func (g limitGuard) Pass(x *guard.Exchange) bool {
	r := x.Request
	if g.open(r.URL.Path) || g.ops.own(r.URL.Path) {
		return true
	}
	who := mapping.PrincipalOf(r.Context())
	leave, err := g.enter(who)
	if err != nil {
		g.refuse(x.Writer, r, err)
		return false
	}
	x.AtEnd(leave)
	if g.limits == nil {
		return true
	}
	if err := g.count(r, who); err != nil {
		g.refuse(x.Writer, r, err)
		return false
	}
	x.Request = r.WithContext(adapter.WithStreams(r.Context(), func() (func(), error) { return g.limits.OpenStream(who) }))
	return true
}

// enter counts a request until leave is called. That must be after the response, since the request occupies a
// connection until then.
func (g limitGuard) enter(who mapping.Principal) (leave func(), err error) {
	if g.connections == nil {
		return func() {}, nil
	}
	key, tenant, done := g.connections.use(who)
	switch {
	case key != nil && !key.TryAcquire(1):
		done()
		return nil, manyConnections(fmt.Sprintf("Key %q", who.ID), g.connections.Key)
	case tenant != nil && !tenant.TryAcquire(1):
		if key != nil {
			key.Release(1)
		}
		done()
		return nil, manyConnections(fmt.Sprintf("Tenant %q", who.Tenant), g.connections.Tenant)
	}
	return func() {
		for _, share := range []*semaphore.Weighted{key, tenant} {
			if share != nil {
				share.Release(1)
			}
		}
		done()
	}, nil
}

func manyConnections(of string, most int64) error {
	return mapping.Errorf(mapping.Limited, "limit_connections",
		"%s has %d requests, streams and WebSockets in progress, which is its share of the connections that the bridge can serve with its file descriptors. Close some, or try again in a moment.", of, most)
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
