// Package backend calls an agent that speaks the Agent Protocol v1, reads what agents in the wild really send, and
// yields their work as events (adapter.Backend). The engine calls it, through the Dialect of package taskstep. It never
// answers a client, keeps nothing between runs, and knows no other dialect. Start reading at phases, then Run.
//
// A run is a state machine (runDriver). One table (phases) has its phases and those that may follow each. A phase does
// its part of the work and returns the next one. Any other move is an internal error, and an error ends a run in every
// phase. TestPhases covers each move of the table, and --log-level debug shows the moves. One phase sends the creation
// of a task, and one a step. If the answer is lost, only phases that read follow (reconcile).
//
// Agents write a file again without a word, so their files are read once more at the end of a run, and only other bytes
// are stored. What cannot be had is named in the step (docs/files.md). Uploads reach an agent with the first step, with
// each lockstep step, and with answers and follow-ups. A mark (mapping.Uploaded) says which it has; it is logged with
// the step or link that shows that the agent took them.
package backend
