package adapter

import (
	"context"
	"io"
)

// MemoryBudget is the memory shared by all requests, and the rates of the caller. Requests and their bodies are already
// counted. A handler that reads more, such as the messages of a WebSocket, counts it here. Safe for concurrent use.
type MemoryBudget interface {
	// Count counts the bytes read from r for the caller's rate of uploads, and holds memory for them until the result
	// is closed. A read fails with an error of class Unavailable or Limited if it gets no memory for a long time, or if
	// ctx ends.
	Count(ctx context.Context, r io.Reader) io.ReadCloser
	// Request counts a message as a request of the caller, or refuses it with an error of class Limited.
	Request(ctx context.Context) error
	// Exhausted returns an error of class Unavailable while there is no memory for new work.
	Exhausted() error
}

type memoryBudgetKey struct{}

// WithMemoryBudget returns a context that carries the memory budget of a request; see MemoryBudgetOf.
func WithMemoryBudget(ctx context.Context, r MemoryBudget) context.Context {
	return context.WithValue(ctx, memoryBudgetKey{}, r)
}

// MemoryBudgetOf returns the memory budget of a request, or one without limits if the context has none.
func MemoryBudgetOf(ctx context.Context) MemoryBudget {
	if r, ok := ctx.Value(memoryBudgetKey{}).(MemoryBudget); ok {
		return r
	}
	return unlimited{}
}

// unlimited is a budget without limits.
type unlimited struct{}

func (unlimited) Count(_ context.Context, r io.Reader) io.ReadCloser { return io.NopCloser(r) }
func (unlimited) Request(context.Context) error                      { return nil }
func (unlimited) Exhausted() error                                   { return nil }
