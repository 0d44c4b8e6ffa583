// Package state computes states from events. A Fold is the state after some events. An Entry is an event with the folds
// before and after it. A Diff is the logged form of an agent's full state.
//
// The engine, the log, the service, the store and the dialects compute folds, and package rule reads them. The package
// knows no dialect, does no I/O and does not read the clock. Folds are immutable and may be shared. Start reading at
// Fold.
//
// A removal (LangChain's RemoveMessage, including __remove_all__) removes messages from the state, both in inputs and
// in state updates. It is not sent to any agent (Removes). Removing a missing message has no effect.
package state
