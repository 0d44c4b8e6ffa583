// Package backend calls an agent that serves the LangChain Agent Protocol or LangGraph Server, and yields its work as
// events (adapter.Backend). The engine calls it, through the Dialect of package threadrun. It never answers a client,
// keeps nothing between runs, and knows no other dialect. Start reading at graphPhases, then Run.
//
// A run is a drive: a state machine whose phases, and which of them may follow each, are two tables (graphPhases and,
// for a server that has only the routes of the Agent Protocol and whose streams are not gone back to, plainPhases). A
// phase does its part of the work and names the next; any other move is an internal error, and an error ends a run in
// every phase. TestPhases walks each way of the tables; --log-level debug shows the moves. The request for a run has
// one phase that sends it. Where the answer is lost, only phases that ask follow (inquiry).
//
// What a drive works with are types that share the job, and most files are named by the one whose methods they have.
// The thread has seed, fork, resync and lost_thread, too, the translator (frames) limit, progress, resumed and
// question.
//
// A LangGraph server tries some failures again itself, and older versions tell the error of such an attempt in the
// stream. So an error frame is believed only when the run's own status confirms it (drive.askFailed): while that is
// active, the stream is gone back to. A server without such a status is believed at once.
//
// # The upstream thread
//
// Local checkpoints are the record; an upstream thread is a working copy. Before a run the link decides what is sent:
// see "Who owns state" in ARCHITECTURE.md. A fork goes to the upstream checkpoint it started from, which the agent's
// history tells by run and step where a stream did not tell its id. Anything else that the agent has not got opens a
// fresh upstream thread, seeded with the full local state.
//
// A run costs one call upstream where that is enough. Its own request makes a thread that needs no state before it
// (thread.mayComeWithRun), and the stream tells the end (outcome.wasTold). The link then keeps a mark, the upstream run
// and step, in place of the checkpoint's id. In doubt the server is asked. Servers differ in what they take: the reason
// stands at the code that minds it, with the server's name and version.
//
// What an agent says beside its state (tokens, tasks, events, debug frames, metadata of checkpoints) names its own run,
// thread, assistant and checkpoints. The bridge's ids are written over them as the frames are read (names): clients
// hand ids back, and the bridge knows none but its own.
package backend
