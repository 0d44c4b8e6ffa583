// Package artifact stores the files of threads: their content in chunks, the earlier versions of a path that a run or a
// fork replaced, and the files of each line of the history. It is a part of package store's Store, which calls it in
// operations on events, states, runs and threads that change files. It does not fold states or make decisions about
// runs. Start reading at Table.
//
// A file is stored in rows of 256 KiB, written and read one by one, so memory use does not grow with file size.
// Versions that a run replaces or removes are hidden: if the run is rolled back or deleted, the thread's files are
// again those of its state. If a thread continues from an older checkpoint, its files are those of that line: the
// state's, those attached to its messages, and uploads of clients, which belong to no line. Files of other lines are
// not listed until the thread goes back to them, but can be read by id.
package artifact
