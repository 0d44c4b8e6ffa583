// Package replay records the exchanges with an agent and replays them in the agent's place. The bridge and the command
// run insert it into the calls of a backend (adapter.Upstream.Through), so that everything above works as with the
// agent itself, in either dialect. It never stores headers that could contain credentials, and calls no server.
//
// A recording is a file of JSON lines: one for the recording itself (Head), then an Exchange for each call, in the
// order in which the calls ended. Start reading at Recorder.Through and Player.RoundTrip.
package replay
