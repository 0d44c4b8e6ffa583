// Package sqldb is the database layer under the store's operations: a SQLite file or a PostgreSQL schema. It is used
// only by package store and the packages below it.
//
// A write is one operation: a function over a *Tx that sees its own writes and takes effect completely or not at all.
// On SQLite one goroutine commits the waiting operations as one transaction (writer), and readers use their own
// connections. On PostgreSQL each operation is its own transaction, and is run again if its work is lost.
//
// The package does not depend on threads, runs or tasks. Its migrations create the tables. It reads and writes only the
// rows of processes, which are leases, of commits and of secrets. The operations themselves release everything held
// under a lease (Holdings). Start reading at Open and DB, then at Tx.
//
// # One text for both databases
//
// The same SQL text runs on both databases. The differences are behind the interface database, in files whose names
// begin with that of the database: the start, end and retry of transactions, the time, leases and notices. In
// migrations, {{word}} stands for a part that differs, and {{sqlite}} begins a line for SQLite only. Names (ids, keys,
// labels, paths, media types) are UTF-8 without U+0000 (mapping.IsText). Faces answer other names with 422, and the
// engine answers those of an agent with bad_upstream_response. Values are stored unchanged.
//
// # A SQLite file
//
// A file belongs to one process. Two locks ensure that (package filelock): one of FILE-lock, and one of the open file
// itself, which also covers its other names. If a file is found damaged or truncated, or a flush fails, nothing more is
// written, and /readyz reports that until the next start (docs/operations.md).
//
// /readyz needs no key, so it only reads. After a refused write it tries a small write, at most once a second. That
// write would succeed even in a file at its limit, so for such a file the number of used pages decides (spaceQuota). A
// bridge starts on a full disk: it serves reads and refuses writes with 507. Leftovers of an earlier process are
// recovered once there is space (store.Store.Recover).
//
// Free pages keep their old content until VACUUM, which the writer runs between two transactions. secure_delete
// overwrites data that is deleted from then on, but not data that was replaced before.
//
// # Sealed bodies
//
// If there are keys (encryption.keys), bodies are encrypted when they become a parameter (Tx.Sealed) and decrypted when
// a row is scanned (Unsealed). Each is bound to its column and to the key of its row. SealedColumns lists the columns,
// for exports and for the background work that re-encrypts bodies with the newest key. The first bytes of a body show whether it
// is sealed, so plain bodies and bodies under several keys can coexist, and a rewrite can stop at any row. Rows of the
// table secrets, written before the first body, record which keys a database needs; the last pass over all bodies
// removes them. Words of items are searched by keyed digests, whose key outlives the keys of bodies. Ranges of values
// cannot be searched that way, so sealed items have no members. Columns that queries filter by in SQL are never sealed.
package sqldb
