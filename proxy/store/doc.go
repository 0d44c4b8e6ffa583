// Package store keeps the record of everything in a database: threads, runs,
// tasks, the event log, checkpoints, links, items and artifacts. It holds all
// SQL of the bridge.
//
// A write is one operation: a function over a *tx that sees what it wrote and
// takes effect whole or not at all. On SQLite one goroutine commits whatever
// operations wait as one transaction (writer); readers use connections of their own.
// Start reading at Open, then CreateRun and AppendRun, which carry a run
// from its first to its last event.
package store
