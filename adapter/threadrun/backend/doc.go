// Package backend calls an agent that serves the LangChain Agent Protocol or LangGraph Server, and yields its work as
// events (adapter.Backend). The engine calls it through the Dialect of package threadrun. It keeps nothing between runs
// and knows no other dialect. Start reading at graphPhases, then Run.
//
// A run is a state machine, the drive. Two tables have its phases and the phases that may follow each: graphPhases, and
// plainPhases for servers that only have the routes of the Agent Protocol, whose streams are not resumed. A phase does
// its part of the work and returns the next one. Any other transition is an internal error, and an error ends a run in
// every phase. TestPhases covers each transition of the tables, and --log-level debug logs them. One phase sends the
// request for a run. If the answer is lost, only phases that read follow (inquiry).
//
// The parts of a drive are types that share the job. Most files are named by the type whose methods they have. The
// thread's methods are also in seed, fork, resync and lost_thread; those of the translator (frames) also in limit,
// progress, resumed and question.
//
// A LangGraph server retries some failures itself, and older versions report the error of such an attempt in the
// stream. So an error frame counts only if the run's own status confirms it (drive.askFailed). While that status is
// active, the stream is reopened. For a server without such a status, the error frame counts.
//
// # The upstream thread
//
// Local checkpoints are the record; an upstream thread is a working copy. Before a run the link decides what is sent:
// see "Who owns state" in ARCHITECTURE.md. A fork uses the upstream checkpoint at which it started. If the stream did
// not contain its id, the agent's history has it by run and step. Anything else that the agent lacks opens a new
// upstream thread, seeded with the full local state.
//
// If possible, a run costs one upstream call. Its own request creates a thread that needs no earlier state
// (thread.mayComeWithRun), and the stream shows the end (outcome.wasTold). The link then keeps a mark, the upstream run
// and step, instead of the checkpoint's id. In doubt the server is asked. Servers differ in what they accept. The
// reasons are next to the code, with the server's name and version.
//
// The agent's output besides its state (tokens, tasks, events, debug frames, metadata of checkpoints) contains its own
// ids of the run, thread, assistant and checkpoints. They are replaced by the bridge's ids as the frames are read
// (names), because clients send ids back and the bridge only knows its own.
package backend
