// Package eventlog is the reading side of the log: it hands every reader of a run the same entries in the same order,
// from the run's start or after a position, live until the end. The engine publishes to it, the service and package
// stepping read from it. It writes nothing to the database and renders nothing.
//
// The log in the store is the truth. A RunBuffer holds the newest entries of a run in memory, so that readers that keep
// up with a running run touch no database; what a slow or late one does not find there it reads from the store. A
// notice only wakes readers, which then ask for everything after what they have. A slow reader holds up no other. A
// stream of a whole thread is run after run, with what lies between their events, until the client leaves.
package eventlog
