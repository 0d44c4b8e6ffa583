package adapter

import "context"

// Permit reports whether a call that must not be made twice may begin now. A refusal is final: it has ended the context
// that the permit was given with, for the reason that it returns. Safe for concurrent use.
type Permit func() error

type permitKey struct{}

// WithPermit puts the calls of agents that are made under ctx under a permit. The engine gives one to each execution: a
// process whose lease is over must not send what the next holder of the run may be sending. Every backend makes its
// calls by adapter/upstream, which asks it.
func WithPermit(ctx context.Context, may Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, may)
}

// PermitOf returns the permit that the calls made under ctx need; nil if they need none.
func PermitOf(ctx context.Context) Permit {
	may, _ := ctx.Value(permitKey{}).(Permit)
	return may
}
