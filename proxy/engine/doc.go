// Package engine runs agents: it makes runs durable, starts them when their thread and their agent are free, drives the
// agent's backend, records its events, and ends every run in exactly one state. The service and package stepping use
// it, and the bridge creates it. It does not depend on dialects or HTTP and does not talk to clients.
//
// Start reading at Engine.Begin (a run is created) or dispatcher.claimNext (a pending run is claimed). Both call
// Engine.start, and execution.run follows: execute drives the backend, recorder and eventWriter log its events, finish
// and endWriter log the end. CONCURRENCY.md describes the locks.
//
// # Files
//
// Files in messages become artifacts with the input's event. A file is identified by its name and its content
// (attachments), so messages are not changed, and a client that sends the whole thread again changes nothing.
//
// The first input of a task/step agent's thread follows an empty checkpoint with next: ["__start__"], from which the
// first message can be replaced. It is a separate event, since the kind of an agent may be known only after its first
// run has started. Threads of earlier versions have no such checkpoint.
//
// # Answers
//
// An answer from a client applies to the questions of one run. A bare value is refused if several runs of the agent
// wait. If others have worked on the thread since a question, its answer goes to the upstream thread that asked it
// (overlap.go).
package engine
