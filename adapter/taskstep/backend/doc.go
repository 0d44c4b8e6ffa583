// Package backend calls an agent that speaks the Agent Protocol v1 and yields its work as events (adapter.Backend). It
// accepts the responses of real servers, which deviate from the document. The engine calls it through the Dialect of
// package taskstep. It keeps nothing between runs and knows no other dialect. Start reading at phases, then Run.
//
// A run is a state machine (runDriver). The table phases has its phases and the phases that may follow each. A phase
// does its part of the work and returns the next one. Any other transition is an internal error, and an error ends a
// run in every phase. TestPhases covers each transition of the table, and --log-level debug logs them. One phase sends
// the creation of a task, and one sends a step. If the response is lost, only phases that read may follow (reconcile).
//
// Agents rewrite files without reporting it. The files are therefore read once more at the end of a run, and only
// changed ones are stored. Files that cannot be downloaded are named in the step (docs/files.md). Uploads are sent to
// an agent with the first step, with each lockstep step, and with answers and follow-ups. A mapping.UploadCursor marks
// the uploads that the agent has. It is logged with the step or link that shows that the agent received them.
package backend
