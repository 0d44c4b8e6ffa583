// Package store keeps all records in a database: threads, runs, tasks, the event log, checkpoints, links, crons,
// assistants, webhooks, requests with an Idempotency-Key, rates and secrets. Items and files have their own packages
// below it (item, artifact), and package tables contains the code that these share with store. Together they contain
// all SQL of the bridge, except that of the database layer (package sqldb). The engine, the log, stepping, the service,
// maintenance and the sender of webhooks use it, and the bridge opens it. It does not call agents, start
// runs or depend on HTTP.
//
// The objects of package store are in one package because an operation writes several of them: an event moves the heads
// of its thread and run, sets links, and opens or closes questions. File names begin with the object they write.
//
// A write is one operation: a function over a *sqldb.Tx that sees its own writes and takes effect completely or not at
// all. Start reading at Open, then at Runs.Create and Events.Append, which take a run from its first to its last event.
//
// # Checkpoints
//
// A checkpoint is stored in the row of the event that created it. Its state is the newest snapshot on its line (a
// stretch of history without forks) plus the differences after it, which is one range scan. Distance decides when a
// snapshot is due. So every checkpoint is about as fast to read as the first, and a growing state is not copied at
// every step.
//
// # Questions
//
// A thread may wait for several answers: to one run, to concurrent runs, or to several agents. Each question is stored
// in the thread's row with the run that asked it, so that an answer can find it regardless of its age. An answer closes
// the questions of its own task, new input closes those of its agent, and a run from an older checkpoint closes all.
// Other questions remain open.
package store
