// Package mapping is the neutral model between the two agent-protocol
// dialects and the pure rules that carry one into the other: threads and
// topics, runs and tasks, stream chunks and steps.
//
// It is a leaf: no I/O, no clocks, no network, no database. Start reading at
// Event, then Fold (a state is the fold of its events) and Step (a step is
// the fold of a stream).
package mapping
