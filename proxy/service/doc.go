// Package service answers the faces: it implements adapter.Service over the engine, the event log and the store. The
// bridge makes it, and faces and the inspector call it. It knows no dialect and no HTTP, and calls an agent only
// through the engine or its backend. It turns requests in neutral terms into runs, states, steps, items and artifacts,
// and refuses what it cannot do with the reason.
//
// Start reading at Service, whose methods are in files by noun, and at StartRun. Package stateupdate changes states,
// and package owner reports, exports and removes the data of an owner. Runs of tasks are begun by package stepping,
// which calls Service.PlanTaskRun. GET /runs/{id}/explain is read in one transaction (store.Runs.Standing).
//
// # Planning of runs
//
// planRun turns a request, a cron's tick or a step of a task into the run that the store creates. It writes nothing and
// begins no run. The files plan_*.go have its steps: the run's thread, its options, its input, the task it belongs to,
// and the parts of the request that its agent does not support.
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
