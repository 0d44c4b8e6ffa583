// Package eventlog is the reading side of the log: it gives every reader of a run the same entries in the same order,
// from the run's start or after a position, live until the end. The engine publishes to it; the service and package
// stepping read from it. It does not write to the database or render entries. Start reading at Log and RunBuffer.
//
// The log in the store is authoritative. A RunBuffer holds the newest entries of a run in memory, so that readers that
// keep up with a running run do not query the database. Slow or late readers read the missing entries from the store. A
// notification only wakes readers, which then request everything after their position. A slow reader does not delay
// others. A stream of a whole thread consists of its runs, one after the other, and the events between them, until the
// client disconnects.
package eventlog
