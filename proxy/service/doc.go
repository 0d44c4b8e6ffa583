// Package service implements adapter.Service over the engine, the event log and the store. The bridge creates it, and
// faces and the inspector use it. It does not depend on dialects or HTTP and calls agents only through the engine or
// their backends. It turns neutral requests into runs, states, steps, items and artifacts, and refuses unsupported
// requests with the reason.
//
// Start reading at Service, whose methods are in files by noun, and at StartRun. Package stateupdate changes states,
// and package owner reports, exports and removes the data of an owner. Runs of tasks are started by package stepping,
// which calls Service.PlanTaskRun. GET /runs/{id}/explain is answered from one transaction (store.Runs.Standing).
//
// # Planning of runs
//
// planRun turns a request, a cron's tick or a step of a task into a run for the store to create. It writes nothing and
// starts no run. Its steps are in the files plan_*.go: the run's thread, its options, its input, its task, and the
// parts of the request that its agent does not support.
//
// # Agents and assistants
//
// A configured agent is an assistant that cannot be changed. POST /assistants creates further ones over it. They are
// rows of the store, scoped by tenant, and each version is stored in full. When a run is planned, its request is merged
// onto its assistant: config, configurable and context member by member, metadata below that of the thread. The run
// keeps the result, so an assistant may change or be deleted while its runs wait, and its runs and threads remain when
// it is deleted. A cron reads its assistant at each tick and is deleted with it.
//
// A thread/run agent's description of itself (schemas, graph) is stored in the database and used while the agent is
// unavailable or takes more than five seconds. Until the agent has answered once, the bridge describes a graph of one
// node.
package service
