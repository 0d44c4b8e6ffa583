// Package state makes states of events: a Fold is the state after the events before it, an
// Entry an event with the folds on both its sides, a difference what is logged of an agent's
// full state.
//
// The engine, the log and the backends fold; the rules of package rule read what they folded.
// It knows no dialect, does no I/O and reads no clock. Folds are immutable and may be shared.
// Start reading at Fold.
package state
