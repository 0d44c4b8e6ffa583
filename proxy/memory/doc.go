// Package memory is the long-term store as agents use it: what a run's agent is told of it (Recall), what the agent
// writes down by a step (Remember), and what the agent may do there by itself (Access, Granted). The engine and, by the
// engine, the service and the guards call it. It knows no agent and no HTTP, and executes no run.
//
// What an agent is told is a search under a principal of its own (Scope): the tenant of the run, and as Namespaces the
// templates of memory.namespaces that the run fills in, cut to what the key that made the run may reach. So recall
// scores all of them as one corpus, and what an agent asks to be remembered is checked where every other write is.
//
// A token for the store is signed and kept nowhere. It names the run, or the task of an agent that is told once for
// several runs, and its principal is read at each use: there is none, unless the database has the run at work. So the
// commit that ends a run revokes the token, on all bridges, and a crash neither revokes it early nor leaves it behind.
// The key of the signature is a row of secrets, made by the first bridge that needs one. The guards let such a
// principal (mapping.RightStore) pass only to the paths that a dialect names as those of the store
// (adapter.Dialect.Store).
package memory
