// Package filelock prevents a second process from using a SQLite file. Its only user is package sqldb, which takes a
// Lock before it opens or restores a database and closes it last.
//
// There are two locks. The lock of the name (Take) is on PATH-lock, a file next to the database that is never deleted.
// It guards the creation of a new file, and shows whether a database has existed (Mark). The lock of the file (Hold) is
// on the open database, so that using another name of the file does not bypass the first lock. On a system without such
// locks only the name is locked, and Hold returns ErrUnlocked. The operating system releases both locks when the
// process ends, for any reason.
//
// The package never waits for a lock, does not write to the database and deletes no files. Package sqldb turns its
// errors into messages for users.
package filelock
