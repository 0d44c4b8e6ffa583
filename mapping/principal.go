package mapping

import (
	"context"
	"slices"
)

// Principal is who a request is made for. With auth off it is the zero value,
// whose tenant is "".
type Principal struct {
	ID     string   // key id or subject
	Tenant string   // every row belongs to one
	Agents []string // config names it may use; nil: all
	Rights []string // nil: all that concerns its tenant; else these alone
	Queue  int      // how many of its runs may wait; 0: any number
}

// May tells whether the principal may use the named agent.
func (p Principal) May(agent string) bool {
	if p.Agents == nil {
		return true
	}
	return slices.Contains(p.Agents, agent)
}

// RightMetrics is the right to read the bridge's counters.
const RightMetrics = "metrics"

// MayReadMetrics reports whether the principal may read counters, which tell of all
// tenants and agents: a key with that right, and one that nothing confines.
func (p Principal) MayReadMetrics() bool {
	if p.Rights != nil {
		return slices.Contains(p.Rights, RightMetrics)
	}
	return p.Tenant == "" && !p.Limited()
}

// Limited reports whether the principal may use some agents only, and so sees a part of
// its tenant's threads.
func (p Principal) Limited() bool { return p.Agents != nil }

type principalKey struct{}

// WithPrincipal returns a context that carries p.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the principal ctx carries, or the zero one.
func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
