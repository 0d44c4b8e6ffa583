// Package service answers the faces: it implements adapter.Service over the engine, the event log and the store. The
// bridge makes it, and faces and the inspector call it. It knows no dialect and no HTTP, and calls an agent only
// through the engine or its backend. It turns requests in neutral terms into runs, states, steps, items and artifacts,
// and refuses what it cannot do with the reason.
//
// Start reading at New, which gives each noun what it uses: its tables, an interface for what it asks the engine or the
// log, and the parts that several nouns share (heads, threadMaker, remover, taskFinder, topicFinder, topicTasks). What
// has a subject of its own is a package below: a run is planned in package plan, a state changed in stateupdate, and an
// owner's data taken out and removed in owner. GET /runs/{id}/explain is read in one transaction (store.Runs.Standing)
// and says in words why a run waits (explainer).
//
// # Agents and assistants
//
// A configured agent is an assistant that cannot be changed. POST /assistants makes a further one over it: rows of the
// store, scoped by tenant, each version kept whole. A request for a run is laid over its assistant where the run is
// planned: config, configurable and context member by member, metadata below that of the thread. The run keeps the
// result, so an assistant may change or go while its runs wait, and its runs and threads stay when it is deleted. A
// cron reads its assistant at each tick and goes with it.
//
// What a thread/run agent says of itself (schemas, graph) is kept in the database, and told from there while the agent
// is away, or takes more than five seconds. Before it has said anything, the bridge describes a graph of one node.
package service
