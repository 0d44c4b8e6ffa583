// Package stateupdate changes the states of threads outside of runs: by updates, which it logs as separate checkpoints,
// and by the initial states of a new thread. The service calls it for requests to threads, states and topics. It
// creates no threads or runs and does not depend on dialects. An update on a thread whose agent has the same state goes
// through that agent (CONCURRENCY.md, "State updates").
//
// Start reading at Updater.Update.
package stateupdate
