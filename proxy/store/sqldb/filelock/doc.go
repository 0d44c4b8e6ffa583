// Package filelock keeps a second process away from a SQLite file. Package sqldb is its only caller: it takes a Lock
// before it opens or restores a database, and closes it last.
//
// There are two locks. That of the name (Take) is of PATH-lock, a file beside the database, which stays behind. It
// guards the making of a new file, and shows whether there was a database before (Mark). That of the file (Hold) is of
// the open database, so that no other name of it gets around the first. Where a system has no lock of that kind, the
// name alone is locked, and Hold says so. The system gives both back when the process ends, however it ends.
//
// The package never waits for a lock, writes nothing into the database and deletes no file. It says what stands in the
// way; the words for users are those of package sqldb.
package filelock
