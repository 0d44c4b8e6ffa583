// Package sqldb is one database under the store's operations: a SQLite file or a PostgreSQL schema. Package store and
// the packages below it are its only callers.
//
// A write is one operation: a function over a *Tx that sees what it wrote and takes effect whole or not at all. On
// SQLite one goroutine commits the waiting operations as one transaction (writer); readers use connections of their
// own. On PostgreSQL each operation has a transaction of its own, and is run again where its work is lost.
//
// The package knows no thread, run or task. Its migrations make the tables; of their rows it knows those of processes,
// which are leases, and of commits. What operations hold under a lease they free themselves (Holdings). Start reading
// at Open and DB, then at Tx.
//
// # One text for both databases
//
// One SQL text serves both. What differs is behind the interface database, in files that begin with a database's name:
// how transactions begin, end and are tried again, the time, leases and notices. In migrations, words in double braces
// stand for what differs, and {{sqlite}} begins a line for SQLite alone. What names something (ids, keys, labels,
// paths, media types) is UTF-8 without U+0000 (mapping.IsText): faces refuse another name with 422, and the engine an
// agent's with bad_upstream_response. Values are carried as they came.
//
// # A SQLite file
//
// A file belongs to one process, kept by two locks (package filelock): one of FILE-lock, and one of the open file
// itself, which no other name gets around. A file that is found damaged or cut short ends writing, as a failed flush
// does, and /readyz says so until the next start (docs/operations.md).
//
// /readyz needs no key, so it only reads. Only after a refused write does it try one, at most once a second. A file at
// its limit takes that small write, so there the pages in use decide (room). On a full disk a bridge starts: reads are
// served, what needs room is refused with 507, and what an earlier process left behind is picked up when there is room
// (store.Store.Recover).
//
// Free pages keep what was in them until VACUUM, which the writer runs between two transactions. secure_delete
// overwrites what is deleted from then on, and not what was replaced before.
//
// # Sealed bodies
//
// Where there are keys (encryption.keys) bodies are encrypted on their way into a statement (Tx.Sealed) and opened as a
// row is scanned (Unsealed), each bound to its column and to the key of its row. SealedColumns lists the columns, for
// exports and for the chore that brings bodies under the newest key. A sealed body says so in its first bytes, so plain
// bodies and those of several keys stand beside each other, and a rewrite may end at any row. Rows of the table
// secrets, written before the first body, say which keys a database needs; the last pass over all bodies takes them
// back. Words of items are found by keyed digests, whose key outlives those of bodies. Ranges of values cannot be found
// so, and sealed items have no members. What a query decides by in SQL is never sealed.
package sqldb
