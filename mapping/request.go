package mapping

import "context"

type requestKey struct{}

// WithRequestID returns a context for work on the request with this id.
func WithRequestID(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestIDOf returns the request id in ctx, or "".
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
