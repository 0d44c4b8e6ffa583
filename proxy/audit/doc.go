// Package audit writes the log of operations (docs/access.md): a line of JSON for each, with its principal, its object
// and its outcome. The guards of package proxy write it, and the bridge opens it. Lines contain no content, and none is
// lost silently: while lines cannot be written, operations that need one are refused. Start reading at Log.Write.
//
// An operation is identified by the router's template, whose effect the dialect defines (adapter.Dialect.Effect), and
// by records of the service: ids that are not in the path, and whether a run answers a question
// (mapping.AddAuditObject, SetAuditVerb). The line is written when the response begins. Commands of a WebSocket and
// background work have separate lines (mapping.BeginAudited). Requests that a guard refuses for their key or a limit
// have lines with a bounded rate (Log.Refuse), since any client can cause those. The access log is no substitute, since
// it has no objects and its lines may be dropped.
package audit
