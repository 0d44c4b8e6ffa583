// Package chore is what is done by the clock: runs of crons are made, and what is no
// longer kept is deleted.
//
// A chore is an engine.Chore: its Run is called once, and lasts as long as the engine.
// Start reading at Crons.Run and Retention.Run.
package chore
