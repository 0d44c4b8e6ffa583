package mapping

import "context"

// HopsHeader lists the bridges that a request has come through, as CDN-Loop does for content delivery networks (RFC
// 8586), so that one that comes back to a bridge is known.
const HopsHeader = "CDN-Loop"

type hopsKey struct{}

// WithHops returns a context of work done for a request that came with this HopsHeader: calls to agents repeat it.
func WithHops(ctx context.Context, hops string) context.Context {
	if hops == "" {
		return ctx
	}
	return context.WithValue(ctx, hopsKey{}, hops)
}

// HopsOf returns the hops that ctx carries; "" for none.
func HopsOf(ctx context.Context) string {
	hops, _ := ctx.Value(hopsKey{}).(string)
	return hops
}

// HopsTo returns the header of a call made within ctx: the hops so far, and the caller's own.
func HopsTo(ctx context.Context, own string) string {
	if hops := HopsOf(ctx); hops != "" {
		return hops + ", " + own
	}
	return own
}
