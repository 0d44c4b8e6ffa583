package upstream

import "context"

// spanKey is under what a request's context holds the end of its span.
type spanKey struct{}

// traced begins the span of a call, where there is a tracer. The headers that name the request's place in its trace are
// made of the context.
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
