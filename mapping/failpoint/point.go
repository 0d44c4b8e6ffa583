// Package failpoint names the places where the process can be made to die, so that a test can try what is left behind
// at each of them. Only a program built with the tag failpoint has them; in any other build they are empty and cost
// nothing. Package proxy, the engine, sqldb, webhook, upstream and the face of tasks call it. It imports nothing of
// ours.
//
// In a build with the tag, the environment says what happens:
//
//	FAILPOINT=NAME#N      the process kills itself when NAME is reached for the Nth time
//	FAILPOINT_TRACE=FILE  every point that is reached is appended to FILE, a line each
//	FAILPOINT_FLUSHED=FILE  FILE says how much of the database's log, in bytes, was flushed so far
package failpoint

// Point is such a place.
type Point string

// The points outside of the store. Those of the store are not listed: each of its operations has two, named after the
// function that runs it, see Before and After.
const (
	AgentAsked    Point = "agent asked"    // a request that changes something is about to leave for an agent
	AgentAnswered Point = "agent answered" // its answer is there, and not told yet
	EventTaken    Point = "event taken"    // an event of an agent has come to the engine and is not queued yet
	EventQueued   Point = "event queued"   // it is queued, and maybe durable
	ReplyBegun    Point = "reply begun"    // the first byte of a reply is about to leave
	ReplyWritten  Point = "reply written"  // a whole reply was written, and maybe not flushed
	StepWritten   Point = "step written"   // a step was handed to its client's connection, which is all that is known of it
	HookSent      Point = "hook sent"      // a webhook is about to leave
	HookAnswered  Point = "hook answered"  // it was answered, and that is not noted yet
)

// Before returns the point of a store operation whose statements were run and not committed yet.
func Before(operation string) Point { return Point("before commit of " + operation) }

// After returns the point of a store operation that was committed and has not returned yet.
func After(operation string) Point { return Point("after commit of " + operation) }
