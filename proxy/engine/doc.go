// Package engine is the life of a run: it makes runs durable, starts them when their thread and their agent are free,
// drives the agent's backend, records its events, and ends every run in exactly one state. The service and package
// stepping call it, and the bridge makes it. It knows no dialect and no HTTP, and answers no client.
//
// Start reading at Engine.Begin (a run is made; it is a method of the embedded starter), then execution.work (a run is
// executed) and recorder (an event is recorded). New gives each part what it uses, and a part knows no more of the
// engine; what executions share is in works. CONCURRENCY.md has the locks.
//
// # Files
//
// Files in messages become artifacts with the input's event. No note in a message says which: a file is known by its
// name and its bytes (attached), so messages stay as they came, and a page that sends the whole thread again changes
// nothing.
//
// Before the first input of a task/step agent's thread stands an empty checkpoint with next: ["__start__"], so that the
// first message can be said anew from there. It is an event of its own, since the kind of an agent may be known only
// when its first run has been started. Threads of earlier versions have none.
//
// # Answers
//
// An answer of one client is for the questions of one run: a bare value where several runs of the agent wait is
// refused. An answer to a question from before others worked on the thread goes to the upstream thread that asked
// (overlap).
package engine
