// Package state computes states from events. A Fold is the state after some events, an Entry is an event with the folds
// before and after it, and a difference is the logged form of an agent's full state.
//
// The engine, the log, the service, the store and the dialects compute folds, and package rule reads them. The package
// knows no dialect, does no I/O and reads no clock. Folds are immutable and may be shared. Start reading at Fold.
//
// A removal (LangChain's RemoveMessage, including __remove_all__) removes messages from the state, in inputs and state
// updates alike, and is not sent to any agent (Removes). The removal of a missing message has no effect.
package state
