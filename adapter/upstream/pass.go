package upstream

import (
	"context"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// Pass forwards a client's request once and returns the response, whatever its status. The request is unchanged except
// for the configured headers and those that describe the origin of the call. The caller closes the body of the
// response. Only the request's context limits the time for the response.
func (c *Client) Pass(r *http.Request) (*http.Response, error) {
	call := &Call{Method: r.Method, Operation: OpPassthrough}
	ctx := c.traced(context.WithValue(r.Context(), operationKey{}, call.operation()), call)
	r = r.Clone(ctx) // a transport must not modify its request
	setHeaders(r, c.headers)
	adapter.AddHop(r, c.hop)
	adapter.AddOrigin(r)
	res, err := c.pool(call).GetClient().Transport.RoundTrip(r)
	if err != nil {
		endSpan(ctx, 0, outcomeUnsent) // unless an exchange has ended it
		return nil, c.broken(ctx, ctx, err)
	}
	return res, nil
}

// setHeaders sets the configured headers for the principal of a call.
func setHeaders(r *http.Request, headers map[string]config.Secret) {
	who := mapping.PrincipalOf(r.Context())
	for name, secret := range headers {
		if value, ok := secret.HeaderFor(who.ID, who.Tenant); ok {
			r.Header.Set(name, value)
		}
	}
}
