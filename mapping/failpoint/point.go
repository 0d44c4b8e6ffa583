// Package failpoint names the points at which a test can kill the process, to check the state that is left behind. Only
// a program built with the tag failpoint has them; in any other build they are empty and cost nothing. Package proxy,
// the engine, sqldb, webhook, upstream and the face of tasks call it. It imports nothing of ours. Start reading at
// Point.
//
// In a build with the tag, the environment determines the behaviour:
//
//	FAILPOINT=NAME#N      the process kills itself when NAME is reached for the Nth time
//	FAILPOINT_TRACE=FILE  every point that is reached is appended to FILE, one per line
//	FAILPOINT_FLUSHED=FILE  the number of flushed bytes of the database's log is written to FILE
package failpoint

// Point is a fail point.
type Point string

// The points outside of the store. Each operation of the store has two points, named after its function: see Before and
// After.
const (
	AgentAsked    Point = "agent asked"    // before a request that changes something is sent to an agent
	AgentAnswered Point = "agent answered" // after its response, before that is logged
	EventTaken    Point = "event taken"    // after the engine received an agent's event, before it is queued
	EventQueued   Point = "event queued"   // after it was queued; it may be durable
	ReplyBegun    Point = "reply begun"    // before the first byte of a response is sent
	ReplyWritten  Point = "reply written"  // after a whole reply was written; it may not be flushed
	StepWritten   Point = "step written"   // after a step was written to its client's connection
	HookSent      Point = "hook sent"      // before a webhook is sent
	HookAnswered  Point = "hook answered"  // after its response, before that is stored
)

// Before returns the point of a store operation after its statements and before the commit.
func Before(operation string) Point { return Point("before commit of " + operation) }

// After returns the point of a store operation after the commit and before it returns.
func After(operation string) Point { return Point("after commit of " + operation) }
