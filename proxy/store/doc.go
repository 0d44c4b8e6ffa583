// Package store keeps the record of everything in a database: threads, runs, tasks, the event log, checkpoints, links,
// crons, assistants, webhooks, requests with an Idempotency-Key, rates and secrets. Items and files have a package each
// below it (item, artifact), and package tables has what these share with store. Together they hold all SQL of the
// bridge, except that of the database itself (package sqldb). The engine, the log, stepping, the service, the chores
// and the sender of webhooks call it, and the bridge opens it. It calls no agent, starts no run and knows no HTTP.
//
// The nouns of package store are one package because an operation writes several of them: an event moves the heads of
// its thread and run, sets links, and opens or closes questions. A file begins with the noun that it writes.
//
// A write is one operation: a function over a *sqldb.Tx that sees what it wrote and takes effect whole or not at all.
// Start reading at Open, then Runs.Create and Events.Append, which carry a run from its first to its last event.
//
// # Checkpoints
//
// A checkpoint stands in the row of the event that made it. Its state is the newest snapshot on its line (a stretch of
// history without forks) and the differences after it: one range scan. Distance says when a snapshot is due. So any
// checkpoint is read about as quickly as the first, and history does not copy a growing state at every step.
//
// # Questions
//
// A thread may wait for several answers: of one run, of runs beside each other, of several agents. Each question stands
// in the thread's row with the run that asked, so an answer finds it however long ago that was. An answer closes the
// questions of its own task, new input those of its agent, a run from an older checkpoint all of them. Other questions
// stay open.
package store
