package adapter

import "context"

// Permit reports whether a call that must not be made twice may begin now. A refusal is final. The permit then ends the
// context that carries it, and returns the cause. Safe for concurrent use.
type Permit func() error

type permitKey struct{}

// WithPermit returns a context in which calls of agents need a permit. The engine gives one to each execution, because
// a process whose lease has ended must not send a call that the next holder of the run may be sending too. All backends
// make their calls through adapter/upstream, which checks the permit.
func WithPermit(ctx context.Context, may Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, may)
}

// PermitOf returns the permit that calls under ctx need, or nil if they need none.
func PermitOf(ctx context.Context) Permit {
	may, _ := ctx.Value(permitKey{}).(Permit)
	return may
}
