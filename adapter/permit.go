package adapter

import "context"

// Permit reports whether a call that must not be made twice may begin now. A refusal is final: the permit has ended the
// context it was given with, and returns the cause. Safe for concurrent use.
type Permit func() error

type permitKey struct{}

// WithPermit returns a context that puts the calls of agents under a permit. The engine gives one to each execution,
// because a process whose lease has ended must not send a call that the next holder of the run may be sending. All
// backends make their calls through adapter/upstream, which checks the permit.
func WithPermit(ctx context.Context, may Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, may)
}

// PermitOf returns the permit that calls under ctx need, or nil if they need none.
func PermitOf(ctx context.Context) Permit {
	may, _ := ctx.Value(permitKey{}).(Permit)
	return may
}
