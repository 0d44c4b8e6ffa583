package adapter

import "context"

type longLivedKey struct{}

// WithLongLived returns a context in which Lasting calls note; done is called when the stream has ended.
func WithLongLived(ctx context.Context, note func() (done func())) context.Context {
	return context.WithValue(ctx, longLivedKey{}, note)
}

// MarkLongLived notes that the stream of a request ends with its client alone, as one of a thread does. A bridge that
// stops ends it when the work behind it has ended, and does not wait for the client to go. done must be called when the
// stream has ended. Without WithLongLived nothing is noted.
func MarkLongLived(ctx context.Context) (done func()) {
	if note, ok := ctx.Value(longLivedKey{}).(func() func()); ok {
		return note()
	}
	return func() {}
}
