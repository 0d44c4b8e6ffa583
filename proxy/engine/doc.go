// Package engine runs agents: it makes runs durable, starts them when their thread and their agent are free, drives the
// agent's backend, records its events, and ends every run in exactly one state. The service and package stepping call
// it, and the bridge makes it. It knows no dialect and no HTTP, and answers no client.
//
// Start reading at Engine.Begin (a run is made) or dispatcher.claimNext (a pending run is claimed). Both call
// Engine.start, and execution.run follows: execute drives the backend, recorder and eventWriter log its events, finish
// and endWriter log the end. CONCURRENCY.md has the locks.
//
// # Files
//
// Files in messages become artifacts with the input's event. A file is known by its name and its bytes (attachments),
// so messages stay as they came, and a page that sends the whole thread again changes nothing.
//
// The first input of a task/step agent's thread follows an empty checkpoint with next: ["__start__"], from which the
// first message can be replaced. It is an event of its own, since the kind of an agent may be known only when its first
// run has been started. Threads of earlier versions have none.
//
// # Answers
//
// An answer of one client is for the questions of one run. A bare value is refused if several runs of the agent wait.
// An answer to a question from before others worked on the thread goes to the upstream thread that asked (overlap.go).
package engine
