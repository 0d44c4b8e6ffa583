package mapping

import "context"

// HopsHeader lists the bridges that a request has passed through, as CDN-Loop does for content delivery networks (RFC
// 8586). A bridge detects its own requests by it.
const HopsHeader = "CDN-Loop"

type hopsKey struct{}

// WithHops returns a context for work on a request with this HopsHeader. Calls to agents repeat the header.
func WithHops(ctx context.Context, hops string) context.Context {
	if hops == "" {
		return ctx
	}
	return context.WithValue(ctx, hopsKey{}, hops)
}

// HopsOf returns the hops in ctx, or "".
func HopsOf(ctx context.Context) string {
	hops, _ := ctx.Value(hopsKey{}).(string)
	return hops
}

// HopsTo returns the header for a call within ctx: the hops so far, followed by own.
func HopsTo(ctx context.Context, own string) string {
	if hops := HopsOf(ctx); hops != "" {
		return hops + ", " + own
	}
	return own
}
