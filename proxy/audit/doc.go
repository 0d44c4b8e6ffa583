// Package audit keeps the log of operations (docs/access.md): a line of JSON for each, with its principal, its object
// and its outcome. The guards of package proxy write it, and the bridge opens it. It holds no contents, and it loses
// nothing in silence: while lines cannot be written, operations that need a line are refused.
//
// An operation is known by the router's template, of which the dialect says its effect (adapter.Dialect.Effect), and by
// the notes of the service: ids that no path has, and whether a run answers a question (mapping.NoteObject, NoteVerb).
// The line is written when the answer begins. Commands of a WebSocket and work in the background have lines of their
// own (mapping.NoteAlso). Requests that a guard refuses for their key or a limit have lines that are bounded in rate
// (Log.Refuse), since any client can send those. The access log cannot serve as this one: it is no record of objects,
// and its lines may be dropped.
package audit
