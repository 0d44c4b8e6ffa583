package tables

import (
	"context"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Scope is what the caller of an operation sees: the rows of its tenant and, with agents, of these the threads whose
// agents are all among them, with everything that hangs on such a thread. A thread that no agent has worked on is seen
// by the key that made it. A principal that sees its own sees of all that what it made itself. Every operation that
// finds a row by an id from outside asks under a scope, so that what may not be seen is not found.
type Scope struct {
	Tenant string
	owner  string   // the id of the key
	agents []string // nil: threads of every agent
	own    bool     // only what owner made
}

// ScopeOf returns the scope of the principal in ctx.
func ScopeOf(ctx context.Context) Scope { return ScopeFor(mapping.PrincipalOf(ctx)) }

// ScopeFor returns the scope of a principal.
func ScopeFor(p mapping.Principal) Scope {
	return Scope{Tenant: p.Tenant, owner: p.ID, agents: p.Agents, own: p.Own}
}

// Whole reports whether the scope includes every thread of the tenant.
func (s Scope) Whole() bool { return s.agents == nil && !s.own }

// Narrow returns a condition on threads h, which names the tenant, with what of the tenant's threads is seen added to
// it.
func (s Scope) Narrow(where string, args ...any) (string, sqldb.In) {
	if s.Whole() {
		return where, args
	}
	seen, args := s.threads(args)
	return where + ` AND ` + seen, args
}

// threads is the condition on threads h.
func (s Scope) threads(args sqldb.In) (string, sqldb.In) {
	if !s.own {
		return s.worked(args)
	}
	args = append(args, s.owner)
	own := `h.owner = ` + sqldb.Params(len(args), 1)
	if s.agents == nil {
		return own, args
	}
	seen, args := s.worked(args)
	return own + ` AND ` + seen, args
}

// worked is the condition that no other agents have worked on threads h: nothing is left of the column agents when the
// agents that may be used are taken out of it.
func (s Scope) worked(args sqldb.In) (string, sqldb.In) {
	rest := `h.agents`
	for _, a := range s.agents {
		args = append(args, agentMark(a))
		rest = `replace(` + rest + `, ` + sqldb.Params(len(args), 1) + `, '')`
	}
	args = append(args, s.owner)
	return `(` + rest + ` = '' AND (h.agents <> '' OR h.owner = ` + sqldb.Params(len(args), 1) + `))`, args
}

// Crons returns a condition on crons c with their threads h, and adds to it that the agent may be used, and that the
// thread, if there is one, is seen.
func (s Scope) Crons(where string, args ...any) (string, sqldb.In) {
	if s.Whole() {
		return where, args
	}
	if s.own {
		args = append(args, s.owner)
		where += ` AND c.owner = ` + sqldb.Params(len(args), 1)
	}
	if s.agents != nil {
		where += ` AND c.agent IN (` + sqldb.Params(len(args)+1, len(s.agents)) + `)`
		for _, a := range s.agents {
			args = append(args, a)
		}
	}
	seen, args := s.threads(args)
	return where + ` AND (c.thread = 0 OR ` + seen + `)`, args
}

// Assistants returns a condition on assistants a, and adds to it, for a caller that sees only its own, that it made
// them.
func (s Scope) Assistants(where string, args ...any) (string, sqldb.In) {
	if s.own {
		args = append(args, s.owner)
		where += ` AND a.owner = ` + sqldb.Params(len(args), 1)
	}
	return where, args
}

// agentMark returns an agent's name as stored in the column agents of threads. Names of agents contain no slash.
func agentMark(name string) string { return "/" + name + "/" }

// WithAgent returns the column agents with one more agent. "" adds none.
func WithAgent(agents, name string) string {
	if name == "" || strings.Contains(agents, agentMark(name)) {
		return agents
	}
	return agents + agentMark(name)
}

// TenantOf returns the tenant of the principal in ctx.
func TenantOf(ctx context.Context) string { return mapping.PrincipalOf(ctx).Tenant }
