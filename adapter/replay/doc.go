// Package replay records the exchanges with an agent, and answers as a recorded agent did. The bridge and the command
// run mount it into the calls of a backend (adapter.Upstream.Through), so that everything above it, in either dialect,
// works as with the agent itself. It never stores headers that could hold credentials, and calls no server.
//
// A recording is a file of JSON lines: one for the recording itself (Head), then an Exchange for each call, in the
// order in which the calls ended. Start reading at Recorder.Through and Player.RoundTrip.
package replay
