package store

import (
	"context"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// scope is what the caller of an operation sees: the rows of its tenant and, with
// agents, of these the threads whose agents are all among them, with everything that
// hangs on such a thread. A thread that no agent has worked on is seen by the key that
// made it. One that sees its own sees of all that what it made itself. Whatever finds a row by an id from outside asks under a scope, so that what
// may not be seen is not found.
type scope struct {
	tenant string
	owner  string   // the id of the key
	agents []string // nil: threads of every agent
	own    bool     // only what owner made
}

// scopeOf is the scope of the principal in ctx.
func scopeOf(ctx context.Context) scope { return scopeFor(mapping.PrincipalOf(ctx)) }

func scopeFor(p mapping.Principal) scope {
	return scope{tenant: p.Tenant, owner: p.ID, agents: p.Agents, own: p.Own}
}

// whole reports whether every thread of the tenant is seen.
func (s scope) whole() bool { return s.agents == nil && !s.own }

// narrow adds to a condition on threads h, which names the tenant, what of the
// tenant's threads is seen.
func (s scope) narrow(where string, args ...any) (string, in) {
	if s.whole() {
		return where, args
	}
	seen, args := s.threads(args)
	return where + ` AND ` + seen, args
}

// threads is the condition on threads h.
func (s scope) threads(args in) (string, in) {
	if !s.own {
		return s.worked(args)
	}
	args = append(args, s.owner)
	own := `h.owner = ` + list(len(args), 1)
	if s.agents == nil {
		return own, args
	}
	seen, args := s.worked(args)
	return own + ` AND ` + seen, args
}

// worked is the condition that no other agents have worked on threads h: nothing is left of the column
// agents when the agents that may be used are taken out of it.
func (s scope) worked(args in) (string, in) {
	rest := `h.agents`
	for _, a := range s.agents {
		args = append(args, agentMark(a))
		rest = `replace(` + rest + `, ` + list(len(args), 1) + `, '')`
	}
	args = append(args, s.owner)
	return `(` + rest + ` = '' AND (h.agents <> '' OR h.owner = ` + list(len(args), 1) + `))`, args
}

// crons is the condition on crons c with their threads h: the agent may be used, and
// the thread, if there is one, is seen.
func (s scope) crons(where string, args ...any) (string, in) {
	if s.whole() {
		return where, args
	}
	if s.own {
		args = append(args, s.owner)
		where += ` AND c.owner = ` + list(len(args), 1)
	}
	if s.agents != nil {
		where += ` AND c.agent IN (` + list(len(args)+1, len(s.agents)) + `)`
		for _, a := range s.agents {
			args = append(args, a)
		}
	}
	seen, args := s.threads(args)
	return where + ` AND (c.thread = 0 OR ` + seen + `)`, args
}

// assistants is the condition on assistants a, which belong to their tenant but for those who see their own.
func (s scope) assistants(where string, args ...any) (string, in) {
	if s.own {
		args = append(args, s.owner)
		where += ` AND a.owner = ` + list(len(args), 1)
	}
	return where, args
}

// agentMark is how the column agents of threads holds an agent. Names of agents have no
// slash.
func agentMark(name string) string { return "/" + name + "/" }

// withAgent is the column agents with one more agent; "" is none.
func withAgent(agents, name string) string {
	if name == "" || strings.Contains(agents, agentMark(name)) {
		return agents
	}
	return agents + agentMark(name)
}

// noteAgent adds an agent to a thread.
func noteAgent(t *sqldb.Tx, row *threadRow, name string) error {
	agents := withAgent(row.agents, name)
	if agents == row.agents {
		return nil
	}
	row.agents = agents
	return t.Put(`UPDATE threads SET agents = $2 WHERE id = $1`, row.key, agents)
}
