// Package state makes states of events: a Fold is the state after the events before it, an Entry an event with the
// folds on both its sides, a difference what is logged of an agent's full state.
//
// The engine, the log, the service, the store and the dialects fold; the rules of package rule read the folds. It knows
// no dialect, does no I/O and reads no clock. Folds are immutable and may be shared. Start reading at Fold.
//
// A removal (LangChain's RemoveMessage, __remove_all__ included) takes messages out of the state, in inputs and state
// updates alike, and is told to no agent (Removes). One of a message that is not there removes nothing.
package state
