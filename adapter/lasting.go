package adapter

import "context"

type lastingKey struct{}

// WithLasting returns a context in which Lasting calls note; done is called when the stream has ended.
func WithLasting(ctx context.Context, note func() (done func())) context.Context {
	return context.WithValue(ctx, lastingKey{}, note)
}

// Lasting notes that the stream of a request ends with its client alone, as one of a thread does. A bridge that stops
// ends it when the work behind it has ended, and does not wait for the client to go. done must be called when the
// stream has ended. Without WithLasting nothing is noted.
func Lasting(ctx context.Context) (done func()) {
	if note, ok := ctx.Value(lastingKey{}).(func() func()); ok {
		return note()
	}
	return func() {}
}
