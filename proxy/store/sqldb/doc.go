// Package sqldb is one database under the store's operations: a SQLite file or a
// PostgreSQL schema.
//
// A write is one operation: a function over a *Tx that sees what it wrote and takes
// effect whole or not at all. On SQLite one goroutine commits whatever operations wait
// as one transaction (writer); readers use connections of their own. On PostgreSQL each
// operation has a transaction of its own, and is run again where what it did is lost.
//
// The package knows no thread, run or task. The tables are made by its migrations; of
// their rows it knows those of processes, which are leases, and of commits. What
// operations hold under a lease they free themselves (Holdings).
// Start reading at Open and DB, then at Tx.
package sqldb
