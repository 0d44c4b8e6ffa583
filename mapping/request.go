package mapping

import "context"

type requestKey struct{}

// WithRequestID returns a context of work done for the request that clients and logs know by an id.
func WithRequestID(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestIDOf returns the id of the request that ctx belongs to; "" for none.
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
