package mapping

import (
	"context"
	"slices"
)

// Principal is the caller that a request is made for. With auth off it is the zero value, whose tenant is "".
type Principal struct {
	ID     string   // key id or subject
	Tenant string   // every row belongs to one
	Agents []string // config names it may use; nil: all
	Rights []string // nil: all that concerns its tenant; else these alone
	Own    bool     // it sees what it has made itself, and nothing else of its tenant
	Queue  int      // how many of its runs may wait; 0: any number
	// Namespaces of the long-term store that it may use, each with all below it; nil: all.
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

// Below returns the prefixes that the principal sees of what is below a prefix: none nested in another. nil: nothing.
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

// Limited reports whether the principal sees a part of its tenant's threads: it may use some agents only, or sees only
// what is its own.
func (p Principal) Limited() bool { return p.Agents != nil || p.Own }

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
