// Package store keeps the record of everything in a database: threads, runs,
// tasks, the event log, checkpoints, links and artifacts, and with package item
// the items. It holds all other SQL of the bridge but that of the database itself
// (package sqldb).
//
// A write is one operation: a function over a *sqldb.Tx that sees what it wrote and
// takes effect whole or not at all.
// Start reading at Open, then CreateRun and AppendRun, which carry a run
// from its first to its last event.
package store
