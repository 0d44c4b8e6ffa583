// Package protocol implements the streaming protocol of LangGraph's clients ("v2"): commands, and a thread's events
// over server-sent events or a WebSocket. It translates the thread's log into events, and commands into calls of the
// service. Package face mounts it. It keeps no state and calls no agent. Ids and sequence numbers are derived from the
// log, so a replay has the same ones. Start reading at Server.
//
// The sources are the streaming document of the Agent Protocol (CDDL), which spells names in camel case, and the
// package @langchain/protocol with the SDKs that use it. Those spell names in snake case and use a different path for
// streams. One codec with a table of names writes both spellings. If the sources differ otherwise, the SDKs take
// precedence.
//
// # Numbers of events
//
// Event k of entry n has the id n.k and the number n × 2^20 + k. The id of a lifecycle event of the root also names the
// run (synth:RUN:n.k). SDKs use it to distinguish runs and to cancel a run that they resumed. All events of an entry
// are numbered before filtering, so ids are the same for every reader and on every replay.
//
// An event may depend on earlier entries of its run: tokens open messages, and tasks open namespaces. So a reader with
// since starts at the beginning of the oldest run that was active at that position (ThreadReplayStart). From earlier
// entries it only takes the steps of checkpoints. Events up to since are not sent. A since is refused with
// cursor_expired (invalid_argument over a WebSocket) if its event or run was deleted, if tokens of its run were
// deleted, or if a later run began on a state that is no longer stored. A since beyond the end of the thread is refused
// with invalid_cursor, even if the thread does not exist yet. since_event_id and Last-Event-ID give the position as an
// event id, and the latest position counts (agent-protocol pull request 94 adds since_event_id to EventStreamRequest).
//
// Without a position, a stream begins with the first run that is stored. A WebSocket subscription begins with the
// oldest run that is active or waiting for an answer, because its client would mistake the end of an earlier run for
// the end of the next one. The value 0 of since is the start. A reader waits for a thread that does not exist yet,
// because clients listen before they create it.
//
// # Blocks of a message
//
// The blocks of a message do not interleave in the protocol, but an agent's chunks may. So a block that arrives between
// the pieces of a tool call waits until the arguments of the call are complete or the message ends (blocks). This
// depends only on the log, so a replay has the same events.
//
// # Commands
//
// A command that starts a run passes the same checks as the REST routes (Starter). The run may depend on the state of
// the thread, so the Idempotency-Key is bound to the command itself and is looked up before the thread is read.
//
// Agents accept no input during a run, so the message of input.inject becomes the input of another run, which waits for
// the current one. While a question is open, the command is refused with invalid_argument, because a new run would drop
// the question or answer it by accident.
//
// The id of a WebSocket subscription contains its filter, so that subscription.reconnect needs no stored state.
package protocol
