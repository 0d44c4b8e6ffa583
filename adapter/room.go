package adapter

import (
	"context"
	"io"
)

// Room is what requests share: memory, and the rates of their caller. Requests and their bodies are counted already. A
// handler that reads more, such as the messages of a WebSocket, has to count it itself. Safe for concurrent use.
type Room interface {
	// Count counts what is read of r for the caller's rate of uploads, and holds memory for it until the result is
	// closed. A read that finds no room for long ends with an error of class Unavailable or Limited, and so does one
	// whose ctx ends.
	Count(ctx context.Context, r io.Reader) io.ReadCloser
	// Request counts a message as a request of the caller, or refuses it with an error of class Limited.
	Request(ctx context.Context) error
	// Short is an error of class Unavailable while there is no memory for new work.
	Short() error
}

type roomKey struct{}

// WithRoom returns a context that carries the room that a request shares; see RoomOf.
func WithRoom(ctx context.Context, r Room) context.Context {
	return context.WithValue(ctx, roomKey{}, r)
}

// RoomOf returns the room that a request shares; one without limits where none was given.
func RoomOf(ctx context.Context) Room {
	if r, ok := ctx.Value(roomKey{}).(Room); ok {
		return r
	}
	return vast{}
}

// vast is room without limits.
type vast struct{}

func (vast) Count(_ context.Context, r io.Reader) io.ReadCloser { return io.NopCloser(r) }
func (vast) Request(context.Context) error                      { return nil }
func (vast) Short() error                                       { return nil }
