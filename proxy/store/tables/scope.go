package tables

import (
	"context"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Scope describes what the caller of an operation can see: the rows of its tenant. If it has agents, these are limited
// to the threads whose agents are all among them, with everything that belongs to such a thread. A thread that no agent
// has worked on is visible to the key that created it. If own is set, they are further limited to what the principal
// created itself. Every operation that finds a row by an external id uses a scope, so that rows outside it are not
// found.
type Scope struct {
	Tenant string
	owner  string   // the id of the key
	agents []string // nil means all agents
	own    bool     // only rows created by owner
}

// ScopeOf returns the scope of the principal in ctx.
func ScopeOf(ctx context.Context) Scope { return ScopeFor(mapping.PrincipalOf(ctx)) }

// ScopeFor returns the scope of a principal.
func ScopeFor(p mapping.Principal) Scope {
	return Scope{Tenant: p.Tenant, owner: p.ID, agents: p.Agents, own: p.Own}
}

// Whole reports whether the scope includes every thread of the tenant.
func (s Scope) Whole() bool { return s.agents == nil && !s.own }

// Narrow adds the limits of the scope to a condition on threads h, which must already select the tenant.
func (s Scope) Narrow(where string, args ...any) (string, sqldb.In) {
	if s.Whole() {
		return where, args
	}
	seen, args := s.threads(args)
	return where + ` AND ` + seen, args
}

// threads returns the condition on threads h.
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

// worked returns the condition that no other agents have worked on threads h: nothing is left of the column agents
// after the permitted agents have been removed from it.
func (s Scope) worked(args sqldb.In) (string, sqldb.In) {
	rest := `h.agents`
	for _, a := range s.agents {
		args = append(args, agentMark(a))
		rest = `replace(` + rest + `, ` + sqldb.Params(len(args), 1) + `, '')`
	}
	args = append(args, s.owner)
	return `(` + rest + ` = '' AND (h.agents <> '' OR h.owner = ` + sqldb.Params(len(args), 1) + `))`, args
}

// Crons adds the limits of the scope to a condition on crons c with their threads h: the agent must be permitted, and
// the thread, if there is one, must be visible.
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

// Assistants adds the limits of the scope to a condition on assistants a: a caller limited to its own sees only those
// it created.
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
