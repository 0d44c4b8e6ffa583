package upstream

import (
	"context"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// Pass leads a request of a client's own on, as it is but for the configured headers and those that say where a call
// comes from, and returns the answer, whatever its status is. The caller closes its body. It is tried once, and how
// long the answer may take is for the request's context.
func (c *Client) Pass(r *http.Request) (*http.Response, error) {
	call := &Call{Method: r.Method, Operation: OpPassthrough}
	ctx := c.traced(context.WithValue(r.Context(), operationKey{}, call.operation()), call)
	r = r.Clone(ctx) // a transport leaves its request alone
	setHeaders(r, c.headers)
	adapter.AddHop(r, c.hop)
	adapter.AddOrigin(r)
	res, err := c.pool(call).GetClient().Transport.RoundTrip(r)
	if err != nil {
		endSpan(ctx, 0, outcomeUnsent) // where no exchange has ended it
		return nil, c.broken(ctx, ctx, err)
	}
	return res, nil
}

// setHeaders sets the configured headers, for the principal that a call is made for.
func setHeaders(r *http.Request, headers map[string]config.Secret) {
	who := mapping.PrincipalOf(r.Context())
	for name, secret := range headers {
		if value, ok := secret.HeaderFor(who.ID, who.Tenant); ok {
			r.Header.Set(name, value)
		}
	}
}
