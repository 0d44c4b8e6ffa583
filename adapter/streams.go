package adapter

import "context"

type streamsKey struct{}

// WithStreams returns a context in which the streams of a caller are counted: open refuses one too many with an error
// of class Limited, and done is called when the stream has ended.
func WithStreams(ctx context.Context, open func() (done func(), err error)) context.Context {
	return context.WithValue(ctx, streamsKey{}, open)
}

// OpenStream is called before a request begins what its stream would show. done must be called when the stream has
// ended. Without WithStreams nothing is counted.
func OpenStream(ctx context.Context) (done func(), err error) {
	if open, ok := ctx.Value(streamsKey{}).(func() (func(), error)); ok {
		return open()
	}
	return func() {}, nil
}
