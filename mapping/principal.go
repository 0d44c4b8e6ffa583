package mapping

import (
	"context"
	"slices"
)

// Principal is the caller of a request. Without auth it is the zero value, whose tenant is "".
type Principal struct {
	ID     string   // key id or subject
	Tenant string   // every row has one
	Agents []string // config names of the agents it may use; nil means all
	Rights []string // nil means all that concern its tenant
	Own    bool     // it only sees objects that it created itself
	Queue  int      // maximum number of its waiting runs; 0 for no limit
	// Namespaces are those of the long-term store that it may use, with everything below them. nil means all.
	Namespaces [][]string
	ReadOnly   bool // of the store
}

// May reports whether the principal may use the named agent.
func (p Principal) May(agent string) bool {
	if p.Agents == nil {
		return true
	}
	return slices.Contains(p.Agents, agent)
}

// MayReach reports whether the principal may use a namespace of the long-term store.
func (p Principal) MayReach(namespace []string) bool {
	return p.Namespaces == nil || slices.ContainsFunc(p.Namespaces, func(prefix []string) bool { return HasLabels(namespace, prefix) })
}

// Below returns the namespaces at or below prefix that the principal may use, none nested in another. nil means none.
func (p Principal) Below(prefix []string) [][]string {
	if p.MayReach(prefix) {
		return [][]string{prefix}
	}
	var list [][]string
	for _, ns := range p.Namespaces {
		nested := slices.ContainsFunc(p.Namespaces, func(other []string) bool { return len(other) < len(ns) && HasLabels(ns, other) })
		same := slices.ContainsFunc(list, func(other []string) bool { return slices.Equal(other, ns) })
		if HasLabels(ns, prefix) && !nested && !same {
			list = append(list, ns)
		}
	}
	return list
}

// HasLabels reports whether a namespace is the prefix or below it.
func HasLabels(namespace, prefix []string) bool {
	return len(namespace) >= len(prefix) && slices.Equal(namespace[:len(prefix)], prefix)
}

// Limited reports whether the principal only sees a part of its tenant's threads, such as its own or those of some
// agents.
func (p Principal) Limited() bool { return p.Agents != nil || p.Own }

type principalKey struct{}

// WithPrincipal returns a context that carries p.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the principal in ctx, or the zero value.
func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
