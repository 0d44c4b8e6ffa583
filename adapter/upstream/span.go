package upstream

import "context"

// spanKey is the context key of the function that ends a request's span.
type spanKey struct{}

// traced starts the span of a call if there is a tracer. The trace headers of the request are derived from the returned
// context.
func (c *Client) traced(ctx context.Context, call *Call) context.Context {
	if c.tracer == nil {
		return ctx
	}
	ctx, end := c.tracer.UpstreamCall(ctx, c.agent, call.operation(), call.Method, c.opt.Root+call.Path)
	return context.WithValue(ctx, spanKey{}, end)
}

func endSpan(ctx context.Context, status int, outcome string) {
	if end, ok := ctx.Value(spanKey{}).(func(int, string)); ok {
		end(status, outcome)
	}
}
