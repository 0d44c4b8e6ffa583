package adapter

import "context"

type streamsKey struct{}

// WithStreams returns a context that counts the streams of a caller. open returns an error of class Limited if there
// are too many. done must be called when the stream has ended.
func WithStreams(ctx context.Context, open func() (done func(), err error)) context.Context {
	return context.WithValue(ctx, streamsKey{}, open)
}

// OpenStream must be called before a request begins anything that its stream would show. The caller must call done when
// the stream has ended. Without WithStreams nothing is counted.
func OpenStream(ctx context.Context) (done func(), err error) {
	if open, ok := ctx.Value(streamsKey{}).(func() (func(), error)); ok {
		return open()
	}
	return func() {}, nil
}
