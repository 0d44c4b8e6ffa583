// Package stateupdate changes the states of threads from outside of runs: by updates, which it logs as checkpoints of

// their own, and by the states that a new thread is brought along with. The service asks it for requests to threads,
// states and topics. It makes no thread and no run, and knows no dialect; an update on a thread whose agent has the
// same state goes through that agent (CONCURRENCY, "State updates").
//
// Start reading at Updater.Update.
package stateupdate
