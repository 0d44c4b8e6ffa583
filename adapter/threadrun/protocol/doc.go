// Package protocol speaks the streaming protocol of LangGraph's clients ("v2"): commands, and events of a thread over
// server-sent events or a WebSocket. It translates the thread's log into events and commands into calls of the service.
// Package face mounts it. It keeps no state and calls no agent: ids and sequence numbers come from the log, so that a
// replay gives the same ones. Start reading at Server.
//
// Sources: the streaming document of the Agent Protocol (CDDL), which spells names in camel case, and the package
// @langchain/protocol with the SDKs that use it, which spell them in snake case and have another path for streams. One
// codec with a table of names writes both. Where they differ otherwise, the wire of the SDKs is followed.
//
// # Numbers of events
//
// Event k of entry n has the id n.k and the number n × 2^20 + k. The id of a root's lifecycle also names the run
// (synth:RUN:n.k): SDKs tell runs apart by it, and cancel a run that they resumed. All events of an entry are counted
// before a reader's filter, so that ids are the same for every reader and on every replay.
//
// An event may depend on entries before it in its run: tokens open messages, tasks open namespaces. So a reader with
// since reads from where the oldest run began that was at work there (ThreadReplayStart). Of what lies before, it knows
// only the steps of checkpoints; it leaves out what comes up to since. A since is refused with cursor_expired (over a
// WebSocket invalid_argument) if its event, or the run of it, was deleted, if tokens of its run were, or if a run after
// it began on a state that is not kept. One that the thread has not come to is invalid_cursor, also on a thread that
// does not exist yet. since_event_id and Last-Event-ID name the same position by an id, and the latest of them counts
// (agent-protocol pull request 94 adds since_event_id to EventStreamRequest). Without any, a stream begins with the
// first run that is kept. A WebSocket's subscription then begins with the oldest run that is at work or waits for an
// answer: its client would take the end of an earlier run for that of the next one. since: 0 is the start. A reader of
// a thread that does not exist yet waits for its bell, since clients listen before they make it.
//
// # Blocks of a message
//
// The blocks of a message do not interleave on the wire; an agent's chunks may. So what comes amid the pieces of a tool
// call waits until the call's arguments are whole, or the message ends (blocks). What waits is known from the log, so
// that a replay tells the same.
//
// # Commands
//
// A command that starts a run goes through the same checks as the REST routes (Starter). Its meaning may depend on the
// thread as it stands. So its Idempotency-Key stands for the command itself, and is looked up before the thread is
// read.
//
// input.inject has no counterpart in a run, since agents take no words in the middle of one: the words are the input of
// a further run, which waits for the present one. While a question is open the command is refused with
// invalid_argument: a new run would drop the question, or answer it unasked.
//
// The id of a WebSocket's subscription holds its filter, so that subscription.reconnect needs no memory either.
package protocol
