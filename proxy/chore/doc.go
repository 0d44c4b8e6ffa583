// Package chore works in the background by the clock: it makes the runs of crons, deletes what is
// no longer kept, and has the items of the store get their tokens, members and vectors and all
// bodies the newest key. The bridge and the service give its chores to the engine (Engine.Beside).
// It answers no client and calls no agent; the runs of crons are the service's.
//
// A chore is an engine.Chore: its Run is called once, and lasts as long as the engine. Start
// reading at Crons.Run and Retention.Run.
package chore
