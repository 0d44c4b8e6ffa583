// Package replay records the exchanges with an agent, and answers as a recorded agent did. It is
// mounted into the calls of a backend (adapter.Upstream.Through), so that everything above it, either
// dialect's, works as it does with the agent itself. It never stores headers that could hold
// credentials, and calls nobody.
//
// A recording is a file of JSON lines: one that says what it is (Head), then an Exchange for each
// call, in the order in which the calls ended. Start reading at Recorder.RoundTrip and
// Player.RoundTrip.
package replay
