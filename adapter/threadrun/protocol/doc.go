// Package protocol speaks the streaming protocol of LangGraph's clients ("v2"): commands, and
// events of a thread over server-sent events or a WebSocket. It translates the thread's log
// into events and commands into calls of the service, and keeps no state: ids and sequence
// numbers come from the log, so that a replay gives the same ones. Start reading at Server.
//
// Sources: the streaming document of the Agent Protocol (CDDL), which spells names in camel
// case, and the package @langchain/protocol with the SDKs that use it, which spell them in
// snake case. Where they differ otherwise, the wire of the SDKs is followed.
package protocol
