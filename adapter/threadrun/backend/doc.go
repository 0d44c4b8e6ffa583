// Package backend calls an agent that serves the LangChain Agent Protocol or LangGraph Server, and yields its work as
// events (adapter.Backend). The engine calls it through the Dialect of package threadrun. It keeps nothing between runs
// and knows no other dialect. Start reading at graphPhases, then Run.
//
// A run is a state machine, the driver. Two tables list its phases and their successors: graphPhases, and plainPhases
// for servers that only have the routes of the Agent Protocol, whose streams are not resumed. Each phase does its part
// of the work and returns the next one. A transition that is not in the table is an internal error. An error in any
// phase ends the run. TestPhases covers every transition, and --log-level debug logs them. A single phase sends the
// request for a run. If the response is lost, only phases that read follow (lookup).
//
// The parts of a driver are types that share the job. Most files are named after the type whose methods they contain.
// Methods of thread are also in seed, fork, resync and lost_thread. Methods of translator (frames) are also in limit,
// progress, resumed and question.
//
// A LangGraph server retries some failures itself, and older versions report the error of such an attempt in the
// stream. So an error frame counts only if the status of the run confirms it (runDriver.askFailed). While the run is
// active, the stream is reopened. If the server does not report the status, the error frame counts.
//
// # The upstream thread
//
// Local checkpoints are the record; an upstream thread is a working copy. Before a run, the link determines what is
// sent: see "Who owns state" in ARCHITECTURE.md. A fork uses the upstream checkpoint from which it starts. If the
// stream did not contain the id of that checkpoint, it is looked up in the agent's history by run and step. If the
// agent lacks any other state, a new upstream thread is created and seeded with the full local state.
//
// If possible, a run takes one upstream call. The request for the run creates a thread that needs no earlier state
// (thread.mayComeWithRun), and the stream shows the end (outcome.wasTold). The link then holds a mark, the upstream run
// and step, instead of a checkpoint id. In doubt the server is asked. Comments about differences between servers give
// the server's name and version.
//
// The agent's output besides its state (tokens, tasks, events, debug frames, metadata of checkpoints) contains the
// agent's ids of the run, thread, assistant and checkpoints. They are replaced with the bridge's ids as the frames are
// read (names), because clients send ids back and the bridge only knows its own.
package backend
