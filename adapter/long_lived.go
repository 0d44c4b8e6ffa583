package adapter

import "context"

type longLivedKey struct{}

// WithLongLived returns a context for which MarkLongLived calls note. done is called when the stream has ended.
func WithLongLived(ctx context.Context, note func() (done func())) context.Context {
	return context.WithValue(ctx, longLivedKey{}, note)
}

// MarkLongLived marks the stream of a request that only its client ends, such as the stream of a thread. A bridge that
// shuts down ends the stream when the work behind it has ended and does not wait for the client. The caller must call
// done when the stream has ended. Without WithLongLived it does nothing.
func MarkLongLived(ctx context.Context) (done func()) {
	if note, ok := ctx.Value(longLivedKey{}).(func() func()); ok {
		return note()
	}
	return func() {}
}
