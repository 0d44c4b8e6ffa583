// Package backend calls an agent that speaks A2A (Agent2Agent), version 1.0 or 0.3, and yields its work as events
// (adapter.Backend). The engine calls it through the Dialect of package a2a. It keeps nothing between runs except what
// the agent's card says. Start reading at Run and follow.
//
// A thread is one context of the agent, and a task of the bridge is one A2A task. A run sends one message. It reads the
// task's events from the stream of that message if the agent streams, and otherwise polls the task. When a stream
// breaks off before the task has ended, the run subscribes to the task again or polls it, and yields only what it has
// not yielded yet (output). The message is never sent twice: if its response is lost, the run searches the agent's
// tasks for the message, and ends as outcome_unknown if no task has it.
//
// An artifact of the agent becomes one step when it is complete. Its step has an id made of the artifact's id and
// content, by which logged steps are recognized after a restart. Until then its text is yielded as tokens (tokenStream).
// The step also has the artifact itself, for A2A clients (wire.LoggedArtifact).
//
// In comments, "S n" is section n of the A2A specification 1.0.
package backend
