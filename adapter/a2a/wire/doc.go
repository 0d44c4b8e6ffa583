// Package wire reads and writes the messages of A2A (Agent2Agent) in versions 1.0 and 0.3: tasks, messages, events,
// agent cards, requests, JSON-RPC envelopes, HTTP+JSON paths and errors. The face and the backend of dialect a2a call
// it. It does no I/O and has no state.
//
// The types are those of version 1.0 (specification/a2a.proto at v1.0.1). Every document of version 0.3 is converted to
// and from them. A Reader reads; Append, AppendCall, AppendResult, AppendError and AppendHTTPError write. The types
// must not be passed to another JSON package, which would ignore most rules. Carried JSON, such as metadata and data
// parts, keeps its bytes except for white space between tokens.
//
// In comments, "S n" is section n of the A2A specification 1.0, and "V3" is specification/json/a2a.json and
// specification/grpc/a2a.proto of version 0.3.0. Start reading at Version, Task and Reader.
package wire
