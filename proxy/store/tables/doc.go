// Package tables contains the code that package store shares with packages item and artifact, which it imports: the
// scope of visible rows, the keys and locks of threads' rows, and the storage quotas. Package limit provides the
// quotas. Operations of a single kind of object do not belong here. Start reading at Scope and Quotas.
//
// # Scope
//
// A Scope describes, as conditions of statements, the rows that the caller of an operation can see: the tenant of the
// principal, the agents it may use, and whether it sees only its own rows. Every operation that finds a row by an
// external id uses it, so that neither a face nor the service can forget it. A row outside the scope is reported as not
// found (404).
//
//   - A thread belongs to each agent that a run or a task of it was created for, and to the one that its metadata
//     named as graph_id at its creation (threads.agents). These remain when the runs are deleted. A copy belongs to
//     the same agents.
//   - A key with agents sees a thread, and everything that belongs to it, if it may use all of the thread's agents,
//     because a state contains what each of them received.
//   - A thread without any agent is visible to the key that created it, and to keys without agents.
//   - A principal with scope own sees the threads, crons and assistants that it created (owner), and everything that
//     belongs to them. The owner of items is ignored, since they are separated by namespaces. So such a principal
//     reaches only the namespaces it is given.
//   - A cron is visible to keys that may use its agent and see its thread. Its runs are created for the key that
//     created it, with the agents that the key may use at that time. If the thread is out of the key's sight, no run
//     is created, and the cron's error says so. A cron whose key is no longer configured may use only its own agent.
//   - The long-term store belongs to the tenant: all of its keys can read and write it. Keys with namespaces reach
//     only the items in and below these (package item). Elsewhere requests for a single item are answered with 403,
//     since namespaces are names and not secret, and searches find nothing. Scores do not depend on items out of reach
//     either. Several namespaces are read one after the other, each in table order.
//
// Background work (executions, maintenance) is scoped only by tenant.
//
// # Quotas
//
// Quotas counts the objects that keys and tenants keep in the database, and refuses additions beyond a quota, in the
// transaction of the addition. Deletions are never refused.
//
// A quota has a row with a count that is never lower than the actual number. Additions raise it. Deletions, which
// happen in many ways, do not change it. Only if the count would exceed the quota are the rows counted, with that row
// locked. So most additions cost one statement, and none exceeds the quota. The counts are cleared when a bridge starts
// and when its configuration is reloaded, since nothing was counted while there was no quota.
package tables
