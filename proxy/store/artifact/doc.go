// Package artifact has the files of threads: their bytes in chunks, what a path was before a run or a fork replaced it,
// and which files a line of the history has. Package store has it as a part of Store, and calls it in the operations on
// events, states, runs and threads that change files. It folds no state and decides about no run.
//
// A file is rows of 256 KiB, written and read one by one, so a bridge's memory does not grow with the files that pass.
// What a run replaces or removes stays out of sight: when the run is rolled back or deleted, the thread's files are
// again those of its state. Where a thread goes on from an older checkpoint, its files are those of that line: the
// state's, those that its messages brought, and uploads of clients, which are of no line. The others are not listed
// until the thread goes back, and are read by their ids until then.
package artifact
