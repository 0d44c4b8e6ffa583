// Package protocol implements the streaming protocol of LangGraph's clients ("v2"): commands, and events of a thread
// over server-sent events or a WebSocket. It translates the thread's log into events and commands into calls of the
// service. Package face mounts it. It keeps no state and calls no agent. Ids and sequence numbers come from the log, so
// that a replay has the same ones. Start reading at Server.
//
// Sources: the streaming document of the Agent Protocol (CDDL), which spells names in camel case, and the package
// @langchain/protocol with the SDKs that use it, which spell them in snake case and have another path for streams. One
// codec with a table of names writes both. In other differences the SDKs take precedence.
//
// # Numbers of events
//
// Event k of entry n has the id n.k and the number n × 2^20 + k. The id of a root's lifecycle also names the run
// (synth:RUN:n.k): SDKs use it to distinguish runs, and to cancel a run that they resumed. All events of an entry are
// counted before a reader's filter, so that ids are the same for every reader and on every replay.
//
// An event may depend on earlier entries of its run: tokens open messages, and tasks open namespaces. So a reader with
// since starts at the beginning of the oldest run that was active there (ThreadReplayStart). Of earlier entries it only
// knows the steps of checkpoints. Events up to since are not sent. A since is refused with cursor_expired (over a
// WebSocket invalid_argument) in three cases: its event or its run was deleted, tokens of its run were deleted, or a
// later run began on a state that is not kept. A since beyond the end of the thread is invalid_cursor, also on a thread
// that does not exist yet. since_event_id and Last-Event-ID name the same position by an id, and the latest of them
// counts (agent-protocol pull request 94 adds since_event_id to EventStreamRequest). Without any of them, a stream
// begins with the first run that is kept. A WebSocket's subscription then begins with the oldest run that is active or
// waits for an answer, because its client would take the end of an earlier run for that of the next one. since: 0 is
// the start. A reader waits for a thread that does not exist yet, since clients listen before they create it.
//
// # Blocks of a message
//
// The blocks of a message do not interleave in the protocol, but an agent's chunks may. So a block that arrives between
// the pieces of a tool call waits until the call's arguments are complete, or the message ends (blocks). The log
// determines what waits, so a replay has the same events.
//
// # Commands
//
// A command that starts a run passes the same checks as the REST routes (Starter). Its meaning may depend on the state
// of the thread. So its Idempotency-Key is bound to the command itself, and is looked up before the thread is read.
//
// input.inject has no counterpart in a run, since agents accept no input during one. The message is the input of
// another run, which waits for the current one. While a question is open the command is refused with invalid_argument,
// because a new run would drop the question or answer it by accident.
//
// The id of a WebSocket's subscription contains its filter, so that subscription.reconnect needs no memory either.
package protocol
