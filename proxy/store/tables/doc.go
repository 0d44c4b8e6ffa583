// Package tables has what the SQL of package store shares with that of packages item and artifact, which store imports:
// the scope under which rows are found, the keys and locks of threads' rows, and the quotas of what is kept. Package
// limit gives the quotas. It holds no operation of one noun.
//
// # Scope
//
// A Scope is the rows that the caller of an operation sees, as conditions of statements: the tenant of the principal,
// the agents that it may use, and whether it sees only its own rows. Every operation that finds a row by an id from
// outside uses it, so that neither a face nor the service can forget it. A row out of sight is not found (404).
//
//   - A thread belongs to each agent that a run or a task of it was made for, and to the one that its metadata named as
//     graph_id when it was made (threads.agents). These stay when the runs are deleted. A copy belongs to the same
//     agents.
//   - A key with agents sees a thread, with all that hangs on it, when it may use all of the thread's agents: a state
//     holds what each of them was told.
//   - A thread without any agent is seen by the key that made it, and by keys without agents.
//   - A principal with scope own sees the threads, crons and assistants that it made (owner), with all that hangs on
//     them. Items have no owner that is asked about, since namespaces part them; so it reaches only the namespaces that
//     it is given.
//   - A cron is seen by keys that may use its agent and see its thread. Its ticks are made for the key that made it,
//     with the agents that the key may use at the time. A tick on a thread out of the key's sight makes no run, and the
//     cron's error says so. A cron whose key is not configured any more has its own agent alone.
//   - The long-term store belongs to the tenant: all of its keys read and write it, except those with namespaces, which
//     reach what is in and below them (package item). Elsewhere their requests for one item are 403, since namespaces
//     are names and no secret, and searches find nothing; scores do not count what is out of reach either. Several
//     namespaces are read one after the other, each by the order of the table.
//
// Work in the background (executions, chores) is scoped by its tenant alone.
//
// # Quotas
//
// Quotas counts what keys and tenants keep in the database, and refuses what would be more than they may, in the
// transaction that adds it. It refuses additions only, never deletions.
//
// A quota has a row whose number is never below what is there. Additions raise it; deletions, which have many ways,
// leave it. Only when the number would pass the quota are the rows counted, under the lock of that row. So most
// additions cost one statement, and none passes the quota. The rows are emptied when a bridge starts and when its
// configuration is reloaded, since nothing was counted while there was no quota.
package tables
